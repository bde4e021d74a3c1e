"""Objects in a column (JSON, Parquet structs) as columns of their own: `user` with `age` becomes `user.age`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from headstart.logs.tables.sources.opened import Opened

if TYPE_CHECKING:
    import ibis.expr.types as ir


def unnest(opened: Opened) -> Opened:
    """The same table without structs."""
    table = opened.table
    if not any(kind.is_struct() for kind in table.schema().values()):
        return opened
    columns = {path: part for name in table.columns for path, part in _parts(name, table[name])}
    return replace(opened, table=table.select(**columns))


def _parts(path: str, column: ir.Column) -> Iterator[tuple[str, ir.Column]]:
    if not column.type().is_struct():
        yield path, column
        return
    for name in column.type().names:
        yield from _parts(f"{path}.{name}", column[name])
