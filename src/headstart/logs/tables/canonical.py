"""The canonical table: action, outcome, propensity, time, id, unit, x0, x1, ..., p0, p1, ...: a lazy expression."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from headstart.logs.tables.columns import Roles, is_text
from headstart.logs.tables.expressions import ChanceOf

if TYPE_CHECKING:
    import ibis.expr.datatypes as dt
    import ibis.expr.types as ir

_FEW = 16  # labels that one CASE compares in turn; more of them are halved first
_BYTEWISE = ("duckdb", "pyspark")  # backends that order text as Python does
_TRYING = ("duckdb", "pyspark", "bigquery", "snowflake", "trino")  # TryCast gives null there, where others give up
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?( ?(Z|[+-][0-9]{2}(:?[0-9]{2})?))?"
_TIME = rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([T ]{_CLOCK})?$"


def canonical_table(
    rows: ir.Table,
    roles: Roles,
    features: Sequence[ir.FloatingColumn],
    labels: Sequence[Hashable],
    chance_of: ChanceOf | None,
) -> ir.Table:
    """The columns under their canonical names. A column that has its type already is passed through as it is.

    `features` are the encoded contexts, as expressions of the same rows.
    """
    columns = {"action": action_index(rows[roles.action], labels), "outcome": as_float_column(rows[roles.outcome])}
    if roles.propensity:
        columns["propensity"] = as_float_column(rows[roles.propensity])
    if roles.timestamp:
        columns["time"] = as_time(rows[roles.timestamp])
    if roles.id:
        columns["id"] = rows[roles.id]
    if roles.unit:
        columns["unit"] = as_unit(rows[roles.unit])
    columns |= {f"x{j}": feature for j, feature in enumerate(features)}
    if chance_of is not None:
        columns |= {f"p{k}": as_chance(rows, chance_of, label) for k, label in enumerate(labels)}
    return rows.select(**columns)


def as_float_column(column: ir.Column) -> ir.FloatingColumn:
    """A column as float64; text that is no number becomes missing."""
    kind = column.type()
    if kind.is_float64():
        return column
    if kind.is_boolean():
        return as_indicator(column)
    if is_text(kind):
        return _try_cast(column.cast("string").strip(), "float64", _NUMBER)
    return column.cast("float64")


def _try_cast(text: ir.StringColumn, kind: str, pattern: str) -> ir.Column:
    """The text as this type, missing where it is none; a database that would fail at one is only shown what fits."""
    import ibis

    if text.get_backend().name in _TRYING:
        return text.try_cast(kind)
    return ibis.cases((text.re_search(pattern), text.cast(kind)), else_=ibis.null(kind))


def as_unit(column: ir.Column) -> ir.StringColumn:
    """Who a row is of, as text: a whole number is written alike whether or not a missing one made it a float."""
    whole = column.cast("int64") if column.type().is_floating() or column.type().is_decimal() else column
    return whole if whole.type().is_string() else whole.cast("string")


def as_indicator(truth: ir.BooleanColumn) -> ir.FloatingColumn:
    """1 where true, else 0; by way of whole numbers, because to PostgreSQL a written 1.0 is a decimal."""
    return truth.cast("int32").cast("float64")


def is_nan(column: ir.FloatingColumn) -> ir.BooleanValue:
    """Whether a number is NaN; never, on a backend that does not know it."""
    import ibis
    import ibis.expr.operations as ops

    return column.isnan() if column.get_backend().has_operation(ops.IsNan) else ibis.literal(False)


def is_infinite(column: ir.FloatingColumn) -> ir.BooleanValue:
    """Whether a number is beyond every other."""
    import ibis.expr.operations as ops

    known = column.get_backend().has_operation(ops.IsInf)
    return column.isinf() if known else column.abs() > sys.float_info.max


def is_number(column: ir.FloatingColumn) -> ir.BooleanColumn:
    """Whether a value is a number: false of NaN (to a database above every other) and of infinity, null of null."""
    return column.abs() <= sys.float_info.max


def as_time(column: ir.Column) -> ir.Column:
    """A timestamp, or whatever else has an order: text is parsed, numbers stay."""
    if is_unknown_time(column.type()):
        return column.cast("timestamp('UTC')")
    if not column.type().is_string():
        return column
    return _try_cast(column.strip(), "timestamp('UTC')", _TIME)


def is_unknown_time(kind: dt.DataType) -> bool:
    """A type of time that DuckDB has and Ibis does not know: with a zone, to the nanosecond, as pandas keeps it."""
    return bool(kind.is_unknown()) and "TIMESTAMP" in str(kind)


def as_moment(time: ir.Column) -> ir.FloatingColumn:
    """A time as a number that every database writes alike: whole seconds since 1970, or the number that it is."""
    kind = time.type()
    if kind.is_numeric():
        return as_float_column(time)
    moment = time.cast("timestamp('UTC')") if kind.is_date() else time
    return moment.epoch_seconds().cast("float64")


def as_chance(rows: ir.Table, chance_of: ChanceOf, label: Hashable) -> ir.FloatingValue:
    """The probability of an action; one that was not among the candidates had none."""
    import ibis

    found = chance_of(rows, label)
    return ibis.literal(0).cast("float64") if found is None else found.cast("float64").fill_null(0.0)


def action_index(column: ir.Column, labels: Sequence[Hashable]) -> ir.IntegerColumn:
    """Labels as 0..K-1.

    Whole numbers without a gap are shifted, so that a log of indices is read as it is. Other labels are compared
    one by one; when they are many and the backend sorts as Python does, they are halved first, so that a row
    costs log K comparisons, not K.
    """
    kind = column.type()
    whole = [label for label in labels if type(label) is int]
    if len(whole) == len(labels) and kind.is_numeric():
        column = column if kind.is_int64() else column.cast("int64")
        low = whole[0]
        if whole == list(range(low, low + len(whole))):
            return column if low == 0 else column - low
    pairs = [(label, place) for place, label in enumerate(labels)]
    is_sorted_alike = column.type().is_numeric() or column.get_backend().name in _BYTEWISE
    if len(pairs) > _FEW and is_sorted_alike and len({type(label) for label in labels}) == 1:
        return _halve(column, sorted(pairs)).cast("int64")
    return column.cases(*pairs).cast("int64")


def _halve(column: ir.Column, pairs: Sequence[tuple[Hashable, int]]) -> ir.IntegerColumn:
    if len(pairs) <= _FEW:
        return column.cases(*pairs)
    middle = len(pairs) // 2
    return (column < pairs[middle][0]).ifelse(_halve(column, pairs[:middle]), _halve(column, pairs[middle:]))


def distinct_values(rows: ir.Table, columns: Sequence[str]) -> Mapping[str, list[Hashable]]:
    """The values of each column, in one pass where the backend can collect them; only for columns of few values."""
    import ibis.expr.operations as ops

    if not columns:
        return {}
    if rows.get_backend().has_operation(ops.ArrayCollect):
        sets = {f"c{j}": rows[name].collect(distinct=True) for j, name in enumerate(columns)}
        found = rows.aggregate(**sets).to_pyarrow().to_pylist()[0]
        return {name: found[f"c{j}"] or [] for j, name in enumerate(columns)}
    return {
        name: rows.filter(rows[name].notnull()).select(value=rows[name]).distinct().to_pyarrow()["value"].to_pylist()
        for name in columns
    }
