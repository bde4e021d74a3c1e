"""The rules for rows that cannot be used, each with a count.

| fault | rule |
|---|---|
| a missing action, outcome, propensity, unit or time (null, NaN, an empty cell) | the row is dropped |
| a missing context | filled in (`gaps`); missing="drop" drops the row, missing="error" raises at any missing value |
| an infinite outcome or context | as a missing value |
| a unit or a time that was recognised by its name, and is missing in many rows | the role is given up, and said |
| a propensity outside (0, 1] | as a missing value; beyond one row in a hundred the column is refused |
| an outcome or propensity that is not a number | error, with the place |
| an action outside the given action_names | error, with labels and counts |
| an id a second time | the first row with it is kept |
| times out of order | counted; `read_log` puts the rows in order, `scan_log` leaves them |
| equal rows | kept and counted: two users may be alike |
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from headstart.errors import LogError
from headstart.logs.tables.asked import Asked
from headstart.logs.tables.canonical import as_float_column, as_time, is_nan
from headstart.logs.tables.columns import Roles, is_text
from headstart.logs.tables.expressions import Predicate, Schema
from headstart.logs.tables.gaps import Gaps, as_gaps, ask_gaps, infinite_in, missing_in
from headstart.logs.tables.places import find_first
from headstart.logs.tables.sources.opened import Opened

if TYPE_CHECKING:
    import ibis.expr.types as ir

_MOST_WRONG_PROPENSITIES = 0.01  # a share beyond which the column is something else than a propensity
_TOLERANCE = 1e-6  # of a propensity above 1: what rounding to six digits leaves, as for Log


@dataclass(frozen=True)
class Fault:
    """A way in which a row cannot be used."""

    rule: str
    column: str
    of: Predicate


@dataclass(frozen=True)
class Spread:
    """Where the values of a column of whole numbers lie."""

    low: float
    high: float
    mean: float
    deviation: float


@dataclass(frozen=True)
class Counted:
    """What the first pass over the source found."""

    n_rows: int
    n_unusable: int
    faults: Mapping[str, int]  # rule -> rows, those that occur
    missing: Mapping[str, int]  # column -> rows, of those that would be dropped for it
    about_distinct: Mapping[str, int]  # column -> about how many values
    gaps: Gaps = field(default_factory=Gaps)  # what is missing in contexts, where that does not cost the row
    spreads: Mapping[str, Spread] = field(default_factory=dict)  # of columns that may be identifiers
    labels: Mapping[str, Sequence[Hashable]] = field(default_factory=dict)  # column -> its values, if they are known

    @property
    def n_kept(self) -> int:
        return self.n_rows - self.n_unusable


def list_faults(schema: Schema, roles: Roles, asked: Asked) -> list[Fault]:
    """Every way in which a row of this table can be unusable."""
    faults = []
    contexts = () if asked.missing == "fill" else roles.adjusted
    for name in dict.fromkeys(
        (roles.action, roles.outcome, roles.propensity, roles.timestamp, roles.unit, *contexts)
    ):
        if name is None:
            continue
        faults.append(Fault(f"missing value in {name!r}, dropped", name, missing_in(name, schema[name])))
        is_written = name == roles.outcome and is_text(schema[name])
        if name in (roles.outcome, *contexts) and (schema[name].is_floating() or is_written):
            faults.append(Fault(f"infinite value in {name!r}, dropped", name, infinite_in(name)))
    if roles.propensity:
        faults.append(Fault(PROPENSITY_RULE, roles.propensity, _outside(roles.propensity)))
    return faults


PROPENSITY_RULE = "propensity outside (0, 1], dropped"


def unreadable(schema: Schema, roles: Roles) -> list[Fault]:
    """Values that are text where a number or a time must stand: the column is not what it was taken for."""
    found = []
    for role in ("outcome", "propensity"):
        name = roles.columns.get(role)
        if name is not None and is_text(schema[name]):
            found.append(Fault(f"the {role} must be a number", name, _unparsed(name, as_float_column)))
    if roles.timestamp and schema[roles.timestamp].is_string():
        found.append(Fault("the timestamp must be a time", roles.timestamp, _unparsed(roles.timestamp, as_time)))
    if roles.unit and schema[roles.unit].is_floating():
        found.append(Fault("the unit must be text or whole numbers", roles.unit, _broken(roles.unit)))
    return found


@dataclass(frozen=True)
class Question:
    """What the first pass is to find out beside the faults."""

    distinct: Sequence[str] = ()  # columns: about how many values
    gaps: Sequence[str] = ()  # contexts: what is missing
    spreads: Sequence[str] = ()  # columns of whole numbers: where they lie


def count_faults(rows: ir.Table, schema: Schema, faults: Sequence[Fault], question: Question) -> Counted:
    """The first pass: one aggregate query that counts every fault, about how many labels there are, and gaps."""
    asked = {"n": rows.count(), **ask_gaps(rows, schema, question.gaps)}
    asked |= {"wrong": as_any(faults)(rows).sum()} if faults else {}
    asked |= {f"f{j}": fault.of(rows).sum() for j, fault in enumerate(faults)}
    asked |= {f"d{j}": rows[name].approx_nunique() for j, name in enumerate(question.distinct)}
    for j, name in enumerate(question.spreads):
        column = as_float_column(rows[name])
        asked |= {f"low{j}": column.min(), f"high{j}": column.max()}
        asked |= {f"middle{j}": column.mean(), f"deviation{j}": column.std(how="pop")}
    found = rows.aggregate(**asked).to_pyarrow().to_pylist()[0]
    counts = {fault.rule: int(found[f"f{j}"] or 0) for j, fault in enumerate(faults)}
    return Counted(
        n_rows=int(found["n"]),
        n_unusable=int(found.get("wrong") or 0),
        faults={rule: n for rule, n in counts.items() if n},
        missing={
            fault.column: counts[fault.rule]
            for fault in faults
            if fault.rule.startswith("missing") and counts[fault.rule]
        },
        about_distinct={name: int(found[f"d{j}"] or 0) for j, name in enumerate(question.distinct)},
        gaps=as_gaps(found, question.gaps),
        spreads={name: _as_spread(found, j) for j, name in enumerate(question.spreads)},
    )


def _as_spread(found: Mapping[str, float | None], j: int) -> Spread:
    return Spread(*(float(found[f"{what}{j}"] or 0.0) for what in ("low", "high", "middle", "deviation")))


def check_faults(opened: Opened, asked: Asked, roles: Roles, faults: Sequence[Fault], counted: Counted) -> None:
    """Faults that are errors: any with missing="error", and a propensity that is none."""
    for fault in faults:
        n = counted.faults.get(fault.rule, 0)
        is_other = fault.rule == PROPENSITY_RULE and n > _MOST_WRONG_PROPENSITIES * counted.n_rows
        if n and (asked.missing == "error" or is_other):
            place, value = find_first(opened, fault.column, fault.of)
            what = fault.rule.removesuffix(", dropped")
            way = "; is it a propensity? give propensity=, or propensity=False" if is_other else ""
            raise LogError(f"{place}: {what}: {value!r} (in {n:,} of {counted.n_rows:,} rows){way}")
    if counted.n_rows and not counted.n_kept:
        listed = "; ".join(f"{rule}: {n:,}" for rule, n in counted.faults.items())
        raise LogError(f"{opened.place}: no row can be used ({listed})")


def as_any(faults: Sequence[Fault]) -> Predicate:
    """table -> whether a row has any of these faults."""
    return lambda table: reduce(or_, (fault.of(table) for fault in faults))


def is_chance(column: ir.FloatingColumn) -> ir.BooleanColumn:
    """Whether a value is in (0, 1], as rounding leaves it: false of NaN, null of null."""
    return (column > 0.0) & (column <= 1.0 + _TOLERANCE)


def _outside(name: str) -> Predicate:
    def of(table: ir.Table) -> ir.BooleanColumn:
        chance = as_float_column(table[name])
        return (chance <= 0.0) | ((chance > 1.0 + _TOLERANCE) & ~is_nan(chance))  # to a database NaN is above 1

    return of


def _unparsed(name: str, parse: Callable[[ir.Column], ir.Column]) -> Predicate:
    def of(table: ir.Table) -> ir.BooleanColumn:
        is_blank = table[name].cast("string").strip().isin(("", "null"))
        return table[name].notnull() & ~is_blank & parse(table[name]).isnull()

    return of


def _broken(name: str) -> Predicate:
    return lambda table: (table[name] != table[name].floor()).fill_null(False) & ~is_nan(table[name])
