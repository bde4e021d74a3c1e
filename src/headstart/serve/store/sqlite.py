"""The embedded store: one SQLite file, WAL, every commit on the disk before it is answered.

A turn of writing is four calls: begin, look up, insert, commit. Each is one step of SQLite, which goes on without
Python's lock: a batch is handed over as one JSON text, where a call per row would let other threads in between at
every row and wait for them.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from headstart.serve.errors import StoreCorrupt, StoreUnavailable
from headstart.serve.store import schema
from headstart.serve.store.events import Event, read_body, write_body
from headstart.serve.store.store import Found, Head, Ids, Known, Row

_BUSY_SECONDS = 10.0
_HEAD = "SELECT sequence, time FROM events ORDER BY sequence DESC LIMIT 1"
_FIND = """
SELECT json_group_array(json_array(e.experiment, e.event_id, e.kind, e.sequence, e.time, e.body))
FROM json_each(?) ids CROSS JOIN events e
  ON e.experiment = ids.value ->> 0 AND e.event_id = ids.value ->> 1"""
_INSERT = """
INSERT INTO events (sequence, experiment, kind, event_id, time, about, body)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6 FROM json_each(?)"""

Connect = Callable[[str], sqlite3.Connection]


def connect_sqlite(path: str) -> sqlite3.Connection:
    """A connection that begins and commits only when told to."""
    return sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)


class _Readers(threading.local):
    """A connection of each thread's own."""

    connection: sqlite3.Connection | None = None


class SQLiteStore:
    """Events in one file. `connect` is the seam through which tests make writes fail."""

    def __init__(self, path: str | Path, connect: Connect = connect_sqlite) -> None:
        self.path = str(path)
        self._connect = connect
        self._writer: sqlite3.Connection | None = None
        self._readers = _Readers()
        self._opened: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        with self._translated():
            try:
                self._migrate(self._open_writer())
            except BaseException:
                self._drop_writer()
                raise

    def _open_writer(self) -> sqlite3.Connection:
        if self._writer is None:
            writer = self._connect(self.path)
            try:
                mode = writer.execute("PRAGMA journal_mode = WAL").fetchone()[0]
                if mode != "wal":  # it does not raise where it cannot: another journal would let readers stop writers
                    raise StoreUnavailable(f"{self.path} cannot have a write-ahead log: its journal is {mode!r}")
                writer.execute("PRAGMA synchronous = FULL")
            except BaseException:
                writer.close()
                raise
            self._writer = writer
        return self._writer

    def _migrate(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(schema.VERSIONS)
        version = connection.execute("SELECT max(version) FROM schema_version").fetchone()[0] or 0
        if version > len(schema.SQLITE):
            connection.execute("ROLLBACK")
            raise StoreCorrupt(f"{self.path} has schema version {version}: a newer headstart wrote it")
        for number, statements in enumerate(schema.SQLITE[version:], start=version + 1):
            for statement in statements:
                connection.execute(statement)
            connection.execute("INSERT INTO schema_version VALUES (?)", (number,))
        connection.execute("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[_Turn]:
        """A turn of writing. After a failure the connection is thrown away: what it thinks is no longer known."""
        with self._translated():
            try:
                writer = self._open_writer()
                writer.execute("BEGIN IMMEDIATE")
                yield _Turn(writer)
                writer.execute("COMMIT")
            except BaseException:
                self._drop_writer()
                raise

    def _drop_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            try:
                writer.execute("ROLLBACK")
            except sqlite3.Error:
                pass  # there was nothing to roll back, or closing does it
            finally:
                writer.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.IntegrityError):
                raise StoreCorrupt(f"{self.path}: {error}") from error
            raise StoreUnavailable(f"{self.path}: {error}") from error

    def query(self, statement: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        """Rows, read on a connection of the calling thread's own."""
        with self._translated():
            reader = self._readers.connection
            if reader is None:
                reader = connect_sqlite(self.path)
                reader.execute("PRAGMA query_only = 1")
                self._readers.connection = reader
                with self._lock:
                    self._opened.append(reader)
            return list(reader.execute(statement, parameters).fetchall())

    def save_snapshot(self, experiment: str, sequence: int, body: bytes) -> None:
        """Keep a snapshot and forget all older ones but the last."""
        with self.writing() as turn:
            turn.connection.execute(
                "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", (experiment, sequence, body.decode())
            )
            turn.connection.execute(
                "DELETE FROM snapshots WHERE experiment = ? AND sequence NOT IN "
                "(SELECT sequence FROM snapshots WHERE experiment = ? ORDER BY sequence DESC LIMIT 2)",
                (experiment, experiment),
            )

    def is_folder(self) -> bool:
        """One file, one process: yes."""
        return True

    def close(self) -> None:
        """Close every connection; the last one folds the WAL into the file."""
        with self._lock:
            opened, self._opened = self._opened, []
        for reader in opened:
            reader.close()
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class _Turn:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        row = connection.execute(_HEAD).fetchone()
        self.head = Head(*row) if row else Head(0, 0)

    def find(self, ids: Ids) -> Found:
        """What is known under these event ids, in one step."""
        wanted = list(ids)
        found: Found = {}
        if wanted:
            text = self.connection.execute(_FIND, (orjson.dumps(wanted).decode(),)).fetchone()[0]
            for experiment, event_id, kind, sequence, time, body in orjson.loads(text):
                known = Known(sequence, time, read_body(body))
                found.setdefault((experiment, event_id), {})[kind] = known
        return found

    def query(self, statement: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        """Rows, as seen in this turn."""
        return list(self.connection.execute(statement, parameters).fetchall())

    def insert(self, events: list[Event]) -> None:
        """Append events, in one step."""
        rows = [(*event[:6], write_body(event.body)) for event in events]
        self.connection.execute(_INSERT, (orjson.dumps(rows).decode(),))
