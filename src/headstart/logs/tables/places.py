"""Where a fault first stands: the file and the line, or the row, and the value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headstart.logs.tables.connection import is_embedded
from headstart.logs.tables.sources.opened import Opened

_ROW = "headstart row"


def find_first(opened: Opened, column: str, is_wrong: Callable[[Any], Any]) -> tuple[str, Any]:
    """(place in words, value) of the first row for which `is_wrong(table)` holds. Rows are counted from 0."""
    keeps = opened.keeps

    def is_sought(table: Any) -> Any:
        return is_wrong(table) if keeps is None else is_wrong(table) & keeps(table)

    if not is_embedded(opened.table):  # its rows have no order
        found = _first(opened.table, column, is_sought, [])
        return opened.place, found.get(column) if found else None
    if opened.reopen is not None:
        for path in opened.files:
            found = _first(opened.reopen(path), column, is_sought, [])
            if found is not None:
                row = found[_ROW]
                line = opened.line_of(path, row) if opened.line_of else None
                return f"{path}, row {row}" if line is None else f"{path}, line {line}", found[column]
    extra = [opened.line_column] if opened.line_column else []
    found = _first(opened.table, column, is_sought, extra)
    if found is None:
        return opened.place, None
    where = f"line {found[opened.line_column]}" if opened.line_column else f"row {found[_ROW]}"
    return f"{opened.place}, {where}", found[column]


def _first(table: Any, column: str, is_wrong: Callable[[Any], Any], extra: list[str]) -> dict[str, Any] | None:
    import ibis

    if is_embedded(table):
        table = table.mutate(**{_ROW: ibis.row_number()})
        extra = [*extra, _ROW]
    rows = table.filter(is_wrong(table)).select(column, *(name for name in extra if name != column)).limit(1)
    found = rows.to_pyarrow().to_pylist()
    return found[0] if found else None
