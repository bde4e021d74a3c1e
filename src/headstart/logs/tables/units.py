"""Who the rows are of: whether a unit repeats, and which columns are identifiers and no contexts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from headstart.logs.identifiers import is_identifier
from headstart.logs.tables.asked import Asked
from headstart.logs.tables.columns import IDENTIFIER_BY_NAME, Roles
from headstart.logs.tables.duplicates import count_repeated
from headstart.logs.tables.expressions import Schema
from headstart.logs.tables.faults import Counted, Spread

if TYPE_CHECKING:
    import ibis.expr.types as ir

IDENTIFIER_BY_VALUE = "an identifier by its values: whole numbers, nearly all of them different and evenly spread"
_FEWEST_UNITS = 20  # a column `customer` of fewer values is a kind of customer, not a name
_MOST_LOST = 0.01  # a share of the rows that a role which was only guessed may cost
_NEARLY = 0.95  # a sketch that says that so many values differ leaves it to be counted
_DISTINCT = 0.99  # a share of different values: of identifiers
_FEWEST_ROWS = 200  # so few whole numbers may all be different by chance
_MOST_COUNTED = 1_000_000  # rows of which values are counted exactly for a sentence
_MOST_ROWS = 20_000_000  # rows of which it is found out whether a unit repeats at all
_UNIFORM = 1.0 / math.sqrt(12.0)  # the deviation of evenly spread values, as a share of their range


def columns_to_count(schema: Schema, roles: Roles, asked: Asked) -> list[str]:
    """Columns of which one must know about how many values they have: the unit, and what may be an identifier."""
    units = [roles.unit] if roles.unit else _unused_identifiers(schema, roles, asked)
    return [*units, *numbers_to_judge(schema, roles)]


def _unused_identifiers(schema: Schema, roles: Roles, asked: Asked) -> list[str]:
    """Columns that are identifiers, by name or by value, and have no role; not those that may be a role."""
    if roles.unit is not None or asked.unit is not None:
        return []
    reasons = (None, IDENTIFIER_BY_NAME, IDENTIFIER_BY_VALUE)
    used = {*roles.columns.values(), *roles.adjusted, *asked.where}
    return [
        name
        for name in schema
        if name not in used
        and roles.left_out.get(name) in reasons
        and (is_identifier(name) or roles.left_out.get(name) == IDENTIFIER_BY_VALUE)
    ]


def numbers_to_judge(schema: Schema, roles: Roles) -> list[str]:
    """Contexts of whole numbers that nobody asked for: they may be identifiers."""
    if roles.are_contexts_given:
        return []
    return [name for name in roles.contexts if schema[name].is_integer()]


def find_identifiers(rows: ir.Table, schema: Schema, roles: Roles, counted: Counted) -> dict[str, str]:
    """Contexts that are identifiers by their values: nearly all different, and spread evenly as no quantity is."""
    return {
        name: IDENTIFIER_BY_VALUE
        for name in numbers_to_judge(schema, roles)
        if counted.n_rows >= _FEWEST_ROWS
        and _is_even(counted.spreads[name])
        and counted.about_distinct[name] >= _NEARLY * _DISTINCT * counted.n_rows
        and _count_values(rows, name, counted) >= _DISTINCT * counted.n_rows
    }


def _is_even(spread: Spread) -> bool:
    width = spread.high - spread.low
    if not width > 0.0:
        return False
    is_centred = abs(spread.mean - (spread.low + spread.high) / 2.0) < 0.05 * width
    return is_centred and abs(spread.deviation / width - _UNIFORM) < 0.02


def doubt_roles(schema: Schema, roles: Roles, counted: Counted) -> Roles:
    """The roles without a unit or a time that was recognised by its name and is none, or would cost rows."""
    for role in ("unit", "timestamp"):
        name = roles.columns.get(role)
        n = counted.missing.get(name or "", 0)
        if name is not None and role in roles.recognised and n > _MOST_LOST * counted.n_rows:
            why = f"missing in {n:,} of {counted.n_rows:,} rows; {role}={name!r} would use it and drop them"
            roles = roles.give_up(role, why)
    name = roles.unit
    if name is None or "unit" not in roles.recognised or is_identifier(name):
        return roles
    n_values = counted.about_distinct[name]
    if schema[name].is_boolean() or (n_values < _FEWEST_UNITS and counted.n_rows > 10 * n_values):
        why = f"its name is that of a unit, but it has {n_values} values; unit={name!r} would use it"
        return roles.give_up("unit", why, is_context=True)
    return roles


def count_units(kept: ir.Table, roles: Roles, counted: Counted, n_kept: int) -> tuple[bool, tuple[str, ...]]:
    """(Whether a unit has more rows than one, what there is to say of it.)"""
    if roles.unit is None:
        return False, ()
    about = counted.about_distinct[roles.unit]
    is_large = n_kept > _MOST_COUNTED
    if is_large and (about < _NEARLY * n_kept or n_kept > _MOST_ROWS):
        return True, (f"{n_kept:,} rows are of about {about:,} units ({roles.unit})",)
    n_repeated = count_repeated(kept, roles.unit, n_kept)
    if not n_repeated:
        return False, ()
    return True, (f"{n_kept:,} rows are of {n_kept - n_repeated:,} units ({roles.unit})",)


def notice_identifiers(rows: ir.Table, schema: Schema, roles: Roles, asked: Asked, counted: Counted) -> list[str]:
    """Identifiers that nobody uses, whose values come again: perhaps the rows of one value are of one person."""
    names = _unused_identifiers(schema, roles, asked)
    return [_say_repeated(rows, name, counted) for name in names if _does_repeat(rows, name, counted)]


def _does_repeat(rows: ir.Table, name: str, counted: Counted) -> bool:
    if counted.about_distinct[name] < _NEARLY * counted.n_rows:
        return True
    return 0 < _count_values(rows, name, counted) < _NEARLY * counted.n_rows


def _say_repeated(rows: ir.Table, name: str, counted: Counted) -> str:
    about = "about " if counted.n_rows > _MOST_COUNTED else ""
    n_values = _count_values(rows, name, counted)
    return (
        f"{name} has {about}{n_values:,} values in {counted.n_rows:,} rows: if rows of one value are of one person, "
        f"say unit={name!r}"
    )


def _count_values(rows: ir.Table, name: str, counted: Counted) -> int:
    """How many different values, exactly where that is cheap."""
    if counted.n_rows > _MOST_COUNTED:
        return counted.about_distinct[name]
    return int(rows.aggregate(n=rows[name].nunique()).to_pyarrow()["n"][0].as_py() or 0)
