"""The scan of a source: which column is what, which rows can be used, which labels there are; and the table."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from headstart.errors import HeadstartError, LogError
from headstart.logs.reading import Reading
from headstart.logs.tables.canonical import as_chance, as_float_column, canonical_table
from headstart.logs.tables.columns import Asked, Roles, check_column, find_roles
from headstart.logs.tables.connection import is_ours, log_errors
from headstart.logs.tables.duplicates import Repeats, find_repeats, keep_first
from headstart.logs.tables.expressions import ChanceOf, Schema
from headstart.logs.tables.faults import Counted, as_any, check_faults, count_faults, list_faults, unreadable
from headstart.logs.tables.labels import as_encoding, label_columns, read_labels, too_varied
from headstart.logs.tables.places import find_first
from headstart.logs.tables.sources.opened import Opened
from headstart.logs.tables.table import LogTable

if TYPE_CHECKING:
    import ibis.expr.types as ir

_MOSTLY_MISSING = 0.5  # a context that nobody asked for is not worth more than this share of the rows


def scan(opened: Opened, asked: Asked) -> LogTable:
    """The log of a source; a value that the first rows did not lead to expect makes it look at all of them."""
    with log_errors(opened.place):
        return _scan_wider(opened, asked)


def _scan_wider(opened: Opened, asked: Asked) -> LogTable:
    try:
        return _scan_once(opened, asked)
    except Exception as error:
        if isinstance(error, HeadstartError) or is_ours(error) or opened.widen is None:
            raise
    opened = opened.widen()
    try:
        return _scan_once(opened, asked)
    except Exception as error:
        if isinstance(error, HeadstartError) or is_ours(error) or opened.explain is None:
            raise
        raise opened.explain(error) from error


def _scan_once(opened: Opened, asked: Asked) -> LogTable:
    opened = _narrow(opened, asked)
    rows = opened.table if opened.keeps is None else opened.table.filter(opened.keeps(opened.table))
    schema = dict(rows.schema().items())
    roles = _readable(rows, opened, asked, find_roles(schema, asked, opened.roles, opened.contexts))
    while True:  # once, unless a column turns out not to be a context
        faults = list_faults(schema, roles)
        counted = count_faults(rows, faults, label_columns(schema, roles))
        if not counted.n_rows:
            which = " with these values" if asked.where else ""
            raise LogError(f"{opened.place}: there are columns but no rows{which}")
        left_out = too_varied(rows, roles, asked, counted, opened.place) | _mostly_missing(roles, counted)
        if not left_out:
            check_faults(opened, asked, roles, faults, counted)
            kept = rows.filter(~as_any(faults)(rows)) if counted.n_unusable else rows
            names, categories, left_out = read_labels(kept, opened, schema, roles, asked)
        if not left_out:
            break
        roles = roles.without(left_out)
    repeats = find_repeats(rows, kept, roles, counted)
    if repeats.n_ids:
        kept = keep_first(kept, roles)
    encoding, decide_on = as_encoding(roles, categories)
    chance_of, more = _check_chances(kept, opened, roles, names)
    reading = _as_reading(opened, asked, roles, schema, counted, repeats, decide_on, more)
    table = canonical_table(kept, roles, encoding, names, chance_of)
    return LogTable(table, encoding=encoding, action_names=names, reading=reading)


def _narrow(opened: Opened, asked: Asked) -> Opened:
    """The same source with a word on which rows were asked for."""
    if not asked.where:
        return opened
    for name in asked.where:
        check_column(name, opened.table.columns)

    def keeps(table: ir.Table) -> ir.BooleanColumn:
        return reduce(and_, (table[name] == value for name, value in asked.where.items()))

    return replace(opened, keeps=keeps)


def _readable(rows: ir.Table, opened: Opened, asked: Asked, roles: Roles) -> Roles:
    """Roles whose column can be read as what it is to be; a time that was only guessed is given up."""
    faults = unreadable(dict(rows.schema().items()), roles)
    if not faults:
        return roles
    counted = count_faults(rows, faults, [])
    for fault in faults:
        n = counted.faults.get(fault.rule, 0)
        if not n:
            continue
        if fault.column == roles.timestamp and asked.timestamp is None:
            columns = {role: name for role, name in roles.columns.items() if role != "timestamp"}
            why = {fault.column: "its name is that of a time, its text is not"}
            roles = replace(roles, columns=columns).without(why)
            continue
        place, value = find_first(opened, fault.column, fault.of)
        raise LogError(
            f"{place}: column {fault.column!r}: {fault.rule}, got {value!r} (in {n:,} of {counted.n_rows:,} rows)"
        )
    return roles


def _mostly_missing(roles: Roles, counted: Counted) -> dict[str, str]:
    if roles.are_contexts_given:
        return {}
    return {
        name: f"missing in {n:,} of {counted.n_rows:,} rows; contexts=[..., {name!r}] would keep only the others"
        for name, n in counted.missing.items()
        if name in roles.contexts and n > _MOSTLY_MISSING * counted.n_rows
    }


def _check_chances(
    rows: ir.Table, opened: Opened, roles: Roles, names: Sequence[Hashable]
) -> tuple[ChanceOf | None, tuple[str, ...]]:
    """The probabilities of all actions, if they are ones: they sum to 1 and agree with the propensity."""
    chance_of = opened.chance_of
    if chance_of is None or not roles.propensity or roles.action != opened.roles.get("action"):
        return None, ()
    chances = [as_chance(rows, chance_of, name) for name in names]
    total = sum(chances[1:], start=chances[0])
    taken = rows[roles.action].cases(*zip(names, chances, strict=True))
    wrong = ((total - 1.0).abs() > 1e-6) | ((taken - as_float_column(rows[roles.propensity])).abs() > 1e-6)
    n = int(rows.aggregate(n=wrong.sum()).to_pyarrow()["n"][0].as_py() or 0)
    if n:
        what = "the probabilities do not sum to 1 or disagree with the propensity"
        return None, (f"in {n:,} rows {what}: only the latter is read",)
    return chance_of, ()


def _as_reading(
    opened: Opened,
    asked: Asked,
    roles: Roles,
    schema: Schema,
    counted: Counted,
    repeats: Repeats,
    decide_on: tuple[str, ...],
    more: tuple[str, ...],
) -> Reading:
    notes = [*opened.notes, *more, *repeats.notes]
    if schema[roles.outcome].is_boolean():
        notes.append("the outcome is true or false: read as 1 and 0")
    elif not schema[roles.outcome].is_numeric():
        notes.append("the outcome is text that is all numbers: read as numbers")
    if asked.where:
        notes.append("only rows where " + " and ".join(f"{name} = {value!r}" for name, value in asked.where.items()))
    if asked.contexts is None and opened.contexts is None and roles.contexts:
        notes.append("contexts were not named: every other column is one; leave out what came after the action")
    return Reading(
        source=opened.place,
        format=opened.format,
        n_rows=counted.n_rows,
        n_kept=counted.n_kept - repeats.n_ids,
        columns=dict(roles.columns),
        recognised=roles.recognised,
        contexts=roles.contexts,
        confounders=roles.confounders,
        decide_on=decide_on,
        left_out=dict(roles.left_out),
        counts={**opened.counts, **counted.faults, **repeats.counts},
        notes=tuple(notes),
    )
