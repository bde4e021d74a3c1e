"""LogTable: a log that stays where it is, and answers with sums, counts and samples instead of rows."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats, Integers
from headstart.checks import check_whole
from headstart.displayed import Display, Displayed
from headstart.errors import ActionError, LogError, OptionError
from headstart.logs.by_action import tell_log
from headstart.logs.encoding import Encoding
from headstart.logs.log import Log
from headstart.logs.reading import Reading
from headstart.logs.sums import EVERY, ActionSums, ContextSums
from headstart.logs.tables import statistics
from headstart.logs.tables.batches import read_batches
from headstart.logs.tables.canonical import as_moment
from headstart.logs.tables.categories import MAX_GROUPS, OutcomeCounts, count_outcomes, nearest_pivot
from headstart.logs.tables.expressions import Predicate
from headstart.logs.tables.logistic import LogisticModel, with_logistic
from headstart.logs.tables.rows import as_log, log_columns
from headstart.logs.tables.sampling import draw_rows
from headstart.logs.tables.scanned import Scanned
from headstart.logs.tables.statistics import names_of
from headstart.logs.tables.unit_sampling import draw_units
from headstart.logs.tables.unscanned import Unscanned
from headstart.numerals import tell_count
from headstart.randomness import RNG, as_generator

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa


class LogTable(Displayed):
    """A log of any size as a lazy Ibis expression; it speaks `Log`'s language but holds no rows.

    Parameters
    ----------
    table
        The canonical table: `action` (index 0..K-1), `outcome`, `propensity` if known, encoded contexts `x0`,
        `x1`, ..., perhaps whole propensity vectors `p0`, ..., `p{K-1}`, perhaps `time`, `id`, and `unit` as text.
    encoding, action_names
        How a user's columns became x0, x1, ...; and the labels of the action indices.
    reading
        What the reader has to say of how the rows were read; kept, not used.

    Raises
    ------
    LogError
        If the table lacks a canonical column.

    Examples
    --------
    >>> import headstart as hs
    >>> table = hs.scan_log({"action": ["a", "b", "a"], "reward": [1.0, 0.0, 1.0]})
    >>> table.action_sums().n
    array([2., 1.])
    >>> len(table)
    3
    """

    def __init__(
        self,
        table: ir.Table,
        *,
        encoding: Encoding,
        action_names: tuple[Hashable, ...],
        reading: Reading | None = None,
    ) -> None:
        self._begin(None, Scanned(table, encoding, tuple(action_names), reading))
        columns = set(table.columns)
        for name in ("action", "outcome", *(f"x{j}" for j in range(self.n_features))):
            if name not in columns:
                raise LogError(f"the canonical table has no column {name!r}; it has {', '.join(table.columns)}")

    @classmethod
    def of_source(cls, source: Unscanned) -> LogTable:
        """The log of a source: its rows are looked at when something of them is asked for."""
        table = cls.__new__(cls)
        table._begin(source, None)
        return table

    def _begin(self, source: Unscanned | None, scanned: Scanned | None) -> None:
        self._source, self._scanned = source, scanned
        self._length: int | None = None
        self._range: tuple[float, float] | None = None
        self._sums: ActionSums | None = None
        self._context_sums: ContextSums | None = None

    @property
    def _known(self) -> Scanned:
        if self._scanned is None:
            assert self._source is not None, "a table has been scanned, or has a source"
            self._scanned, self._source = self._source.scan(), None
        return self._scanned

    @property
    def table(self) -> ir.Table:
        """The Ibis expression."""
        return self._known.table

    @property
    def reading(self) -> Reading | None:
        """How the rows were read, and what was left out."""
        return self._known.reading

    @property
    def n_actions(self) -> int:
        return len(self.action_names)

    @property
    def action_names(self) -> tuple[Hashable, ...]:
        """The labels, in the order of their indices."""
        seen = None if self._source is None else self._source.action_names
        return self._known.action_names if seen is None else seen

    @property
    def encoding(self) -> Encoding:
        """How a user's columns become numbers."""
        return self._known.encoding

    @property
    def context_names(self) -> tuple[str, ...]:
        """The names of the encoded columns."""
        return self.encoding.names

    @property
    def n_features(self) -> int:
        """Encoded context columns."""
        return len(self.encoding.names)

    @property
    def has_propensities(self) -> bool:
        return "propensity" in self.table.columns if self._source is None else self._source.has_propensities

    @property
    def has_propensity_vectors(self) -> bool:
        """Whether every row has the chance of every action, not only of the one taken."""
        return all(f"p{k}" in self.table.columns for k in range(self.n_actions))

    @property
    def has_units(self) -> bool:
        """Whether it is known whose the rows are, and some are of the same."""
        return "unit" in self.table.columns

    @property
    def has_times(self) -> bool:
        """Whether it is known when each row was decided."""
        return "time" in self.table.columns

    def __len__(self) -> int:
        if self._length is None:
            self._length = int(self.table.count().to_pyarrow().as_py())
        return self._length

    def __repr__(self) -> str:
        known = "with" if self.has_propensities else "without"
        rows = "rows not yet counted" if self._length is None else f"{self._length} rows"
        shape = f"{rows}, {tell_count(self.n_actions, 'action')}, {tell_count(self.n_features, 'context column')}"
        return f"LogTable({shape}, {known} propensities, on {self.table.get_backend().name})"

    def _tell(self) -> Display:
        told = tell_log("", self)  # asks the table, which is then counted
        return Display(repr(self), told.sentences, told.columns)

    def action_index(self, label: Hashable) -> int:
        """The index of an action's label."""
        try:
            return {name: k for k, name in enumerate(self.action_names)}[label]
        except (KeyError, TypeError):
            known = ", ".join(repr(name) for name in self.action_names[:8])
            raise ActionError(f"unknown action {label!r}; known: {known}") from None

    def context(self, user: Mapping[str, object] | ArrayLike) -> Floats:
        """One user's columns, by name, as the vector that oracles and evaluators take."""
        return self.encoding.encode(user)

    @property
    def outcome_range(self) -> tuple[float, float]:
        """The smallest and the largest outcome."""
        if self._range is None:
            column = self.table.outcome
            found = self.table.aggregate(low=column.min(), high=column.max()).to_pyarrow()
            low, high = found["low"][0].as_py(), found["high"][0].as_py()
            if low is None:
                raise LogError("the log is empty: it needs at least one row")
            self._range = float(low), float(high)
        return self._range

    def action_sums(self, only: Sequence[str] = EVERY) -> ActionSums:
        """Sums of outcomes and weights per action. One query, asked once; `only` these fields, the others NaN."""
        if self._sums is not None:
            return self._sums
        sums = None if self._source is None else self._source.action_sums(only)
        if sums is None:
            sums = statistics.query_action_sums(self.table, self.n_actions, only)
        if set(only) >= set(EVERY):
            self._sums, self._length = sums, int(sums.n.sum())
        return sums

    def context_sums(self) -> ContextSums:
        """Sums of context columns per action, plain and weighted. One query, asked once."""
        if self._context_sums is None:
            self._context_sums = statistics.query_context_sums(self.table, self.n_actions, self.n_features)
        return self._context_sums

    def product_sums(self) -> tuple[Floats, Floats]:
        """Per action, of z = (x, 1): the sums of z z', (K, d + 1, d + 1), and of y z, (K, d + 1)."""
        sums = None if self._source is None else self._source.product_sums()
        return statistics.query_product_sums(self.table, self.n_actions, self.n_features) if sums is None else sums

    def propensity_counts(self, edges: ArrayLike) -> Integers:
        """Rows per action and bin of the propensity of the action taken, (K, bins)."""
        if not self.has_propensities:
            raise LogError("the log has no propensities: see LogTable.with_propensities_from")
        return statistics.query_propensity_counts(self.table, np.asarray(edges, float), self.n_actions)

    def outcome_counts(self, max_groups: int = MAX_GROUPS) -> OutcomeCounts:
        """Rows per action and outcome. Beyond `max_groups` different ones a sample stands for the table, out loud."""
        return self._count(self.table, [], max_groups)

    def category_counts(self, max_groups: int = MAX_GROUPS) -> OutcomeCounts:
        """Rows per encoded context, action and outcome. Beyond `max_groups` a sample, out loud."""
        return self._count(self.table, names_of("x", self.n_features), max_groups)

    def point_counts(self, pivots: ArrayLike, max_groups: int = MAX_GROUPS) -> OutcomeCounts:
        """Rows per lattice point, action and outcome. Beyond `max_groups` a sample, out loud.

        A point is the indices of the pivots nearest to the propensities of the first K - 1 actions.
        """
        self._check_vectors()
        levels = np.asarray(pivots, dtype=np.float64)
        points = {f"x{k}": nearest_pivot(self.table[f"p{k}"], levels) for k in range(self.n_actions - 1)}
        rows = self.table.select("action", "outcome", **points)
        return self._count(rows, list(points), max_groups)

    def _count(self, table: ir.Table, strata: list[str], max_groups: int) -> OutcomeCounts:
        return count_outcomes(table, strata, self.n_actions, len(self), check_whole("max_groups", max_groups))

    def with_propensities_from(self, model: LogisticModel) -> LogTable:
        """The same table with the propensities of a logistic model, computed by the database row by row.

        `model` is a LogisticPropensity, or anything with `slopes` (K, d) and `intercepts` (K,).
        """
        if not isinstance(model, LogisticModel):
            raise OptionError(
                f"the model must be a LogisticPropensity, got {type(model).__name__}: other models need rows, so "
                "take a sample(n_rows) and estimate there"
            )
        known = model.slopes.shape
        if known != (self.n_actions, self.n_features):
            raise OptionError(
                f"the model is of {known[0]} actions and {known[1]} context columns, the table has {self.n_actions} "
                f"and {self.n_features}"
            )
        return self._twin(with_logistic(self.table, model.slopes, model.intercepts))

    def without_propensities(self) -> LogTable:
        """The same table as if nobody had written down the chances."""
        chances = ["propensity", *names_of("p", self.n_actions)]
        return self._twin(self.table.drop(*(name for name in chances if name in self.table.columns)))

    def without(self, names: Collection[str]) -> LogTable:
        """The table without the context columns of these names; an encoded one takes its whole column with it."""
        kept = self.encoding.kept_without(names)
        if kept.size == self.n_features:
            return self
        features = set(names_of("x", self.n_features))
        others = [name for name in self.table.columns if name not in features]
        renamed = {f"x{j}": self.table[f"x{old}"] for j, old in enumerate(kept.tolist())}
        table = self.table.select(*others, **renamed)
        encoding = self.encoding.without(names)
        return LogTable(table, encoding=encoding, action_names=self.action_names, reading=self.reading)

    def filter(self, predicate: Predicate) -> LogTable:
        """The rows for which an Ibis predicate over the canonical columns holds: `table.filter(lambda t: ...)`."""
        return self._twin(self.table.filter(predicate))

    def to_log(self) -> Log:
        """All rows in memory: about 8 (d + 3) bytes a row, twice that while they come."""
        return self._as_log(self.table.select(*self._columns()).to_pyarrow())

    def sample(self, n_rows: int, rng: RNG = 0) -> Log:
        """A uniform sample without replacement; all rows if there are no more. Two or three scans.

        It depends on the seed and on the rows as a multiset alone: neither on their order nor on threads, files or
        the database (see `sampling`). Of a table with units, whole units are drawn, with about `n_rows` rows (see
        `unit_sampling`).
        """
        if check_whole("n_rows", n_rows) >= len(self):
            return self.to_log()
        table, keyed_by = self.table, ["action", "outcome", *names_of("x", self.n_features)]
        if self.has_units:
            return self._as_log(draw_units(table, self._columns(), keyed_by, n_rows, len(self), as_generator(rng)))
        if self.has_times:
            table, keyed_by = table.mutate(moment=as_moment(table.time)), [*keyed_by, "moment"]
        others = [name for name in self._columns() if name not in keyed_by]
        return self._as_log(draw_rows(table, keyed_by, others, n_rows, as_generator(rng)))

    def batches(self, n_rows: int = 1 << 16) -> Iterator[Log]:
        """All rows, at most `n_rows` at a time, as Logs. An embedded DuckDB takes no other query meanwhile.

        Units are numbered within a portion: the same number in two of them is not the same unit.
        """
        for batch in read_batches(self.table.select(*self._columns()), check_whole("n_rows", n_rows)):
            if batch.num_rows:
                yield self._as_log(batch)

    def _twin(self, table: ir.Table) -> LogTable:
        return LogTable(table, encoding=self.encoding, action_names=self.action_names, reading=self.reading)

    def _check_vectors(self) -> None:
        if not self.has_propensity_vectors:
            raise LogError(
                "the table has no whole propensity vectors: see with_propensities_from(LogisticPropensity(...))"
            )

    def _columns(self) -> list[str]:
        """What a Log holds of a row."""
        return log_columns(list(self.table.columns), self.n_features, self.n_actions)

    def _as_log(self, rows: pa.Table | pa.RecordBatch) -> Log:
        return as_log(rows, self.encoding, self.action_names)
