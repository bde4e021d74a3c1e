"""Ibis tables of any backend: the rows stay where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headstart.logs.tables.connection import DatabaseLimits
from headstart.logs.tables.sources.opened import Opened, SourceKind

if TYPE_CHECKING:
    import ibis.expr.types as ir


def open_ibis(table: ir.Table, settings: DatabaseLimits) -> Opened:
    """The table itself; its backend does the work, within its own limits."""
    backend = table.get_backend().name
    return Opened(table, f"Ibis table on {backend}", f"the Ibis table on {backend}")


def _is_ibis(thing: object) -> bool:
    if not type(thing).__module__.startswith("ibis."):
        return False  # without importing it
    import ibis

    return isinstance(thing, ibis.Table)


SOURCES = (SourceKind("ibis", _is_ibis, open_ibis),)
