"""Tables of a PostgreSQL, and queries to one: the server does the work, and its answers come back."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from headstart.addresses import mask_secrets
from headstart.errors import LogError
from headstart.extras import brought_by
from headstart.logs.tables.connection import DatabaseLimits, in_words
from headstart.logs.tables.sources.databases import Database, is_database
from headstart.logs.tables.sources.opened import Opened, SourceKind

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from ibis.backends.postgres import Backend

_TABLES = """
SELECT table_schema, table_name FROM information_schema.tables
WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2
"""
_PATIENCE = 10  # seconds to connect


def open_postgres(database: Database, settings: DatabaseLimits) -> Opened:
    """The table, or what the query gives, over a session that only reads."""
    with brought_by("databases"):
        backend = _connect(database.address)
    if database.query is not None:
        return Opened(_ask(backend, database.query), "PostgreSQL query", database.place)
    (own,) = backend.con.execute("SELECT current_schema()").fetchone()
    schema, name = database.choose(backend.con.execute(_TABLES).fetchall(), own)
    return Opened(backend.table(name, database=schema), "PostgreSQL table", database.place)


def _connect(address: str) -> Backend:
    import ibis
    import pandas  # noqa: F401  # what Ibis brings the answers in
    import psycopg

    try:
        connection = psycopg.connect(address, autocommit=True, connect_timeout=_PATIENCE)
    except psycopg.Error as error:
        raise LogError(f"{mask_secrets(address)}: {mask_secrets(in_words(error), address)}") from None
    connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
    backend = ibis.postgres.from_connection(connection)
    weakref.finalize(backend, connection.close)
    return backend


def _ask(backend: Backend, query: str) -> ir.Table:
    """The query as a lazy table. Its types come from an empty answer: Ibis would write a view, and we only read."""
    from ibis.expr.schema import Schema

    query = query.strip().rstrip(";")
    described = backend.con.execute(f"SELECT * FROM ({query}) AS asked LIMIT 0").description or []
    kinds = [
        backend.con.execute("SELECT format_type(%s, NULL)", (column.type_code,)).fetchone()[0] for column in described
    ]
    mapper = backend.compiler.type_mapper
    schema = Schema({column.name: mapper.from_string(kind) for column, kind in zip(described, kinds, strict=True)})
    return backend.sql(query, schema=schema)


SOURCES = (SourceKind("postgres", is_database("postgres"), open_postgres),)
