"""The shared store: PostgreSQL, for several servers at once.

Sequence numbers of PostgreSQL's own follow the order in which they are drawn, not that of commits: a reader could see
number 8 and never 7, which commits later. Here a writer locks its experiment's row of `heads` first, numbers its
events from it and lets go of it with its commit. So numbers have no gaps, follow the commits, and whatever is visible
is a beginning of the log without holes: a replica may fold it as it reads it. Writers to one experiment wait for each
other, a commit at a time; under load the groups become larger instead. Writers to different experiments do not wait.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from headstart.addresses import mask_secrets
from headstart.errors import MissingExtraError
from headstart.serve.errors import StoreCorrupt, StoreUnavailable
from headstart.serve.store import schema
from headstart.serve.store.chain import GENESIS, in_pages, link_events, link_rows
from headstart.serve.store.events import Event, Row, read_body
from headstart.serve.store.store import Found, Head, Ids, Known, Query

if TYPE_CHECKING:
    from psycopg import Connection

_FOLDER = 0x68656164  # advisory locks are numbers: "head"
_MIGRATION = _FOLDER + 1
_SETTINGS = (
    "SET synchronous_commit = on",
    "SET lock_timeout = '10s'",
    "SET idle_in_transaction_session_timeout = '15s'",  # a replica that hangs in its turn does not stop the others
)
_PAGE = 5_000  # rows moved at a time
_TAKE_FOLDER = "SELECT pg_try_advisory_lock(%s, hashtext(current_schema()))"  # a schema is a store of its own
_FIRST_HEAD = "INSERT INTO heads VALUES (%s, 0, 0, '') ON CONFLICT DO NOTHING"
_LOCK_HEAD = """
SELECT h.sequence, h.time, h.hash, i.id, i.epoch FROM heads h, identity i WHERE h.experiment = %s FOR UPDATE OF h"""
_MOVE_HEAD = "UPDATE heads SET sequence = %s, time = %s, hash = %s WHERE experiment = %s"
_FIND = """
SELECT e.event_id, e.kind, e.sequence, e.time, e.body
FROM unnest(%s::text[]) AS ids (event_id) JOIN events e ON e.experiment = %s AND e.event_id = ids.event_id"""
_INSERT = """
INSERT INTO events (sequence, experiment, kind, event_id, time, about, body, hash)
SELECT * FROM unnest(
  %s::bigint[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::text[], %s::text[])"""


class _Readers(threading.local):
    """A connection of each thread's own."""

    connection: Connection[Row] | None = None


class PostgresStore:
    """Events in a database that several processes write to.

    `connection_class` is the seam through which tests make writes fail.
    """

    def __init__(
        self, address: str, connection_class: type[Connection[Row]] | None = None, *, is_read_only: bool = False
    ) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("psycopg", "postgres") from None
        self._psycopg = psycopg
        self._connection_class = connection_class or psycopg.Connection
        self._address = address
        self._writers: dict[str, Connection[Row]] = {}  # one per experiment
        self._folder: Connection[Row] | None = None
        self._has_lock = False
        self._readers = _Readers()
        self._opened: list[Connection[Row]] = []
        self._lock = threading.Lock()
        self._settings = (*_SETTINGS, "SET default_transaction_read_only = on") if is_read_only else _SETTINGS
        with self._translated():
            if is_read_only:
                self._check_current()
            else:
                self._migrate()

    def _connect(self) -> Connection[Row]:
        connection = self._connection_class.connect(self._address, autocommit=True, connect_timeout=10)
        try:
            for statement in self._settings:
                connection.execute(statement)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_current(self) -> None:
        """A store that is only looked at is not brought up to date."""
        with self._connect() as connection:
            if _one(connection, "SELECT to_regclass('schema_version')")[0] is None:
                raise StoreCorrupt("there is no store of headstart in this schema")
            found = _one(connection, "SELECT max(version) FROM schema_version")[0] or 0
            if schema.check_version(found, "the store") < schema.CURRENT:
                raise StoreCorrupt(
                    f"the store has schema version {found}: open it once with this headstart's service"
                )

    def _migrate(self) -> None:
        with self._connect() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(current_schema()))", (_MIGRATION,))
            connection.execute(schema.VERSIONS)
            found = _one(connection, "SELECT max(version) FROM schema_version")[0] or 0
            version = schema.check_version(found, "the store")
            for number, step in enumerate(schema.POSTGRES[version:], start=version + 1):
                for statement in step.before:
                    connection.execute(statement)
                if step.links_events:
                    connection.execute(_dialect(schema.INSERT_IDENTITY), (secrets.token_hex(8),))
                    _link_old_events(connection)
                for statement in step.after:
                    connection.execute(statement)
                connection.execute("INSERT INTO schema_version VALUES (%s)", (number,))

    @contextmanager
    def writing(self, experiment: str) -> Iterator[_Turn]:
        """A turn of writing. After a failure the connection is thrown away: what it thinks is no longer known."""
        with self._translated():
            try:
                writer = self._begin(experiment)
                yield _Turn(writer, experiment)
                writer.execute("COMMIT")
            except BaseException:
                self._drop_writer(experiment)
                raise

    def _begin(self, experiment: str) -> Connection[Row]:
        for is_last in (False, True):
            writer = self._writers.get(experiment)
            is_fresh = writer is None
            try:
                writer = self._writers[experiment] = writer or self._connect()
                writer.execute("BEGIN")
                return writer
            except self._psycopg.OperationalError:
                self._drop_writer(experiment)
                if is_fresh or is_last:  # an old connection may have died in its sleep: nothing was lost with it
                    raise
        raise AssertionError("unreachable")

    def _drop_writer(self, experiment: str) -> None:
        writer = self._writers.pop(experiment, None)
        if writer is not None:
            writer.close()  # the server rolls back

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self._psycopg.errors.UniqueViolation as error:
            raise StoreCorrupt(f"PostgreSQL: {mask_secrets(str(error), self._address)}") from error
        except self._psycopg.Error as error:
            raise StoreUnavailable(f"PostgreSQL: {mask_secrets(str(error), self._address)}") from error

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

    def is_folder(self, experiment: str) -> bool:
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
        for experiment in list(self._writers):
            self._drop_writer(experiment)


