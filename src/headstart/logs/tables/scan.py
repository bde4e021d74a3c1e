"""The scan of a source: which column is what, which rows can be used, which labels there are; and the table."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from headstart.errors import HeadstartError, LogError
from headstart.logs.encoding import OTHER
from headstart.logs.identifiers import MOST_CATEGORIES
from headstart.logs.reading import Reading
from headstart.logs.tables.asked import Asked
from headstart.logs.tables.canonical import as_chance, as_float_column, canonical_table, is_unknown_time
from headstart.logs.tables.columns import Roles, check_column, find_roles, is_text
from headstart.logs.tables.connection import is_ours, log_errors
from headstart.logs.tables.duplicates import Repeats, find_repeats, keep_first
from headstart.logs.tables.expressions import ChanceOf, Schema
from headstart.logs.tables.faults import (
    Counted,
    Fault,
    Question,
    as_any,
    check_faults,
    count_faults,
    list_faults,
    unreadable,
)
from headstart.logs.tables.features import encode_features
from headstart.logs.tables.gaps import Gaps, find_gaps
from headstart.logs.tables.glance import Glanced
from headstart.logs.tables.labels import (
    Labels,
    as_encoding,
    label_columns,
    read_labels,
    same_but_for_writing,
    too_varied,
)
from headstart.logs.tables.places import find_first
from headstart.logs.tables.scanned import Scanned
from headstart.logs.tables.sources.opened import Opened
from headstart.logs.tables.strayed import mend_numbers
from headstart.logs.tables.units import (
    columns_to_count,
    count_units,
    doubt_roles,
    find_identifiers,
    notice_identifiers,
    numbers_to_judge,
)

if TYPE_CHECKING:
    import ibis.expr.types as ir

_MOSTLY_MISSING = 0.5  # a context that nobody asked for is not worth more than this share of the rows
_MOST_REPEATED = 0.1  # of the rows may repeat a guessed id: rows that were sent twice; more, and it is somebody's


@dataclass(frozen=True)
class Arranged:
    """A source whose columns have the roles that their names and types give them."""

    opened: Opened
    rows: ir.Table  # those that were asked for
    schema: Schema
    roles: Roles


def arrange(opened: Opened, asked: Asked) -> Arranged:
    """What can be said of a source before its rows are looked at."""
    opened = _narrow(opened, asked)
    rows = opened.table if opened.keeps is None else opened.table.filter(opened.keeps(opened.table))
    schema = dict(rows.schema().items())
    roles = find_roles(schema, asked, opened.roles, opened.contexts)
    _check_outcome(opened, schema, roles)
    return Arranged(opened, rows, schema, _check_time(opened, schema, roles))


def scan(opened: Opened, asked: Asked, glanced: Glanced | None = None) -> Scanned:
    """The log of a source; a value that the first rows did not lead to expect makes it look at all of them.

    What a glance has proven of its rows is not counted again.
    """
    with log_errors(opened.place):
        return _scan_wider(opened, asked, glanced)


def _scan_wider(opened: Opened, asked: Asked, glanced: Glanced | None) -> Scanned:
    try:
        return _scan_once(opened, asked, glanced)
    except Exception as error:
        if isinstance(error, HeadstartError) or is_ours(error) or opened.widen is None:
            raise
    opened = opened.widen()
    try:
        return _scan_once(opened, asked, None)
    except Exception as error:
        if isinstance(error, HeadstartError) or is_ours(error) or opened.explain is None:
            raise
        raise opened.explain(error) from error


def _scan_once(opened: Opened, asked: Asked, glanced: Glanced | None) -> Scanned:
    arranged = arrange(opened, asked)
    opened, rows, schema = arranged.opened, arranged.rows, arranged.schema
    mended = mend_numbers(opened, rows, [name for name in arranged.roles.adjusted if is_text(schema[name])])
    if mended is not None:
        return _scan_once(mended, asked, glanced)
    seen = _look(rows, opened, schema, asked, _readable(rows, opened, arranged.roles), glanced)
    roles, kept, counted = seen.roles, seen.kept, seen.counted
    repeats = find_repeats(rows, kept, roles, counted)
    is_plain = (
        "id" in roles.recognised and roles.columns["id"].strip().casefold() == "id"
    )  # of an event, or of a person?
    if is_plain and repeats.n_ids > _MOST_REPEATED * counted.n_kept:
        return _scan_once(*_take_for_units(opened, asked, roles, repeats.n_ids), glanced)
    if repeats.n_ids:
        kept = keep_first(kept, roles)
    n_kept = counted.n_kept - repeats.n_ids
    gaps = counted.gaps if n_kept == counted.n_rows else find_gaps(kept, schema, roles.adjusted)
    encoding, decide_on = as_encoding(roles, seen.labels, gaps)
    chance_of, more = _check_chances(kept, opened, roles, seen.names)
    do_units_repeat, said = count_units(kept, roles, counted, n_kept)
    notes = (*more, *repeats.notes, *said, *notice_identifiers(rows, schema, roles, asked, counted))
    reading = _as_reading(opened, asked, seen, schema, repeats, gaps, notes, decide_on)
    known = roles if do_units_repeat else roles.without_role("unit")
    table = canonical_table(kept, known, encode_features(kept, encoding), seen.names, chance_of)
    return Scanned(table, encoding, seen.names, reading)


def _take_for_units(opened: Opened, asked: Asked, roles: Roles, n_repeated: int) -> tuple[Opened, Asked]:
    """The source with a column that was taken for an id of rows as whose they are: a guess must not cost rows."""
    column = roles.columns["id"]
    what = f"{n_repeated:,} rows have a {column!r} that came before: it is no id of rows"
    if roles.unit is None:
        note = f"{what}, and is taken for whose they are (unit={column!r}; id={column!r} would drop them)"
        return replace(opened, notes=(*opened.notes, note)), replace(asked, id=False, unit=column)
    return replace(opened, notes=(*opened.notes, f"{what} (id={column!r} would drop them)")), replace(asked, id=False)


@dataclass(frozen=True)
class _Seen:
    """What two passes over a source showed."""

    roles: Roles
    counted: Counted
    kept: ir.Table  # the rows that can be used
    names: tuple[Hashable, ...]  # of actions
    labels: Mapping[str, Labels]  # of contexts that are not numbers


def _look(
    rows: ir.Table, opened: Opened, schema: Schema, asked: Asked, roles: Roles, glanced: Glanced | None
) -> _Seen:
    """The faults, the labels, and the roles that columns really have: again, when one has turned out to be none."""
    while True:
        faults = list_faults(schema, roles, asked)
        counted = _count(rows, schema, asked, roles, faults, glanced)
        if not counted.n_rows:
            which = " with these values" if asked.where else ""
            raise LogError(f"{opened.place}: there are columns but no rows{which}")
        believed = doubt_roles(schema, roles, counted)
        left_out = too_varied(rows, believed, counted, opened.place) | _mostly_missing(opened, believed, counted)
        left_out |= find_identifiers(rows, schema, roles, counted)
        if believed is roles and not left_out:
            check_faults(opened, asked, roles, faults, counted)
            kept = rows.filter(~as_any(faults)(rows)) if counted.n_unusable else rows
            names, labels, left_out = read_labels(kept, opened, schema, roles, asked, counted)
            if not left_out:
                return _Seen(roles, counted, kept, names, labels)
        roles = believed.without(left_out)


def _count(
    rows: ir.Table, schema: Schema, asked: Asked, roles: Roles, faults: Sequence[Fault], glanced: Glanced | None
) -> Counted:
    distinct = dict.fromkeys([*label_columns(schema, roles), *columns_to_count(schema, roles, asked)])
    spreads = numbers_to_judge(schema, roles)
    if glanced is None or not glanced.covers(faults, roles.adjusted):
        return count_faults(rows, schema, faults, Question(list(distinct), roles.adjusted, spreads))
    others = [name for name in distinct if name != roles.action]
    known = glanced.as_counted(roles.action)
    if not others:
        return known
    found = count_faults(rows, schema, (), Question(others, spreads=spreads))
    return replace(known, about_distinct={**known.about_distinct, **found.about_distinct}, spreads=found.spreads)


def _narrow(opened: Opened, asked: Asked) -> Opened:
    """The same source with a word on which rows were asked for."""
    if not asked.where:
        return opened
    for name in asked.where:
        check_column(name, opened.table.columns)

    values = {name: _like_column(opened, name, value) for name, value in asked.where.items()}

    def keeps(table: ir.Table) -> ir.BooleanColumn:
        return reduce(and_, (table[name] == value for name, value in values.items()))

    return replace(opened, keeps=keeps)


def _like_column(opened: Opened, name: str, value: object) -> object:
    """A value as its column has it: one written as text ("1", "true"), as a command line gives it, is read."""
    kind = opened.table[name].type()
    if not isinstance(value, str) or is_text(kind):
        return value
    truths = {"true": True, "false": False, "1": True, "0": False}
    if kind.is_boolean() and value.casefold() in truths:
        return truths[value.casefold()]
    try:
        return int(value) if kind.is_integer() else float(value) if kind.is_numeric() else value
    except ValueError:
        raise LogError(f"where: column {name!r} is {kind}, got {value!r}") from None


def _readable(rows: ir.Table, opened: Opened, roles: Roles) -> Roles:
    """Roles whose column can be read as what it is to be; a time or unit that was only guessed is given up."""
    faults = unreadable(dict(rows.schema().items()), roles)
    if not faults:
        return roles
    counted = count_faults(rows, {}, faults, Question())
    for fault in faults:
        n = counted.faults.get(fault.rule, 0)
        if not n:
            continue
        guessed = {roles.columns[role]: role for role in ("timestamp", "unit") if role in roles.recognised}
        if fault.column in guessed:
            what = "time, its text is not" if guessed[fault.column] == "timestamp" else "unit, its numbers are not"
            roles = roles.give_up(guessed[fault.column], f"its name is that of a {what}")
            continue
        place, value = find_first(opened, fault.column, fault.of)
        found = f"got {value!r} (in {n:,} of {counted.n_rows:,} rows)"
        way = f"; {_way_out(str(value))}" if fault.column == roles.outcome else ""
        raise LogError(f"{place}: column {fault.column!r}: {fault.rule}, {found}{way}")
    return roles


def _way_out(text: str) -> str:
    """What to write in place of an outcome that is no number."""
    number = re.fullmatch(r"[^\d\w.,+-]*([+-]?[\d.,' ]*\d)\s*(%|[^\d\s]{1,3})?", text.strip())
    if number is None:
        return "write numbers in its place, such as 1 for yes and 0 for no"
    if number[2] == "%":
        return f"write the number without the percent sign, {number[1]}"
    if re.fullmatch(r"[+-]?\d+,\d+", text.strip()):
        return f"write a decimal point where it has a comma, {number[1].replace(',', '.')}"
    return "write the number alone, without currency, unit or thousands separators, such as 1234.5"


def _check_outcome(opened: Opened, schema: Schema, roles: Roles) -> None:
    """An outcome, and a chance, is a number; a day or a list is none."""
    for role in ("outcome", "propensity"):
        name = roles.columns.get(role)
        if name is not None and (schema[name].is_temporal() or schema[name].is_nested()):
            raise LogError(f"{opened.place}: column {name!r}: the {role} must be a number, it is {schema[name]}")


def _check_time(opened: Opened, schema: Schema, roles: Roles) -> Roles:
    """A time is a moment, or a number: 12:30 of no day is neither."""
    kind = schema[roles.timestamp] if roles.timestamp else None
    if kind is None or kind.is_numeric() or kind.is_timestamp() or kind.is_date() or kind.is_string():
        return roles
    if is_unknown_time(kind):
        return roles
    if "timestamp" in roles.recognised:
        return roles.give_up("timestamp", f"its name is that of a time, but it is {kind}")
    raise LogError(f"{opened.place}: column {roles.timestamp!r}: the timestamp must be a time, it is {kind}")


def _mostly_missing(opened: Opened, roles: Roles, counted: Counted) -> dict[str, str]:
    """Contexts that say nothing; and those that would cost most rows, where missing values do."""
    found = {}
    for name in roles.adjusted:
        dropped, n = counted.missing.get(name, 0), counted.gaps.rows.get(name, 0)
        if dropped > _MOSTLY_MISSING * counted.n_rows and not roles.is_asked_for(name):
            way = f"contexts=[..., {name!r}] would keep only the others"
            found[name] = f"missing in {dropped:,} of {counted.n_rows:,} rows; {way}"
        elif n == counted.n_rows and not dropped:
            if roles.is_asked_for(name):
                raise LogError(f"{opened.place}: context column {name!r} is missing in every row; leave it out")
            found[name] = "missing in every row"
    return found


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
    seen: _Seen,
    schema: Schema,
    repeats: Repeats,
    gaps: Gaps,
    more: Sequence[str],
    decide_on: tuple[str, ...],
) -> Reading:
    roles, counted = seen.roles, seen.counted
    notes = [*opened.notes, *more, *same_but_for_writing(seen.names)]
    if schema[roles.outcome].is_boolean():
        notes.append("the outcome is true or false: read as 1 and 0")
    elif not schema[roles.outcome].is_numeric():
        notes.append("the outcome is text that is all numbers: read as numbers")
    notes += [
        f"{name} has more than {MOST_CATEGORIES} values: the most common are categories, the rest is {OTHER!r}"
        for name, labels in seen.labels.items()
        if labels.has_others
    ]
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
        counts={**opened.counts, **counted.faults, **gaps.counts(), **repeats.counts},
        filled=gaps.rows,
        notes=tuple(notes),
    )
