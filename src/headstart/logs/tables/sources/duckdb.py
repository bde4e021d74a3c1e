"""Tables of a DuckDB file, and queries to one: read where they lie, in bounded memory."""

from __future__ import annotations

from headstart.logs.tables.connection import DatabaseLimits, as_expression, as_view, connect_duckdb
from headstart.logs.tables.sources.databases import Database, is_database
from headstart.logs.tables.sources.opened import Opened, SourceKind

_TABLES = """
SELECT schema_name, table_name AS name FROM duckdb_tables() WHERE database_name = ?1 AND NOT internal
UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = ?1 AND NOT internal ORDER BY 1, 2
"""
_COLUMNS = """
SELECT column_name, data_type FROM duckdb_columns()
WHERE database_name = ? AND schema_name = ? AND table_name = ? ORDER BY column_index
"""
_NAME = "headstart_source"


def open_duckdb(database: Database, settings: DatabaseLimits) -> Opened:
    """The table, or what the query gives. The file is attached to a database of our own, and only read."""
    backend = connect_duckdb(settings)
    backend.con.execute(f"ATTACH ? AS {_NAME} (READ_ONLY)", [database.address])
    if database.query is not None:
        backend.con.execute(f"USE {_NAME}")
        return Opened(as_view(backend, database.query), "DuckDB query", database.place)
    schema, name = database.choose(backend.con.execute(_TABLES, [_NAME]).fetchall(), "main")
    described = backend.con.execute(_COLUMNS, [_NAME, schema, name]).fetchall()
    table = as_expression(backend, name, described, catalog=_NAME, schema=schema)
    return Opened(table, "DuckDB table", database.place)


SOURCES = (SourceKind("duckdb", is_database("duckdb"), open_duckdb),)
