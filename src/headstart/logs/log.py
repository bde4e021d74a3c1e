"""Log: the rows of (context, action, outcome) that a warm start begins from, checked once and read-only."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.arrays import Floats, Integers
from headstart.checks import check_n_actions
from headstart.errors import ActionError, LogError
from headstart.logs.encoding import Encoding, encode_columns, is_missing
from headstart.logs.sums import EVERY, ActionSums, ContextSums, count_propensities, sum_actions, sum_contexts
from headstart.randomness import RNG, as_generator

_SUM_TOLERANCE = 1e-6  # of a propensity row around 1: what rounding to six digits leaves


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

    _reading: Any = None

    def __init__(
        self,
        actions: ArrayLike,
        outcomes: ArrayLike,
        contexts: Any = None,
        propensities: ArrayLike | None = None,
        action_names: Sequence[Hashable] | None = None,
        context_names: Sequence[str] | None = None,
        n_actions: int | None = None,
    ) -> None:
        self._outcomes = _check_column("outcome", outcomes)
        n = self._outcomes.size
        if n == 0:
            raise LogError("the log is empty: it needs at least one row")
        self._actions, self._action_names = _index_actions(actions, action_names, n_actions, n)
        self._encoding, matrix = encode_columns(contexts, context_names, n)
        self._contexts = _read_only(matrix)
        self._propensities, self._propensity_matrix = _check_propensities(
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
        return self._contexts.shape[1]

    @property
    def reading(self) -> Any:
        """How `read_log` read it (a `Reading`): columns recognised, rows dropped; None for a log made from arrays."""
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
            raise ActionError(f"unknown action {label!r}; known: {_some(self._action_names)}") from None

    def context(self, user: Mapping[str, Any] | ArrayLike) -> Floats:
        """One user's columns, by name, as the vector that oracles and evaluators take."""
        return self._encoding.encode(user)

    def with_propensities(self, propensities: ArrayLike) -> Log:
        """The same log with these propensities (of the actions taken, or the whole matrix)."""
        twin = object.__new__(Log)
        twin.__dict__.update(self.__dict__)
        twin._propensities, twin._propensity_matrix = _check_propensities(propensities, self._actions, self.n_actions)
        return twin

    def with_reading(self, reading: Any) -> Log:
        """The same log with a word on how it was read."""
        twin = object.__new__(Log)
        twin.__dict__.update(self.__dict__)
        twin._reading = reading
        return twin

    def take(self, rows: ArrayLike) -> Log:
        """The log of these rows (indices or a mask); every action still exists."""
        chosen = np.atleast_1d(np.asarray(rows))
        if chosen.size == 0:
            raise LogError("the log is empty: no row was chosen")
        twin = object.__new__(Log)
        twin.__dict__.update(self.__dict__)
        twin._actions = _read_only(self._actions[chosen])
        if twin._actions.size == 0:
            raise LogError("the log is empty: no row was chosen")
        twin._outcomes = _read_only(self._outcomes[chosen])
        twin._contexts = _read_only(self._contexts[chosen])
        for name in ("_propensities", "_propensity_matrix"):
            whole = getattr(self, name)
            setattr(twin, name, None if whole is None else _read_only(whole[chosen]))
        return twin

    def without(self, names: Collection[str]) -> Log:
        """The log without the context columns of these names; an encoded one takes its whole column with it."""
        kept = self._encoding.kept_without(names)
        if kept.size == self.n_features:
            return self
        twin = object.__new__(Log)
        twin.__dict__.update(self.__dict__)
        twin._encoding = self._encoding.without(names)
        twin._contexts = _read_only(self._contexts[:, kept])
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


def _read_only(values: NDArray[Any]) -> NDArray[Any]:
    values = np.ascontiguousarray(values)
    values.setflags(write=False)
    return values


def _check_column(name: str, values: ArrayLike) -> Floats:
    try:
        column = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        column = None
    if column is None:
        for row, value in enumerate(np.asarray(values, dtype=object).reshape(-1).tolist()):
            try:
                float(value)
            except (TypeError, ValueError):
                raise LogError(f"{name} in row {row} must be a number, got {value!r}") from None
        raise LogError(f"{name}s must be one number per row, got {type(values).__name__}")
    if column.ndim != 1:
        raise LogError(f"{name}s must be one number per row, got shape {column.shape}")
    finite = np.isfinite(column)
    if not finite.all():
        row = int(np.argmin(finite))
        raise LogError(f"{name} in row {row} must be a finite number, got {column[row]}")
    return _read_only(column)


