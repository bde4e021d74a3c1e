"""read_log and scan_log: from whatever the past was kept in to a log."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Literal

from headstart.checks import check_whole
from headstart.errors import LogError
from headstart.logs.log import Log
from headstart.logs.reading import Reading
from headstart.logs.tables.asked import Asked, Missing
from headstart.logs.tables.connection import DatabaseLimits, is_embedded, log_errors
from headstart.logs.tables.duplicates import OUT_OF_ORDER
from headstart.logs.tables.sources import open_source
from headstart.logs.tables.table import LogTable
from headstart.logs.tables.unscanned import Unscanned

MAX_ROWS = 20_000_000


def scan_log(
    source: object,
    *,
    action: str | None = None,
    outcome: str | None = None,
    contexts: Sequence[str] | None = None,
    propensity: str | Literal[False] | None = None,
    confounders: Sequence[str] | None = None,
    timestamp: str | Literal[False] | None = None,
    id: str | Literal[False] | None = None,
    unit: str | Literal[False] | None = None,
    action_names: Sequence[Hashable] | None = None,
    where: Mapping[str, object] | None = None,
    format: str | None = None,
    query: str | None = None,
    missing: Missing = "fill",
    memory_limit: str = "256MB",
    threads: int | None = None,
) -> LogTable:
    """A log of any size, where it lies: never loaded, and checked when it is first asked for anything.

    Names and types are looked at now. Every row is looked at in the pass that answers the first question, where that
    can be one (sums of a log without faults), or in two before it.

    Parameters
    ----------
    source
        A path, a folder, a pattern or a list of paths (CSV, TSV, Parquet, JSON lines, Vowpal Wabbit, dsjson; also
        .gz and .zst), a database's table (`log.duckdb::clicks`, `log.sqlite::clicks`, `postgresql://me@host/db::clicks`)
        or its address with a `query`, a pandas or polars frame, an Arrow table, a mapping of columns, an Ibis table
        or a Spark frame. The Open Bandit Dataset and headstart's decision log are recognised by their columns.
    action, outcome, propensity, timestamp, id, unit
        The columns. One that is not given is recognised by a name in common use (`reward`, `pscore`, `user_id`, ...);
        False for the last four means that there is none. `id` names a row, `unit` whose it is: rows of one unit are
        not independent.
    contexts, confounders
        The columns to decide on (None: every other one of numbers, truth values or few categories that is no
        identifier), and those to adjust for only. The log's contexts are both; `reading.decide_on` names the first.
    action_names, where
        The full set of actions, in order; and column -> value: only rows with these values are read.
    format, query
        Only needed where the name does not tell: "csv", "parquet", "vw", ...; and what to ask a database.
    missing
        What becomes of a missing context: "fill" puts a number's mean and adds a column that says where, and makes a
        missing category one of its own; "drop" drops the row; "error" raises at the first. See `reading` for counts.
    memory_limit, threads
        Of the embedded DuckDB.

    Returns
    -------
    LogTable
        A log that stays where it is.

    Raises
    ------
    LogError
        If the source cannot be read as a log; file, line and column are named.
    MissingExtraError
        If a database needs a driver that is not installed.

    Examples
    --------
    >>> import headstart as hs
    >>> table = hs.scan_log({"action": ["a", "b", "a"], "reward": [1.0, 0.0, 1.0]})
    >>> table.action_names, len(table)
    (('a', 'b'), 3)
    """
    decided, adjusted = _names("contexts", contexts), _names("confounders", confounders) or ()
    names, kept = None if action_names is None else tuple(action_names), dict(where or {})
    asked = Asked(action, outcome, propensity, timestamp, id, unit, decided, adjusted, names, kept, missing)
    opened = open_source(source, format, DatabaseLimits(memory_limit, threads), query)
    return LogTable.of_source(Unscanned(opened, asked))


def read_log(
    source: object,
    *,
    action: str | None = None,
    outcome: str | None = None,
    contexts: Sequence[str] | None = None,
    propensity: str | Literal[False] | None = None,
    confounders: Sequence[str] | None = None,
    timestamp: str | Literal[False] | None = None,
    id: str | Literal[False] | None = None,
    unit: str | Literal[False] | None = None,
    action_names: Sequence[Hashable] | None = None,
    where: Mapping[str, object] | None = None,
    format: str | None = None,
    query: str | None = None,
    missing: Missing = "fill",
    memory_limit: str = "256MB",
    threads: int | None = None,
    max_rows: int = MAX_ROWS,
) -> Log:
    """The log in memory, with `log.reading` saying what was recognised and dropped.

    Rows come in the order of the source, or of their times where a time is known.

    Parameters
    ----------
    source
        A file, a folder, a pattern, a table of a database (`log.duckdb::clicks`), a data frame, an Arrow table, a
        mapping of columns, an Ibis table or a Spark frame.
    action, outcome, propensity, timestamp, id, unit
        Names of columns. One that is not given is recognised by a name in common use; False for the last four means
        that there is none.
    contexts, confounders
        The columns to decide on (None: every other one that can be), and those to adjust for only.
    action_names, where
        The full set of actions, in order; and column -> value: only rows with these values are read.
    format, query
        Where the name of a file does not tell its kind; and what to ask a database.
    missing
        What becomes of a missing context: "fill", "drop" or "error".
    memory_limit, threads
        Of the embedded DuckDB.
    max_rows
        More rows are refused: `scan_log`, which says more about all of these, works on them without loading any.

    Returns
    -------
    Log
        In memory; `log.reading` says how it was read.

    Raises
    ------
    LogError
        If the source cannot be read as a log, or has more than `max_rows` rows; the place is named.

    Examples
    --------
    >>> import headstart as hs
    >>> log = hs.read_log({"ad": ["a", "b"], "click": [1, 0]}, action="ad", outcome="click")
    >>> len(log), log.action_names
    (2, ('a', 'b'))
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
        unit=unit,
        action_names=action_names,
        where=where,
        format=format,
        query=query,
        missing=missing,
        memory_limit=memory_limit,
        threads=threads,
    )
    reading = table.reading
    assert reading is not None  # of a scan
    if reading.n_kept > max_rows:
        raise LogError(
            f"{reading.source}: {reading.n_kept:,} rows are more than max_rows={max_rows:,}; scan_log(...) takes the "
            "same arguments and works on them where they are, or give max_rows="
        )
    with log_errors(reading.source):
        return _in_order_of_time(table, reading).to_log().with_reading(reading)


def _in_order_of_time(table: LogTable, reading: Reading) -> LogTable:
    """The same log with its rows in the order of their times, where they are not in it already."""
    import ibis

    if "time" not in table.table.columns:
        return table
    if is_embedded(table.table):
        if OUT_OF_ORDER not in reading.counts:
            return table
        ordered = table.table.mutate(place=ibis.row_number()).order_by("time", "place").drop("place")
    else:
        ordered = table.table.order_by("time")
    return LogTable(ordered, encoding=table.encoding, action_names=table.action_names, reading=reading)


def _names(what: str, names: Sequence[str] | None) -> tuple[str, ...] | None:
    if names is None:
        return None
    if isinstance(names, str):
        raise LogError(f"{what} must be a list of column names, got the text {names!r}: write [{names!r}]")
    return tuple(names)
