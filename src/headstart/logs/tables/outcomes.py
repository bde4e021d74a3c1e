"""Outcomes by id, as they came: late ones, repeated ones and contradictions are told apart once, here.

The rules are the service's: the first outcome of an id counts; one that comes again with the same value is a
duplicate, with another value it is conflicting, after the end of the window it is late. None of these is learnt.
"""

from __future__ import annotations

import datetime
import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Integers, Words
from headstart.errors import OutcomeError
from headstart.logs.tables.ids import hash_ids, key_of
from headstart.logs.tables.rows import as_times
from headstart.logs.tables.users import UserTable

if TYPE_CHECKING:
    import pyarrow as pa

_KEYS = key_of("join", "first"), key_of("join", "second")  # 128 bits: no two ids share them


class Window(NamedTuple):
    """When outcomes count: those whose time in `column` is after `until` are late."""

    column: str
    until: float  # seconds since 1970, or the column's own numbers


@dataclass(frozen=True)
class Outcomes:
    """The outcome that counts of each id, in the order of their hashes."""

    first: Words  # (m,) sorted
    second: Words  # (m,)
    values: Floats  # (m,)
    n_late: int
    n_duplicate: int
    n_conflicting: int
    n_empty: int  # rows without a value

    def find(self, ids: pa.Array, place: str, first_row: int) -> Integers:
        """Where the outcome of each id stands, (n,); -1: there is none."""
        one, two = (hash_ids(ids, key, place, first_row) for key in _KEYS)
        at = np.minimum(np.searchsorted(self.first, one), max(self.first.size - 1, 0))
        if not self.first.size:
            return np.full(len(ids), -1)
        return np.where((self.first[at] == one) & (self.second[at] == two), at, -1)


def read_outcomes(table: UserTable, id: str, outcome: str, window: Window | None) -> Outcomes:
    """Read a table of outcomes once; 32 bytes a row stay in memory."""
    columns = [id, outcome, *([window.column] if window is not None else [])]
    table.check_columns(columns, "of the outcomes: id=, outcome= and time= name their columns")
    parts: list[tuple[Words, Words, Floats]] = []
    n_late, n_empty, row = 0, 0, 0
    for rows in table.read(list(dict.fromkeys(columns))):
        values = _as_values(rows.column(outcome), table.place, outcome, row)
        one, two = (hash_ids(rows.column(id), key, table.place, row) for key in _KEYS)
        row += rows.num_rows
        is_empty = np.isnan(values)
        is_late: Bools = np.zeros(values.size, dtype=np.bool_)
        if window is not None:
            is_late = _as_moments(rows.column(window.column), table.place, window.column) > window.until
        n_empty, n_late = n_empty + int(is_empty.sum()), n_late + int((is_late & ~is_empty).sum())
        kept = ~is_empty & ~is_late
        parts.append((one[kept], two[kept], values[kept]))
    return _first_of_each(parts, n_late, n_empty)


def as_deadline(text: str) -> float:
    """The end of a window as it is written: a number, a day or a moment (of UTC, if it says nothing else)."""
    with suppress(ValueError):
        if math.isfinite(float(text)):
            return float(text)
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise OutcomeError(f"until must be a number, a day or a moment like 2026-11-17T12:00, got {text!r}") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()


def _first_of_each(parts: list[tuple[Words, Words, Floats]], n_late: int, n_empty: int) -> Outcomes:
    first, second = (np.concatenate([part[i] for part in parts] or [np.empty(0, np.uint64)]) for i in (0, 1))
    values = np.concatenate([part[2] for part in parts] or [np.empty(0)])
    order = np.lexsort((np.arange(first.size), second, first))  # of one id, the first row first
    first, second, values = first[order], second[order], values[order]
    is_first = np.ones(first.size, dtype=np.bool_)
    is_first[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    leader = np.maximum.accumulate(np.where(is_first, np.arange(first.size), 0))
    is_same = values == values[leader] if first.size else is_first
    return Outcomes(
        first[is_first],
        second[is_first],
        values[is_first],
        n_late,
        n_duplicate=int((~is_first & is_same).sum()),
        n_conflicting=int((~is_first & ~is_same).sum()),
        n_empty=n_empty,
    )


def _as_moments(column: pa.Array, place: str, name: str) -> Floats:
    """The times of outcomes; one without a time is NaN, and never late."""
    import pyarrow as pa

    moments = np.full(len(column), np.nan)
    is_known = column.is_valid().to_numpy(zero_copy_only=False)
    try:
        moments[is_known] = as_times(_read_times(column.drop_null()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise OutcomeError(f"{place}: the column {name!r} must hold the times of outcomes ({error})") from None
    return moments


def _read_times(column: pa.Array) -> pa.Array:
    """Text as moments (of UTC, if it says nothing else), if it is not a number."""
    import pyarrow as pa

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    for kind in (pa.float64(), pa.timestamp("us"), pa.timestamp("us", tz="UTC")):
        with suppress(pa.ArrowInvalid):
            return column.cast(kind)
    return column


def _as_values(column: pa.Array, place: str, name: str, first_row: int) -> Floats:
    import pyarrow as pa

    try:
        numbers = column.cast(pa.float64(), safe=False)  # of a whole number beyond 2^53 the last digits are lost
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        row, strange = next(
            ((row, each) for row, each in enumerate(column.to_pylist()) if not _is_number(each)), (0, column.type)
        )
        raise OutcomeError(
            f"{place}, row {first_row + row + 1:,}: the outcome {name!r} must be a number, got {strange!r}"
        ) from None
    filled = numbers.fill_null(np.nan) if numbers.null_count else numbers
    values = np.array(filled.to_numpy(zero_copy_only=False))
    if np.isinf(values).any():
        row = first_row + int(np.flatnonzero(np.isinf(values))[0]) + 1
        raise OutcomeError(f"{place}, row {row:,}: the outcome {name!r} must be finite")
    return values


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return value is None
    return True
