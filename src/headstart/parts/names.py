"""Names: how a policy that comes from a log is spoken to by the log's own words.

A user who is given by names (a mapping of columns, or a row of a data frame) speaks names: the action that comes
back, the one that is learnt and those that are available are the log's labels. A user who is given by numbers, or
None, speaks numbers, as every oracle does. So a label that is itself a number is never taken for an index.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.errors import ActionError, ContextError
from headstart.logs.encoding import Encoding
from headstart.logs.validation import listed

if TYPE_CHECKING:
    import pyarrow as pa


class FrameRow(Protocol):
    """A row of a pandas frame."""

    def to_dict(self) -> Mapping[str, object]: ...


class NamedRow(Protocol):
    """A named tuple, as `itertuples` gives them."""

    def _asdict(self) -> Mapping[str, object]: ...


NamedUser: TypeAlias = Mapping[str, object] | FrameRow | NamedRow


def as_user(context: object) -> Mapping[str, object] | None:
    """The columns of a user who is given by names; None for one who is given by numbers, or not at all."""
    if context is None or isinstance(context, np.ndarray):
        return None  # asked at every decision: nothing dearer than this for users who speak numbers
    if isinstance(context, Mapping):
        return context
    if hasattr(context, "to_dict"):  # isinstance of a protocol costs twenty times as much
        return cast(FrameRow, context).to_dict()
    return cast(NamedRow, context)._asdict() if hasattr(context, "_asdict") else None


def has_text(actions: object) -> bool:
    """Whether one of these actions is a text, which only a label can be."""
    return isinstance(actions, list | tuple | set) and any(isinstance(each, str) for each in actions)


class Names:
    """The log's columns that a policy looks at, and the labels of its actions."""

    def __init__(self, encoding: Encoding, looked_at: Integers, action_names: Sequence[Hashable]) -> None:
        owners = {encoding.owners[j] for j in looked_at.tolist()}
        others = [column for column in encoding.columns if column not in owners]
        self._asked, self._places = encoding.without(others), encoding.kept_without(others)
        self._names, self._n_columns, self._actions = encoding.names, len(encoding.names), tuple(action_names)
        self._index = {name: a for a, name in enumerate(self._actions)}

    def context(self, user: Mapping[str, object]) -> Floats:
        """The user as the log's columns; those that nobody looks at are 0. Only the others are asked for."""
        lacking = [column for column in self._asked.columns if column not in user]
        if lacking:
            raise ContextError(f"context column {lacking[0]!r} is missing; the policy looks at: {self._listed()}")
        context = np.zeros(self._n_columns)
        context[self._places] = self._asked.encode({column: user[column] for column in self._asked.columns})
        return context

    def of_encoded(self) -> Names:
        """The same for users who are given by the log's encoded columns."""
        return Names(Encoding.of_numbers(self._names), self._places, self._actions)

    @property
    def asked(self) -> Encoding:
        """The columns that are looked at."""
        return self._asked

    @property
    def context_names(self) -> tuple[str, ...]:
        """All of the log's encoded columns, looked at or not."""
        return self._names

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The labels of the actions, in the order of their indices."""
        return self._actions

    def arrow_labels(self) -> pa.Array:
        """The labels as a column has them: whole numbers if they all are, text otherwise."""
        import pyarrow as pa

        if all(isinstance(name, int | np.integer) and not isinstance(name, bool) for name in self._actions):
            return pa.array([int(name) for name in self._actions], type=pa.int64())  # type: ignore[call-overload]
        return pa.array([str(name) for name in self._actions], type=pa.string())

    def spread(self, encoded: Floats) -> Floats:
        """Users in the columns that are looked at, (n, m), as the log's columns, (n, d)."""
        if encoded.shape[1] == self._n_columns:
            return encoded
        whole = np.zeros((len(encoded), self._n_columns))
        whole[:, self._places] = encoded
        return whole

    def _listed(self) -> str:
        return ", ".join(self._asked.columns) or "nothing"

    def action(self, name: Hashable) -> int:
        """The index of a label."""
        try:
            return self._index[name]
        except (KeyError, TypeError):
            raise ActionError(f"unknown action {name!r}; known: {listed(self._actions)}") from None

    def available(self, names: Iterable[Hashable] | None) -> Bools | None:
        """The mask of these labels; None: all of them."""
        if names is None:
            return None
        if isinstance(names, str):
            raise ActionError(f"available must be a list of actions, got {names!r}: write [{names!r}]")
        mask = np.zeros(len(self._actions), dtype=np.bool_)
        mask[[self.action(name) for name in names]] = True
        return mask

    def label(self, action: int) -> Hashable:
        """The label of an index."""
        return self._actions[action]

    def by_label(self, values: Floats) -> dict[Hashable, float]:
        """A number for each label."""
        return dict(zip(self._actions, values.tolist(), strict=True))