def _index_actions(
    actions: ArrayLike, names: Sequence[Hashable] | None, n_actions: int | None, n_rows: int
) -> tuple[Integers, tuple[Hashable, ...]]:
    labels = _as_labels(actions)
    if labels.ndim != 1:
        raise LogError(f"actions must be one label per row, got shape {labels.shape}")
    if labels.size != n_rows:
        raise LogError(f"actions and outcomes must have the same length, got {labels.size} and {n_rows}")
    if labels.dtype.kind in "fO":
        for row, label in enumerate(labels.tolist()):
            if is_missing(label):
                raise LogError(f"action in row {row} is missing, got {label!r}")
            if not isinstance(label, Hashable):
                raise LogError(f"action in row {row} must be hashable, got {label!r}")
    if names is not None:
        known = tuple(names)
        if n_actions is not None and n_actions != len(known):
            raise LogError(f"n_actions is {n_actions} but action_names has {len(known)} names")
        if len(set(known)) != len(known):
            raise LogError(f"action_names must differ, got {_some(known)}")
        return _look_up(labels, known), known
    if n_actions is not None:
        n_actions = check_n_actions(n_actions)
        if labels.dtype.kind not in "iu":
            raise LogError("n_actions needs actions that are indices 0..n_actions-1; for labels give action_names")
        wrong = (labels < 0) | (labels >= n_actions)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise LogError(f"action in row {row} must be an index 0..{n_actions - 1}, got {labels[row]}")
        return _read_only(labels.astype(np.int64)), tuple(range(n_actions))
    if labels.dtype.kind in "iubUS":
        distinct, indices = np.unique(labels, return_inverse=True)
        return _read_only(indices.astype(np.int64)), tuple(distinct.tolist())
    values = labels.tolist()
    try:
        known = tuple(sorted(set(values)))
    except TypeError:  # labels that do not sort: the order of their first row
        known = tuple(dict.fromkeys(values))
    return _look_up(labels, known), known


def _as_labels(actions: Any) -> NDArray[Any]:
    """Labels as they are: numpy would make "1" of 1 in a list with text, and columns of tuples."""
    if hasattr(actions, "dtype"):  # an array or a data frame's column knows its kind
        return np.asarray(actions)
    items = list(actions)
    if len({type(item) for item in items}) == 1 and isinstance(items[0], str | int | float):
        return np.asarray(items)
    labels = np.empty(len(items), dtype=object)
    for row, item in enumerate(items):
        labels[row] = item
    return labels


def _look_up(labels: NDArray[Any], known: tuple[Hashable, ...]) -> Integers:
    index = {name: k for k, name in enumerate(known)}
    found = np.empty(labels.size, dtype=np.int64)
    for row, label in enumerate(labels.tolist()):
        place = index.get(label)
        if place is None:
            raise LogError(f"action in row {row} is unknown: {label!r}; known: {_some(known)}")
        found[row] = place
    return _read_only(found)


def _check_propensities(
    propensities: ArrayLike | None, actions: Integers, n_actions: int
) -> tuple[Floats | None, Floats | None]:
    if propensities is None:
        return None, None
    try:
        given = np.array(propensities, dtype=np.float64)
    except (TypeError, ValueError):
        raise LogError("propensities must be numbers") from None
    if given.shape == (actions.size, n_actions) and given.ndim == 2:
        wrong = ~((given >= 0.0) & (given <= 1.0 + _SUM_TOLERANCE))
        if wrong.any():
            row, column = (int(i) for i in np.argwhere(wrong)[0])
            raise LogError(f"propensity in row {row}, action {column} must be in [0, 1], got {given[row, column]}")
        sums = given.sum(axis=1)
        off = np.abs(sums - 1.0) > _SUM_TOLERANCE
        if off.any():
            row = int(np.argmax(off))
            raise LogError(f"propensities in row {row} must sum to 1, got {sums[row]:.9g}")
        return _check_taken(given[np.arange(actions.size), actions]), _read_only(given)
    if given.shape != actions.shape:
        raise LogError(
            f"propensities must have shape ({actions.size},) or ({actions.size}, {n_actions}), got {given.shape}"
        )
    return _check_taken(given), None


def _check_taken(taken: Floats) -> Floats:
    wrong = ~((taken > 0.0) & (taken <= 1.0 + _SUM_TOLERANCE))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise LogError(f"propensity in row {row} must be in (0, 1], got {taken[row]}")
    return _read_only(taken)


def _some(names: Sequence[Any]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (f", ... ({len(names)} in all)" if len(names) > 8 else "")
