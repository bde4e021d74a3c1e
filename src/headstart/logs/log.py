"""Log: the rows of (context, action, outcome) that a warm start begins from, checked once and read-only."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.arrays import Floats, Integers
from headstart.errors import ActionError, LogError
from headstart.logs.encoding import Encoding, encode_columns
from headstart.logs.reading import Reading
from headstart.logs.sums import EVERY, ActionSums, ContextSums, count_propensities, sum_actions, sum_contexts
from headstart.logs.validation import check_chances, check_column_of_numbers, index_actions, listed, read_only
from headstart.randomness import RNG, as_generator


class Log:
    """Past decisions, in memory.

    Parameters
    ----------
    actions
        One label per row: anything hashable. Labels become 0..K-1 in the order of `action_names` if given,
        else sorted; whole numbers with `n_actions` given are taken as indices as they are.
    outcomes
        One finite number per row.
    contexts
        What was known of each user: a matrix of numbers, a mapping of column names to columns, or a data
        frame. Columns of text or booleans are categorical: each becomes one 0/1 column per category,
        named `column=category` (see `encoding`).
    propensities
        The chance that the logging policy gave to the action taken, one per row, each in (0, 1]; or the
        whole matrix (rows x K) with rows that sum to 1.
    n_actions, action_names
        The full set of actions, so that one the log never shows still exists.
    context_names
        Names of the columns when `contexts` is a plain matrix.
    """

    _reading: Reading | None = None

    def __init__(
        self,
        actions: Iterable[Hashable],
        outcomes: ArrayLike,
        contexts: Any = None,
        propensities: ArrayLike | None = None,
        action_names: Sequence[Hashable] | None = None,
        context_names: Sequence[str] | None = None,
        n_actions: int | None = None,
    ) -> None:
        self._outcomes = check_column_of_numbers("outcome", outcomes)
        n = self._outcomes.size
        if n == 0:
            raise LogError("the log is empty: it needs at least one row")
        self._actions, self._action_names = index_actions(actions, action_names, n_actions, n)
        self._encoding, matrix = encode_columns(contexts, context_names, n)
        self._contexts = read_only(matrix)
        self._propensities, self._propensity_matrix = check_chances(
            propensities, self._actions, len(self._action_names)
        )
        self._index = {name: k for k, name in enumerate(self._action_names)}

    @classmethod
    def of_encoded(
        cls,
        actions: Integers,
        outcomes: ArrayLike,
        contexts: Floats,
        propensities: ArrayLike | None,
        *,
        encoding: Encoding,
        action_names: Sequence[Hashable],
    ) -> Log:
        """The log of action indices and of columns that are encoded already, as tables keep them."""
        k = len(action_names)
        log = cls(actions, outcomes, contexts, propensities, context_names=encoding.names, n_actions=k)
        log._encoding, log._action_names = encoding, tuple(action_names)
        log._index = {name: k for k, name in enumerate(log._action_names)}
        return log

    @property
    def actions(self) -> Integers:
        """Action indices, (n,)."""
        return self._actions

    @property
    def outcomes(self) -> Floats:
        """Outcomes, (n,)."""
        return self._outcomes

    @property
    def contexts(self) -> Floats:
        """Encoded contexts, (n, d); d is 0 for a log without contexts."""
        return self._contexts

    @property
    def propensities(self) -> Floats | None:
        """The chance of the action taken, (n,), or None."""
        return self._propensities

    @property
    def propensity_matrix(self) -> Floats | None:
        """The chance of every action, (n, K), or None."""
        return self._propensity_matrix

    @property
    def has_propensities(self) -> bool:
        return self._propensities is not None

    @property
    def action_names(self) -> tuple[Hashable, ...]:
        """The labels, in the order of their indices."""
        return self._action_names

    @property
    def context_names(self) -> tuple[str, ...]:
        """The names of the encoded columns."""
        return self._encoding.names

    @property
    def encoding(self) -> Encoding:
        """How a user's columns become numbers."""
        return self._encoding

    @property
    def n_actions(self) -> int:
        return len(self._action_names)

    @property
    def n_features(self) -> int:
        """Columns of `contexts`."""
        return int(self._contexts.shape[1])

    @property
    def reading(self) -> Reading | None:
        """How `read_log` read it: columns recognised, rows dropped; None for a log made from arrays."""
        return self._reading

    def __len__(self) -> int:
        return self._outcomes.size

    def __repr__(self) -> str:
        known = "with" if self.has_propensities else "without"
        shape = f"{len(self)} rows, {self.n_actions} actions, {self.n_features} context columns"
        return f"Log({shape}, {known} propensities)"

    def action_index(self, label: Hashable) -> int:
        """The index of an action's label."""
        try:
            return self._index[label]
        except (KeyError, TypeError):
            raise ActionError(f"unknown action {label!r}; known: {listed(self._action_names)}") from None

    def context(self, user: Mapping[str, object] | ArrayLike) -> Floats:
        """One user's columns, by name, as the vector that oracles and evaluators take."""
        return self._encoding.encode(user)

    def with_propensities(self, propensities: ArrayLike) -> Log:
        """The same log with these propensities (of the actions taken, or the whole matrix)."""
        twin = copy(self)
        twin._propensities, twin._propensity_matrix = check_chances(propensities, self._actions, self.n_actions)
        return twin

    def with_reading(self, reading: Reading) -> Log:
        """The same log with a word on how it was read."""
        twin = copy(self)
        twin._reading = reading
        return twin

    def take(self, rows: ArrayLike) -> Log:
        """The log of these rows (indices or a mask); every action still exists."""
        chosen = np.atleast_1d(np.asarray(rows))
        if chosen.size == 0:
            raise LogError("the log is empty: no row was chosen")
        twin = copy(self)
        twin._actions = read_only(self._actions[chosen])
        if twin._actions.size == 0:
            raise LogError("the log is empty: no row was chosen")
        twin._outcomes = read_only(self._outcomes[chosen])
        twin._contexts = read_only(self._contexts[chosen])
        twin._propensities = _rows_of(self._propensities, chosen)
        twin._propensity_matrix = _rows_of(self._propensity_matrix, chosen)
        return twin

    def without(self, names: Collection[str]) -> Log:
        """The log without the context columns of these names; an encoded one takes its whole column with it."""
        kept = self._encoding.kept_without(names)
        if kept.size == self.n_features:
            return self
        twin = copy(self)
        twin._encoding = self._encoding.without(names)
        twin._contexts = read_only(self._contexts[:, kept])
        return twin

    def sample(self, n_rows: int, rng: RNG = 0) -> Log:
        """A uniform sample of rows without replacement, in their order; the log itself if it has no more."""
        if n_rows >= len(self):
            return self
        return self.take(np.sort(as_generator(rng).choice(len(self), n_rows, replace=False)))

    @property
    def outcome_range(self) -> tuple[float, float]:
        """The smallest and the largest outcome."""
        return float(self._outcomes.min()), float(self._outcomes.max())

    def batches(self, n_rows: int = 1 << 16) -> Iterator[Log]:
        """All rows, as Logs; in one piece, since they are in memory already, whatever `n_rows` a table would take."""
        yield self

    def action_sums(self, only: Sequence[str] = EVERY) -> ActionSums:
        """Sums of outcomes and weights per action; all of them, also when a table would be asked for `only` some."""
        return sum_actions(self._actions, self._outcomes, self._propensities, self.n_actions)

    def context_sums(self) -> ContextSums:
        """Sums of context columns per action, plain and weighted."""
        return sum_contexts(self._actions, self._contexts, self._propensities, self.n_actions)

    def propensity_counts(self, edges: ArrayLike) -> Integers:
        """Rows per action and bin of the propensity of the action taken, (K, bins)."""
        if self._propensities is None:
            raise LogError("the log has no propensities: estimate them with hs.estimate_propensities(log)")
        return count_propensities(self._actions, self._propensities, np.asarray(edges, float), self.n_actions)


def _rows_of(values: Floats | None, chosen: NDArray[np.generic]) -> Floats | None:
    return None if values is None else read_only(values[chosen])
