"""The shared store: PostgreSQL, for several servers at once.

Sequence numbers of PostgreSQL's own follow the order in which they are drawn, not that of commits: a reader could see
number 8 and never 7, which commits later. Here a writer locks the one row of `head` first, numbers its events from it
and lets go of it with its commit. So numbers have no gaps, follow the commits, and whatever is visible is a beginning
of the log without holes: a replica may fold it as it reads it. Writers wait for each other, a commit at a time; under
load the groups become larger instead.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from headstart.errors import MissingExtraError
from headstart.serve.errors import StoreCorrupt, StoreUnavailable
from headstart.serve.store import schema
from headstart.serve.store.events import Event, read_body, write_body
from headstart.serve.store.store import Found, Head, Ids, Known, Row

if TYPE_CHECKING:
    from psycopg import Connection

_FOLDER = 0x68656164  # advisory locks are numbers: "head"
_MIGRATION = _FOLDER + 1
_SETTINGS = (
    "SET synchronous_commit = on",
    "SET lock_timeout = '10s'",
    "SET idle_in_transaction_session_timeout = '15s'",  # a replica that hangs in its turn does not stop the others
)
_TAKE_FOLDER = "SELECT pg_try_advisory_lock(%s, hashtext(current_schema()))"  # a schema is a store of its own
_FIND = """
SELECT e.experiment, e.event_id, e.kind, e.sequence, e.time, e.body
FROM unnest(%s::text[], %s::text[]) AS ids (experiment, event_id) JOIN events e USING (experiment, event_id)"""
_INSERT = """
INSERT INTO events (sequence, experiment, kind, event_id, time, about, body)
SELECT * FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::text[])"""


class _Readers(threading.local):
    """A connection of each thread's own."""

    connection: Connection[Row] | None = None


class PostgresStore:
    """Events in a database that several processes write to.

    `connection_class` is the seam through which tests make writes fail.
    """

    def __init__(self, address: str, connection_class: type[Connection[Row]] | None = None) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("psycopg", "postgres") from None
        self._psycopg = psycopg
        self._connection_class = connection_class or psycopg.Connection
        self._address = address
        self._writer: Connection[Row] | None = None
        self._folder: Connection[Row] | None = None
        self._has_lock = False
        self._readers = _Readers()
        self._opened: list[Connection[Row]] = []
        self._lock = threading.Lock()
        with self._translated():
            self._migrate()

    def _connect(self) -> Connection[Row]:
        connection = self._connection_class.connect(self._address, autocommit=True, connect_timeout=10)
        try:
            for statement in _SETTINGS:
                connection.execute(statement)
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self) -> None:
        with self._connect() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(current_schema()))", (_MIGRATION,))
            connection.execute(schema.VERSIONS)
            version = _one(connection, "SELECT max(version) FROM schema_version")[0] or 0
            if version > len(schema.POSTGRES):
                raise StoreCorrupt(f"the store has schema version {version}: a newer headstart wrote it")
            for number, statements in enumerate(schema.POSTGRES[version:], start=version + 1):
                for statement in statements:
                    connection.execute(statement)
                connection.execute("INSERT INTO schema_version VALUES (%s)", (number,))

    @contextmanager
    def writing(self) -> Iterator[_Turn]:
        """A turn of writing. After a failure the connection is thrown away: what it thinks is no longer known."""
        with self._translated():
            try:
                turn = self._begin()
                yield turn
                turn.connection.execute("COMMIT")
            except BaseException:
                self._drop_writer()
                raise

    def _begin(self) -> _Turn:
        for is_last in (False, True):
            is_fresh = self._writer is None
            try:
                writer = self._writer = self._writer or self._connect()
                writer.execute("BEGIN")
                return _Turn(writer)
            except self._psycopg.OperationalError:
                self._drop_writer()
                if is_fresh or is_last:  # an old connection may have died in its sleep: nothing was lost with it
                    raise
        raise AssertionError("unreachable")

    def _drop_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()  # the server rolls back

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self._psycopg.errors.UniqueViolation as error:
            raise StoreCorrupt(f"PostgreSQL: {error}") from error
        except self._psycopg.Error as error:
            raise StoreUnavailable(f"PostgreSQL: {error}") from error

    def query(self, statement: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        """Rows, read on a connection of the calling thread's own."""
        with self._translated():
            reader = self._readers.connection
            if reader is not None:
                try:
                    return list(reader.execute(_dialect(statement), parameters).fetchall())
                except self._psycopg.OperationalError:
                    reader.close()
                    self._readers.connection = None
            reader = self._readers.connection = self._connect()
            with self._lock:
                self._opened.append(reader)
            return list(reader.execute(_dialect(statement), parameters).fetchall())

    def save_snapshot(self, experiment: str, sequence: int, body: bytes) -> None:
        """Keep a snapshot and forget all older ones but the last."""
        with self.writing() as turn:
            turn.connection.execute(
                "INSERT INTO snapshots VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
                (experiment, sequence, body.decode()),
            )
            turn.connection.execute(
                "DELETE FROM snapshots WHERE experiment = %s AND sequence NOT IN "
                "(SELECT sequence FROM snapshots WHERE experiment = %s ORDER BY sequence DESC LIMIT 2)",
                (experiment, experiment),
            )

    def is_folder(self) -> bool:
        """Whether this process holds the folder's lock; it takes it if nobody has it."""
        with self._lock:
            try:
                if self._folder is None:
                    self._folder = self._connect()
                    self._has_lock = False
                if self._has_lock:
                    self._folder.execute("SELECT 1")
                else:
                    self._has_lock = bool(_one(self._folder, _TAKE_FOLDER, (_FOLDER,))[0])
                return self._has_lock
            except self._psycopg.Error:  # the lock went with the connection
                if self._folder is not None:
                    self._folder.close()
                self._folder = None
                return False

    def close(self) -> None:
        """Close every connection; the folder's lock is free again."""
        with self._lock:
            opened, self._opened = [*self._opened, self._folder], []
            self._folder = None
        for connection in opened:
            if connection is not None:
                connection.close()
        self._drop_writer()


@lru_cache
def _dialect(statement: str) -> str:
    return statement.replace("?", "%s")


def _one(connection: Connection[Row], statement: str, parameters: tuple[object, ...] = ()) -> Row:
    """The row of a question that always has one."""
    row = connection.execute(statement, parameters).fetchone()
    assert row is not None
    return row


class _Turn:
    def __init__(self, connection: Connection[Row]) -> None:
        self.connection = connection
        self.head = Head(*_one(connection, "SELECT sequence, time FROM head FOR UPDATE"))

    def find(self, ids: Ids) -> Found:
        """What is known under these event ids."""
        wanted = list(ids)
        found: Found = {}
        if wanted:
            experiments, event_ids = [list(column) for column in zip(*wanted, strict=True)]
            for experiment, event_id, kind, sequence, time, body in self.connection.execute(
                _FIND, (experiments, event_ids)
            ):
                known = Known(sequence, time, read_body(body))
                found.setdefault((experiment, event_id), {})[kind] = known
        return found

    def query(self, statement: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        """Rows, as seen in this turn."""
        return list(self.connection.execute(_dialect(statement), parameters).fetchall())

    def insert(self, events: list[Event]) -> None:
        """Append events and move the head."""
        rows = [(*event[:6], write_body(event.body)) for event in events]
        self.connection.execute(_INSERT, tuple(list(column) for column in zip(*rows, strict=True)))
        self.connection.execute("UPDATE head SET sequence = %s, time = %s", (events[-1].sequence, events[-1].time))
