"""Completeness: how much of the source the log is, and how much of it was filled in.

Rows that are left out because a value is missing are seldom missing by chance; a context that was filled in adjusts
for less than it should.
"""

from __future__ import annotations

from dataclasses import dataclass

from headstart.logs.reading import Reading
from headstart.logs.tables.duplicates import SAME_ID


@dataclass(frozen=True)
class CompletenessFinding:
    """Shares of the source's rows, rows of a repeated id aside."""

    n_rows: int  # of the source
    dropped_share: float
    filled: tuple[tuple[str, float], ...]  # column, share of rows in which it was missing; most first
    unread: tuple[str, ...]  # columns of text of too many values, which nothing adjusts for


def describe_completeness(reading: Reading | None) -> CompletenessFinding | None:
    """None for a log that was not read from a source."""
    if reading is None:
        return None
    n = reading.n_rows - reading.counts.get(SAME_ID, 0)
    filled = sorted(((name, rows / max(n, 1)) for name, rows in reading.filled.items()), key=lambda each: -each[1])
    unread = tuple(name for name, why in reading.left_out.items() if why.startswith("text with "))
    return CompletenessFinding(reading.n_rows, 1.0 - reading.n_kept / max(n, 1), tuple(filled), unread)
