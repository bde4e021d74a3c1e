"""Ibis tables of any backend: the rows stay where they are."""

from __future__ import annotations

from typing import Any

from headstart.logs.tables.connection import Settings
from headstart.logs.tables.sources.opened import Opened, Source


def open_ibis(table: Any, settings: Settings) -> Opened:
    """The table itself; its backend does the work, within its own limits."""
    backend = table.get_backend().name
    return Opened(table, f"Ibis table on {backend}", f"the Ibis table on {backend}")


def _is_ibis(thing: Any) -> bool:
    return type(thing).__module__.startswith("ibis.") and hasattr(thing, "get_backend") and hasattr(thing, "schema")


SOURCES = (Source("ibis", _is_ibis, open_ibis),)
