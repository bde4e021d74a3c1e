"""read_log and scan_log: from whatever the past was kept in to a log."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_
from typing import Any, Literal

from headstart.checks import check_whole
from headstart.errors import HeadstartError, LogError
from headstart.logs.log import Log
from headstart.logs.tables import cleaning
from headstart.logs.tables.canonical import as_chance, as_number, canonical_table
from headstart.logs.tables.cleaning import Counted, Reading
from headstart.logs.tables.columns import Asked, Roles, check_column, find_roles
from headstart.logs.tables.connection import Settings, is_embedded, is_ours, log_errors
from headstart.logs.tables.duplicates import OUT_OF_ORDER, Repeats, find_repeats, keep_first
from headstart.logs.tables.labels import as_encoding, label_columns, read_labels, too_varied
from headstart.logs.tables.places import find_first
from headstart.logs.tables.sources import open_source
from headstart.logs.tables.sources.opened import Opened
from headstart.logs.tables.table import LogTable

MAX_ROWS = 20_000_000
_MOSTLY_MISSING = 0.5  # a context that nobody asked for is not worth more than this share of the rows


def scan_log(
    source: Any,
    *,
    action: str | None = None,
    outcome: str | None = None,
    contexts: Sequence[str] | None = None,
    propensity: str | Literal[False] | None = None,
    confounders: Sequence[str] | None = None,
    timestamp: str | Literal[False] | None = None,
    id: str | Literal[False] | None = None,
    action_names: Sequence[Hashable] | None = None,
    where: Mapping[str, Any] | None = None,
    format: str | None = None,
    missing: Literal["drop", "error"] = "drop",
    memory_limit: str = "256MB",
    threads: int | None = None,
) -> LogTable:
    """A log of any size, where it lies: checked in two passes, never loaded.

    Parameters
    ----------
    source
        A path, a folder, a pattern or a list of paths (CSV, TSV, Parquet, JSON lines, Vowpal Wabbit text, dsjson;
        also .gz and .zst), a pandas or polars frame, an Arrow table, a mapping of columns, an Ibis table of any
        backend, or a Spark frame. The Open Bandit Dataset and headstart's own decision log are recognised by
        their columns.
    action, outcome, propensity, timestamp, id
        The columns. One that is not given is recognised by a name in common use (`reward`, `pscore`, `arm`, ...); if
        two could be meant, that is an error. False for the last three means that there is none.
    contexts
        The columns to decide on. None: every other column of numbers, truth values or few categories that is no
        identifier by its name; an empty list: none.
    confounders
        Columns that must be adjusted for but may not be decided on. The log's contexts are both; `reading.decide_on`
        names the first, for `WarmStart(..., decide_on=log.reading.decide_on)`.
    action_names
        The full set of actions, in order; a row with another is an error.
    where
        Column -> value: only rows with these values are read.
    format
        Only needed where the name does not tell: "csv", "parquet", "vw", ...
    missing
        What to do with rows that cannot be used: "drop" counts them in `reading`, "error" raises at the first.
    memory_limit, threads
        Of the embedded DuckDB.
    """
    asked = Asked(
        action=action,
        outcome=outcome,
        propensity=propensity,
        timestamp=timestamp,
        id=id,
        contexts=None if contexts is None else _names("contexts", contexts),
        confounders=() if confounders is None else _names("confounders", confounders),
        action_names=None if action_names is None else tuple(action_names),
        where=dict(where or {}),
        missing=missing,
    )
    opened = open_source(source, format, Settings(memory_limit, threads))
    with log_errors(opened.place):
        try:
            return _scan(opened, asked)
        except Exception as error:
            if isinstance(error, HeadstartError) or is_ours(error) or opened.widen is None:
                raise
        opened = opened.widen()  # a value that the first rows did not lead to expect: look at every row
        try:
            return _scan(opened, asked)
        except Exception as error:
            if isinstance(error, HeadstartError) or is_ours(error) or opened.explain is None:
                raise
            raise opened.explain(error) from error


def read_log(
    source: Any,
    *,
    action: str | None = None,
    outcome: str | None = None,
    contexts: Sequence[str] | None = None,
    propensity: str | Literal[False] | None = None,
    confounders: Sequence[str] | None = None,
    timestamp: str | Literal[False] | None = None,
    id: str | Literal[False] | None = None,
    action_names: Sequence[Hashable] | None = None,
    where: Mapping[str, Any] | None = None,
    format: str | None = None,
    missing: Literal["drop", "error"] = "drop",
    memory_limit: str = "256MB",
    threads: int | None = None,
    max_rows: int = MAX_ROWS,
) -> Log:
    """The log in memory, with `log.reading` saying what was recognised and dropped. Takes what `scan_log` takes.

    Rows come in the order of the source, or of their times where a time is known. More than `max_rows` are refused:
    `scan_log` works on them without loading any.
    """
    max_rows = check_whole("max_rows", max_rows)
    table = scan_log(
        source,
        action=action,
        outcome=outcome,
        contexts=contexts,
        propensity=propensity,
        confounders=confounders,
        timestamp=timestamp,
        id=id,
        action_names=action_names,
        where=where,
        format=format,
        missing=missing,
        memory_limit=memory_limit,
        threads=threads,
    )
    n_kept = table.reading.n_kept
    if n_kept > max_rows:
        raise LogError(
            f"{table.reading.source}: {n_kept:,} rows are more than max_rows={max_rows:,}; scan_log(...) takes the "
            "same arguments and works on them where they are, or give max_rows="
        )
    with log_errors(table.reading.source):
        return _in_order_of_time(table).to_log().with_reading(table.reading)


def _scan(opened: Opened, asked: Asked) -> LogTable:
    opened = _narrow(opened, asked)
    rows = opened.table if opened.keeps is None else opened.table.filter(opened.keeps(opened.table))
    schema = dict(rows.schema().items())
    roles = _readable(rows, opened, asked, find_roles(schema, asked, opened.roles, opened.contexts))
    while True:  # once, unless a column turns out not to be a context
        faults = cleaning.list_faults(schema, roles)
        counted = cleaning.count_faults(rows, faults, label_columns(schema, roles))
        if not counted.n_rows:
            which = " with these values" if asked.where else ""
            raise LogError(f"{opened.place}: there are columns but no rows{which}")
        left_out = too_varied(rows, roles, asked, counted, opened.place) | _mostly_missing(roles, counted)
        if not left_out:
            cleaning.check_faults(opened, asked, roles, faults, counted)
            kept = rows.filter(~cleaning.as_any(faults)(rows)) if counted.n_unusable else rows
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

    def keeps(table: Any) -> Any:
        return reduce(and_, (table[name] == value for name, value in asked.where.items()))

    return replace(opened, keeps=keeps)


def _readable(rows: Any, opened: Opened, asked: Asked, roles: Roles) -> Roles:
    """Roles whose column can be read as what it is to be; a time that was only guessed is given up."""
    faults = cleaning.unreadable(dict(rows.schema().items()), roles)
    if not faults:
        return roles
    counted = cleaning.count_faults(rows, faults, [])
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
    rows: Any, opened: Opened, roles: Roles, names: Sequence[Hashable]
) -> tuple[Callable[[Any, Hashable], Any] | None, tuple[str, ...]]:
    """The probabilities of all actions, if they are ones: they sum to 1 and agree with the propensity."""
    chance_of = opened.chance_of
    if chance_of is None or not roles.propensity or roles.columns["action"] != opened.roles.get("action"):
        return None, ()
    chances = [as_chance(rows, chance_of, name) for name in names]
    total = sum(chances[1:], start=chances[0])
    taken = rows[roles.action].cases(*zip(names, chances, strict=True))
    wrong = ((total - 1.0).abs() > 1e-6) | ((taken - as_number(rows[roles.propensity])).abs() > 1e-6)
    n = int(rows.aggregate(n=wrong.sum()).to_pyarrow()["n"][0].as_py() or 0)
    if n:
        what = "the probabilities do not sum to 1 or disagree with the propensity"
        return None, (f"in {n:,} rows {what}: only the latter is read",)
    return chance_of, ()


def _as_reading(
    opened: Opened,
    asked: Asked,
    roles: Roles,
    schema: Mapping[str, Any],
    counted: Counted,
    repeats: Repeats,
    decide_on: tuple[str, ...],
    more: tuple[str, ...],
) -> Reading:
    notes = [*opened.notes, *more, *repeats.notes]
    if schema[roles.columns["outcome"]].is_boolean():
        notes.append("the outcome is true or false: read as 1 and 0")
    elif not schema[roles.columns["outcome"]].is_numeric():
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


def _in_order_of_time(table: LogTable) -> LogTable:
    """The same log with its rows in the order of their times, where they are not in it already."""
    import ibis

    if "time" not in table.table.columns:
        return table
    if is_embedded(table.table):
        if OUT_OF_ORDER not in table.reading.counts:
            return table
        ordered = table.table.mutate(place=ibis.row_number()).order_by("time", "place").drop("place")
    else:
        ordered = table.table.order_by("time")
    return LogTable(ordered, encoding=table.encoding, action_names=table.action_names, reading=table.reading)


def _names(what: str, names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise LogError(f"{what} must be a list of column names, got the text {names!r}: write [{names!r}]")
    return tuple(names)
