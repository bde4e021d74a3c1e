"""Rows that come twice and rows out of order: what can be counted in bounded memory, and what is done about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headstart.logs.tables.canonical import as_time
from headstart.logs.tables.columns import Roles
from headstart.logs.tables.connection import is_embedded
from headstart.logs.tables.faults import Counted

if TYPE_CHECKING:
    import ibis.expr.types as ir

OUT_OF_ORDER = "earlier than the row before; read_log puts them in order"
SAME_ID = "an id that came before, dropped"
SAME_ROW = "equal to another row in every column, and kept"
_MOST_IDS = 20_000_000  # counting ids exactly takes a scan for every so many of them:
_IDS_AT_ONCE = 2_000_000  # about 100 MB
_MOST_ROWS = 200_000  # comparing whole rows is only cheap for few


@dataclass(frozen=True)
class Repeats:
    """What was counted."""

    n_ids: int = 0  # rows to drop
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def find_repeats(rows: ir.Table, kept: ir.Table, roles: Roles, counted: Counted) -> Repeats:
    """Ids that come again, equal rows, and times out of order."""
    counts: dict[str, int] = {}
    notes: list[str] = []
    n_ids = 0
    if roles.id and counted.n_rows <= _MOST_IDS:
        n_ids = count_repeated(kept, roles.id, counted.n_rows)
        counts |= {SAME_ID: n_ids} if n_ids else {}
    elif roles.id:
        notes.append(f"ids that come twice were not looked for: more than {_MOST_IDS:,} rows")
    elif counted.n_rows <= _MOST_ROWS and is_embedded(rows):
        n_equal = counted.n_rows - int(rows.distinct().count().to_pyarrow().as_py())
        counts |= {SAME_ROW: n_equal} if n_equal else {}
    else:
        notes.append("equal rows were not looked for")
    if roles.timestamp and is_embedded(rows):
        late = count_out_of_order(kept, roles.timestamp)
        counts |= {OUT_OF_ORDER: late} if late else {}
    elif roles.timestamp:
        notes.append("the table has no order of its own: read_log puts its rows in the order of their times")
    return Repeats(n_ids, counts, tuple(notes))


def count_repeated(rows: ir.Table, column: str, n_rows: int) -> int:
    """Rows whose id another row has before them. Dealt into parts by their hash, so that memory is bounded."""
    n_parts = -(-n_rows // _IDS_AT_ONCE) if is_embedded(rows) else 1
    repeated = 0
    for part in range(n_parts):
        ids = rows.select(id=rows[column])
        if n_parts > 1:
            ids = ids.filter((ids.id.hash() % n_parts).isin((part, part - n_parts)))  # a hash may be negative
        found = ids.aggregate(n=ids.id.count(), distinct=ids.id.nunique()).to_pyarrow().to_pylist()[0]
        repeated += int(found["n"]) - int(found["distinct"])
    return repeated


def count_out_of_order(rows: ir.Table, column: str) -> int:
    """Rows whose time is earlier than that of the row before, in the order of the source."""
    times = rows.select(time=as_time(rows[column]))
    steps = times.mutate(before=times.time.lag())
    return int(steps.aggregate(n=(steps.time < steps.before).sum()).to_pyarrow()["n"][0].as_py() or 0)


def keep_first(rows: ir.Table, roles: Roles) -> ir.Table:
    """The first row of each id, in the order of the source where it has one; rows without an id stay."""
    import ibis

    numbered = rows.mutate(headstart_place=ibis.row_number()) if is_embedded(rows) else rows
    order = [name for name in ("headstart_place", roles.timestamp, roles.id) if name in numbered.columns]
    turn = ibis.row_number().over(group_by=roles.id, order_by=order)
    first = numbered.mutate(headstart_turn=turn)
    first = first.filter((first.headstart_turn == 0) | first[roles.id].isnull())
    if is_embedded(rows):
        first = first.order_by("headstart_place")
    return first.drop(*(name for name in ("headstart_place", "headstart_turn") if name in first.columns))
