"""AnyLog: a log wherever its rows are. What both kinds answer (sums, counts, samples) is asked for alike."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

from headstart.logs.log import Log
from headstart.logs.tables.table import LogTable

AnyLog: TypeAlias = Log | LogTable
OUTCOME = "outcome"  # what one is called that nobody named
SameLog = TypeVar("SameLog", Log, LogTable)  # a function that gives back the kind of log it was given


def outcome_name(log: AnyLog) -> str:
    """What the log's outcome is called: its column, where it was read from a table."""
    return OUTCOME if log.reading is None else log.reading.columns.get("outcome", OUTCOME)
