"""Where a fault first stands: the file and the line, or the row, and the value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headstart.logs.tables.connection import is_embedded
from headstart.logs.tables.expressions import Predicate
from headstart.logs.tables.sources.opened import Opened

if TYPE_CHECKING:
    import ibis.expr.types as ir

_ROW = "headstart row"


def find_first(opened: Opened, column: str, is_wrong: Predicate) -> tuple[str, object]:
    """(place in words, value) of the first row for which `is_wrong(table)` holds. Rows are counted from 0."""
    keeps = opened.keeps

    def is_sought(table: ir.Table) -> ir.BooleanColumn:
        return is_wrong(table) if keeps is None else is_wrong(table) & keeps(table)

    if not is_embedded(opened.table):  # its rows have no order
        found = _first(opened.table, column, is_sought)
        return opened.place, found.value if found else None
    if opened.reopen is not None:
        for path in opened.files:
            found = _first(opened.reopen(path), column, is_sought)
            if found is not None and found.row is not None:
                line = opened.line_of(path, found.row) if opened.line_of else None
                return f"{path}, row {found.row}" if line is None else f"{path}, line {line}", found.value
    found = _first(opened.table, column, is_sought, opened.line_column)
    if found is None:
        return opened.place, None
    where = f"row {found.row}" if found.line is None else f"line {found.line}"
    return f"{opened.place}, {where}", found.value


@dataclass(frozen=True)
class _Found:
    value: object
    row: int | None  # counted from 0, where rows have an order
    line: int | None  # where the source wrote it down


def _first(table: ir.Table, column: str, is_wrong: Predicate, line_column: str | None = None) -> _Found | None:
    import ibis

    extra = [line_column] if line_column else []

    if is_embedded(table):
        table = table.mutate(**{_ROW: ibis.row_number()})
        extra = [*extra, _ROW]
    rows = table.filter(is_wrong(table)).select(column, *(name for name in extra if name != column)).limit(1)
    found = rows.to_pyarrow().to_pylist()
    if not found:
        return None
    return _Found(found[0][column], found[0].get(_ROW), found[0].get(line_column))