@contextmanager
def reading_postgres(address: str) -> Iterator[Query]:
    """How to ask a store that is only looked at: in a session that cannot write."""
    store = PostgresStore(address, is_read_only=True)
    try:
        yield store.query
    finally:
        store.close()


@lru_cache
def _dialect(statement: str) -> str:
    return statement.replace("?", "%s")


def _one(connection: Connection[Row], statement: str, parameters: tuple[object, ...] = ()) -> Row:
    """The row of a question that always has one."""
    row = connection.execute(statement, parameters).fetchone()
    assert row is not None
    return row


def _link_old_events(connection: Connection[Row]) -> None:
    """Every event of an earlier version into its experiment's chain."""
    with connection.cursor(name="old_events") as old:
        old.itersize = _PAGE
        for _, rows in groupby(old.execute(schema.READ_OLD), key=itemgetter(1)):
            for page in in_pages(link_rows(GENESIS, rows), _PAGE):
                _insert(connection, page)


def _insert(connection: Connection[Row], rows: list[Row]) -> None:
    connection.execute(_INSERT, tuple(list(column) for column in zip(*rows, strict=True)))


class _Turn:
    def __init__(self, connection: Connection[Row], experiment: str) -> None:
        self._connection, self._experiment = connection, experiment
        self.head = self._lock()

    def _lock(self) -> Head:
        row = self._connection.execute(_LOCK_HEAD, (self._experiment,)).fetchone()
        if row is None:
            self._connection.execute(_FIRST_HEAD, (self._experiment,))
            row = _one(self._connection, _LOCK_HEAD, (self._experiment,))
        return Head(*row)

    def find(self, ids: Ids) -> Found:
        """What is known under these event ids."""
        wanted = list(ids)
        found: Found = {}
        if wanted:
            for event_id, kind, sequence, time, body in self._connection.execute(_FIND, (wanted, self._experiment)):
                found.setdefault(event_id, {})[kind] = Known(sequence, time, read_body(body))
        return found

    def query(self, statement: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        """Rows, as seen in this turn."""
        return list(self._connection.execute(_dialect(statement), parameters).fetchall())

    def execute(self, statement: str, parameters: tuple[object, ...] = ()) -> None:
        """Carry out a statement."""
        self._connection.execute(_dialect(statement), parameters)

    def insert(self, events: list[Event]) -> list[Event]:
        """Append events and move the head."""
        rows = link_events(self.head.hash, events)
        self.append(rows)
        return [event._replace(hash=row[7]) for event, row in zip(events, rows, strict=True)]

    def append(self, rows: list[Row]) -> None:
        """Append rows with their hashes and move the head."""
        _insert(self._connection, rows)
        sequence, time, hash = rows[-1][0], rows[-1][4], rows[-1][7]
        self._connection.execute(_MOVE_HEAD, (sequence, time, hash, self._experiment))
        self.head = self.head._replace(sequence=sequence, time=time, hash=hash)
