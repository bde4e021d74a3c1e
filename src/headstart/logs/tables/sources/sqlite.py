"""Tables of a SQLite file, and queries to one: SQLite does the work."""

from __future__ import annotations

import sqlite3
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from headstart.extras import brought_by
from headstart.logs.tables.connection import DatabaseLimits
from headstart.logs.tables.sources.databases import Database, is_database
from headstart.logs.tables.sources.opened import Opened, SourceKind

if TYPE_CHECKING:
    from ibis.backends.sqlite import Backend


def open_sqlite(database: Database, settings: DatabaseLimits) -> Opened:
    """The table, or what the query gives, over a connection that cannot write."""
    with brought_by("databases"):
        backend = _connect(Path(database.address))
    if database.query is not None:
        return Opened(backend.sql(database.query), "SQLite query", database.place)
    _, name = database.choose([("", table) for table in backend.list_tables()])
    return Opened(backend.table(name), "SQLite table", database.place)


def _connect(path: Path) -> Backend:
    import ibis
    import pandas  # noqa: F401  # what Ibis brings the answers in

    uri = f"{path.resolve().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True)
    backend = ibis.sqlite.from_connection(connection)
    weakref.finalize(backend, connection.close)
    return backend


SOURCES = (SourceKind("sqlite", is_database("sqlite"), open_sqlite),)
