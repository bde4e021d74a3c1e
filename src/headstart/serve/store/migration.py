"""A store on PostgreSQL brought up to the present schema. It takes as long as it takes, once, at the start."""

from __future__ import annotations

import secrets
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import orjson

from headstart.serve.store import schema
from headstart.serve.store.chain import GENESIS, in_pages, link_rows
from headstart.serve.store.connections import in_dialect
from headstart.serve.store.events import Row
from headstart.serve.store.store import Query

if TYPE_CHECKING:
    from psycopg import Connection

_LOCK = "SELECT pg_advisory_xact_lock(%s, hashtext(current_schema()))"  # a schema is a store of its own
_NAME = 0x68656165  # advisory locks are numbers
_NO_DEADLINES = """
SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0"""
_PAGE = 5_000  # rows moved at a time
# One JSON text, because psycopg takes longer to quote arrays of bodies than everything else in a turn together.
INSERT_EVENTS = """
INSERT INTO events (sequence, experiment, kind, event_id, time, about, body, hash)
SELECT (r ->> 0)::bigint, r ->> 1, r ->> 2, r ->> 3, (r ->> 4)::bigint, (r ->> 5)::bigint, r ->> 6, r ->> 7
FROM jsonb_array_elements(%s::jsonb) r"""


def find_version(query: Query) -> int:
    """The schema's version; 0 where there is no store yet."""
    if query("SELECT to_regclass('schema_version')")[0][0] is None:
        return 0
    return schema.check_version(query("SELECT max(version) FROM schema_version")[0][0] or 0, "the store")


def migrate(connection: Connection[Row]) -> None:
    """Every step that is missing, in one transaction; other processes that start wait for it."""
    with connection.transaction():
        connection.execute(_NO_DEADLINES)
        connection.execute(_LOCK, (_NAME,))
        connection.execute(schema.VERSIONS)
        found = connection.execute("SELECT max(version) FROM schema_version").fetchone()
        version = 0 if found is None else found[0] or 0
        for number, step in enumerate(schema.POSTGRES[version:], start=version + 1):
            for statement in step.before:
                connection.execute(statement)
            if step.links_events:
                connection.execute(in_dialect(schema.INSERT_IDENTITY), (secrets.token_hex(8),))
                _link_old_events(connection)
            for statement in step.after:
                connection.execute(statement)
            connection.execute("INSERT INTO schema_version VALUES (%s)", (number,))


def _link_old_events(connection: Connection[Row]) -> None:
    """Every event of an earlier version into its experiment's chain."""
    with connection.cursor(name="old_events") as old:
        old.itersize = _PAGE
        for _, rows in groupby(old.execute(schema.READ_OLD), key=itemgetter(1)):
            for page in in_pages(link_rows(GENESIS, rows), _PAGE):
                connection.execute(INSERT_EVENTS, (as_json(page),))


def as_json(rows: list[Row]) -> str:
    """Rows as INSERT_EVENTS takes them."""
    return orjson.dumps(rows).decode()
