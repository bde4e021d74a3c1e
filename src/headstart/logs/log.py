"""Log: the rows of (context, action, outcome) that a warm start begins from, checked once and read-only."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.arrays import Floats, Integers
from headstart.displayed import Display, Displayed, as_frame
from headstart.errors import ActionError, LogError
from headstart.logs.by_action import tell_log
from headstart.logs.contexts import check_encoded, encode_columns, number_columns
from headstart.logs.encoding import Encoding
from headstart.logs.reading import Reading
from headstart.logs.sums import EVERY, ActionSums, ContextSums
from headstart.logs.validation import (
    check_chances,
    check_column_of_numbers,
    check_times,
    index_actions,
    index_units,
    listed,
    read_only,
)
from headstart.numerals import tell_count
from headstart.randomness import RNG, as_generator


class Log(Displayed):
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
    units
        Who each row is of (a user's id, say), anything hashable: rows of one unit are not independent, and errors,
        effective sizes and tests are clustered by it. None: every row is a unit of its own.
    times
        When each row was decided: numbers, or dates and times, which become seconds.

    Attributes
    ----------
    actions, outcomes
        Action indices and outcomes, (n,). No array of a log can be written to.
    contexts
        Encoded contexts, (n, d); d, `n_features`, is 0 for a log without contexts.
    propensities, propensity_matrix
        The chance of the action taken, (n,), and of every action, (n, K), where they are known, else None.
    is_estimated
        Whether they were estimated from these rows.
    action_names, n_actions
        The labels, in the order of their indices, and how many they are.
    units, times
        The unit of each row as a whole number and its time, (n,), where they are known, else None.
    encoding, context_names
        How a user's columns become numbers, and the names of the encoded columns.
    reading
        How `read_log` read it: columns recognised, rows dropped; None for a log made from arrays.

    Raises
    ------
    LogError
        If a column has another length, a value that is no finite number, or a propensity outside (0, 1]; the row is
        named.

    Examples
    --------
    >>> import headstart as hs
    >>> log = hs.Log(["text", "video", "text"], [1, 0, 0], {"city": ["Rome", "Oslo", "Rome"]})
    >>> log
    Log(3 rows, 2 actions, 2 context columns, without propensities)
    >>> log.context_names
    ('city=Oslo', 'city=Rome')
    >>> log.action_index("video")
    1
    """

    _drawn_contexts: Floats  # of a log that a world drew

    def __init__(
        self,
        actions: Iterable[Hashable],
        outcomes: ArrayLike,
        contexts: Any = None,
        propensities: ArrayLike | None = None,
        action_names: Sequence[Hashable] | None = None,
        context_names: Sequence[str] | None = None,
        n_actions: int | None = None,
        units: Iterable[Hashable] | None = None,
        times: ArrayLike | None = None,
    ) -> None:
        self.outcomes = check_column_of_numbers("outcome", outcomes)
        n = self.outcomes.size
        if n == 0:
            raise LogError("the log is empty: it needs at least one row")
        self.actions, names = index_actions(actions, action_names, n_actions, n)
        encoding, matrix = encode_columns(contexts, context_names, n)
        self._name(encoding, names)
        self.contexts: Floats = read_only(matrix)
        self.propensities, self.propensity_matrix = check_chances(propensities, self.actions, self.n_actions)
        self.is_estimated = False
        self.units = None if units is None else index_units(units, n)
        self.times = None if times is None else check_times(times, n)
        self.reading: Reading | None = None

    def _name(self, encoding: Encoding, action_names: tuple[Hashable, ...]) -> None:
        self.encoding, self.action_names = encoding, action_names
        self.context_names, self.n_features = encoding.names, len(encoding.names)
        self.n_actions = len(action_names)
        self._index = {name: k for k, name in enumerate(action_names)}

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
        units: Iterable[Hashable] | None = None,
        times: ArrayLike | None = None,
    ) -> Log:
        """The log of action indices and of columns that are encoded already, as tables keep them."""
        k = len(action_names)
        check_encoded(encoding, contexts, len(contexts))
        log = cls(actions, outcomes, contexts, propensities, n_actions=k, units=units, times=times)
        log._name(encoding, tuple(action_names))
        return log

    @classmethod
    def of_drawn(
        cls, actions: Integers, outcomes: Floats, contexts: Floats, propensities: Floats, propensity_matrix: Floats
    ) -> Log:
        """The log that a world drew: nothing is checked, for nobody else wrote these arrays, and they become its own.

        Checking costs ten times what drawing a hundred rows does. Actions are 0..K-1, K the matrix's columns; each
        array is in one piece.
        """
        log = cls.__new__(cls)
        for values in (actions, outcomes, contexts, propensities, propensity_matrix):
            values.setflags(write=False)
        log._drawn_contexts = log.contexts = contexts
        log.actions, log.outcomes = actions, outcomes
        log.propensities, log.propensity_matrix = propensities, propensity_matrix
        log.n_actions, log.n_features = propensity_matrix.shape[1], contexts.shape[1]
        log.action_names, log.context_names = tuple(range(log.n_actions)), number_columns(log.n_features)
        log._index = {k: k for k in range(log.n_actions)}
        log.is_estimated, log.units, log.times, log.reading = False, None, None, None
        return log

    @cached_property
    def encoding(self) -> Encoding:
        """How a user's columns become numbers; that of a drawn log is found when somebody asks."""
        return encode_columns(self._drawn_contexts, None, len(self._drawn_contexts))[0]

    @property
    def has_propensities(self) -> bool:
        return self.propensities is not None

    def __len__(self) -> int:
        return self.outcomes.size

    def __repr__(self) -> str:
        known = "with" if self.has_propensities else "without"
        shape = f"{tell_count(len(self), 'row')}, {tell_count(self.n_actions, 'action')}, "
        shape += tell_count(self.n_features, "context column")
        return f"Log({shape}, {known} propensities)"

    def _tell(self) -> Display:
        return tell_log(repr(self), self)

    def to_frame(self) -> Any:
        """Its rows: the action's label, the outcome, the propensity where it is known, and the encoded contexts."""
        columns: dict[str, Any] = {"action": [self.action_names[a] for a in self.actions], "outcome": self.outcomes}
        if self.propensities is not None:
            columns["propensity"] = self.propensities
        return as_frame(columns | {name: self.contexts[:, j] for j, name in enumerate(self.context_names)})

    def action_index(self, label: Hashable) -> int:
        """The index of an action's label."""
        try:
            return self._index[label]
        except (KeyError, TypeError):
            raise ActionError(f"unknown action {label!r}; known: {listed(self.action_names)}") from None

    def context(self, user: Mapping[str, object] | ArrayLike) -> Floats:
        """One user's columns, by name, as the vector that oracles and evaluators take."""
        return self.encoding.encode(user)

    def with_propensities(self, propensities: ArrayLike) -> Log:
        """The same log with these propensities (of the actions taken, or the whole matrix)."""
        twin = copy(self)
        twin.propensities, twin.propensity_matrix = check_chances(propensities, self.actions, self.n_actions)
        twin.is_estimated = False
        return twin

    def with_estimated_propensities(self, propensities: ArrayLike) -> Log:
        """The same with propensities that somebody estimated: errors of means then allow for their being off."""
        twin = self.with_propensities(propensities)
        twin.is_estimated = True
        return twin

    def without_propensities(self) -> Log:
        """The same log as if nobody had written down the chances."""
        twin = copy(self)
        twin.propensities = twin.propensity_matrix = None
        twin.is_estimated = False
        return twin

    def with_outcomes(self, outcomes: ArrayLike) -> Log:
        """The same log with these outcomes."""
        twin = copy(self)
        twin.outcomes = check_column_of_numbers("outcome", outcomes)
        if twin.outcomes.size != len(self):
            raise LogError(f"outcomes must be one for each of the {len(self)} rows, got {twin.outcomes.size}")
        return twin

    def with_units(self, units: Iterable[Hashable] | None) -> Log:
        """The same log with these units; None: every row is one of its own."""
        twin = copy(self)
        twin.units = None if units is None else index_units(units, len(self))
        return twin

    def with_times(self, times: ArrayLike | None) -> Log:
        """The same log with these times; None: nobody knows when its rows were decided."""
        twin = copy(self)
        twin.times = None if times is None else check_times(times, len(self))
        return twin

    def with_reading(self, reading: Reading) -> Log:
        """The same log with a word on how it was read."""
        twin = copy(self)
        twin.reading = reading
        return twin

    def take(self, rows: ArrayLike) -> Log:
        """The log of these rows (indices or a mask); every action still exists."""
        chosen = np.atleast_1d(np.asarray(rows))
        if chosen.size == 0:
            raise LogError("the log is empty: no row was chosen")
        twin = copy(self)
        twin.actions = read_only(self.actions[chosen])
        if twin.actions.size == 0:
            raise LogError("the log is empty: no row was chosen")
        twin.outcomes = read_only(self.outcomes[chosen])
        twin.contexts = read_only(self.contexts[chosen])
        twin.propensities = _rows_of(self.propensities, chosen)
        twin.propensity_matrix = _rows_of(self.propensity_matrix, chosen)
        twin.units = None if self.units is None else read_only(self.units[chosen])
        twin.times = _rows_of(self.times, chosen)
        return twin

    def without(self, names: Collection[str]) -> Log:
        """The log without the context columns of these names; an encoded one takes its whole column with it."""
        kept = self.encoding.kept_without(names)
        if kept.size == self.n_features:
            return self
        twin = copy(self)
        twin._name(self.encoding.without(names), self.action_names)
        twin.contexts = read_only(self.contexts[:, kept])
        return twin

    def sample(self, n_rows: int, rng: RNG = 0) -> Log:
        """A uniform sample of rows without replacement, in their order; the log itself if it has no more.

        Of a log with units, whole units are drawn: as many as have no more than `n_rows` rows together, at least one.
        """
        if n_rows >= len(self):
            return self
        generator = as_generator(rng)
        if self.units is None:
            return self.take(np.sort(generator.choice(len(self), n_rows, replace=False)))
        sizes = np.bincount(self.units)
        order = generator.permutation(np.flatnonzero(sizes))
        n_taken = max(1, int(np.searchsorted(np.cumsum(sizes[order]), n_rows, side="right")))
        return self.take(np.isin(self.units, order[:n_taken]))

    @property
    def outcome_range(self) -> tuple[float, float]:
        """The smallest and the largest outcome."""
        return float(self.outcomes.min()), float(self.outcomes.max())

    def batches(self, n_rows: int = 1 << 16) -> Iterator[Log]:
        """All rows, as Logs; in one piece, since they are in memory already, whatever `n_rows` a table would take."""
        yield self

    def action_sums(self, only: Sequence[str] = EVERY) -> ActionSums:
        """Sums of outcomes and weights per action; all of them, also when a table would be asked for `only` some."""
        y, w = self.outcomes, None if self.propensities is None else 1.0 / self.propensities
        return ActionSums(
            n=np.bincount(self.actions, minlength=self.n_actions).astype(np.float64),
            y=self._add(y),
            yy=self._add(y * y),
            w=self._add(w),
            wy=self._add(None if w is None else w * y),
            wyy=self._add(None if w is None else w * y * y),
            ww=self._add(None if w is None else w * w),
            wwy=self._add(None if w is None else w * w * y),
            wwyy=self._add(None if w is None else w * w * y * y),
            yyy=self._add(_cubes(y)),
            www=self._add(None if w is None else w * w * w),
            lowest=self._extreme(y, np.minimum, np.inf),
            highest=self._extreme(y, np.maximum, -np.inf),
            rarest=self._extreme(self.propensities, np.minimum, np.inf),
        )

    def context_sums(self) -> ContextSums:
        """Sums of context columns per action, plain and weighted."""
        w = None if self.propensities is None else 1.0 / self.propensities
        unknown = np.full((self.n_actions, self.n_features), np.nan)
        return ContextSums(
            x=self._add_columns(None, 1),
            xx=self._add_columns(None, 2),
            wx=unknown if w is None else self._add_columns(w, 1),
            wxx=unknown.copy() if w is None else self._add_columns(w, 2),
        )

    def propensity_counts(self, edges: ArrayLike) -> Integers:
        """Rows per action and bin of the propensity of the action taken, (K, bins); a bin holds its lower edge."""
        if self.propensities is None:
            raise LogError("the log has no propensities: estimate them with hs.estimate_propensities(log)")
        limits = np.asarray(edges, float)
        n_bins = limits.size - 1
        bins = np.clip(np.searchsorted(limits, self.propensities, side="right") - 1, 0, n_bins - 1)
        counts = np.bincount(self.actions * n_bins + bins, minlength=self.n_actions * n_bins)
        return counts.reshape(self.n_actions, n_bins)

    def _add(self, values: Floats | None) -> Floats:
        """The sum of values per action, (K,); NaN if they are not known."""
        if values is None:
            return np.full(self.n_actions, np.nan)
        return np.bincount(self.actions, values, self.n_actions).astype(np.float64)

    def _add_columns(self, weights: Floats | None, power: int) -> Floats:
        """The sum of a power of each column per action, (K, d), each row counted `weights` times."""
        sums = np.empty((self.n_actions, self.n_features))
        for j in range(self.n_features):
            column = self.contexts[:, j] ** power
            sums[:, j] = np.bincount(self.actions, column if weights is None else column * weights, self.n_actions)
        return sums

    def _extreme(self, values: Floats | None, of: np.ufunc, start: float) -> Floats:
        """The smallest or largest value per action, (K,); NaN without rows, or if values are not known."""
        if values is None:
            return np.full(self.n_actions, np.nan)
        found = np.full(self.n_actions, start)
        of.at(found, self.actions, values)
        return np.where(np.isinf(found), np.nan, found)


def _cubes(values: Floats) -> Floats:
    """y^3; infinite for values that have none."""
    with np.errstate(over="ignore"):
        return values**3


def _rows_of(values: Floats | None, chosen: NDArray[np.generic]) -> Floats | None:
    return None if values is None else read_only(values[chosen])
