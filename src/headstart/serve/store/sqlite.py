"""The embedded store: one SQLite file, WAL, every commit on the disk before it is answered.

A turn of writing is four calls: begin, look up, insert, commit. Each is one step of SQLite, which goes on without
Python's lock: a batch is handed over as one JSON text, where a call per row would let other threads in between at
every row and wait for them.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TypeAlias

import orjson

from headstart.serve.errors import StoreCorrupt, StoreUnavailable
from headstart.serve.store import schema
from headstart.serve.store.archives import TAKE_AWAY
from headstart.serve.store.chain import GENESIS, in_pages, link_events, link_rows
from headstart.serve.store.damage import check_pages
from headstart.serve.store.events import Event, Row, read_body
from headstart.serve.store.questions import READ_HEAD, READ_OF_UNIT
from headstart.serve.store.reader import as_event
from headstart.serve.store.store import NOTHING, Found, Head, Known, Question, Sought, Trace
from headstart.serve.store.traces import add_trace

_BUSY_SECONDS = 10.0
_SCRUB_MILLISECONDS = 50  # that nobody decides while the write-ahead log is to be emptied
_PAGE = 5_000  # rows moved at a time
_FIND = """
SELECT json_group_array(json_array(e.event_id, e.kind, e.sequence, e.time, e.body))
FROM json_each(?) ids CROSS JOIN events e INDEXED BY one_per_id ON e.experiment = ? AND e.event_id = ids.value"""
# Of each unit the newest decision, the draw that it repeats, and all that is known under its event id.
_FIND_UNITS = f"""
SELECT json_group_array(json_array(
  u.value, f.event_id, f.kind, f.sequence, f.time, f.body, d.event_id, d.sequence, d.time, d.body))
FROM json_each(?) u
CROSS JOIN events e ON e.experiment = ? AND e.sequence = (
  SELECT sequence FROM events INDEXED BY by_unit WHERE experiment = ? AND {schema.SQLITE_UNIT} = u.value
  AND kind = 'decision' AND {schema.SQLITE_UNIT} IS NOT NULL ORDER BY sequence DESC LIMIT 1)
CROSS JOIN events d ON d.experiment = e.experiment AND d.sequence = coalesce(e.about, e.sequence)
CROSS JOIN events f INDEXED BY one_per_id ON f.experiment = e.experiment AND f.event_id = e.event_id"""
_OF_UNIT = READ_OF_UNIT.format(unit=schema.SQLITE_UNIT)
_TAKE_AWAY = TAKE_AWAY.format(unit=schema.SQLITE_UNIT)
_INSERT = """
INSERT INTO events (sequence, experiment, kind, event_id, time, about, body, hash)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7
FROM json_each(?)"""

Connect = Callable[[str], sqlite3.Connection]
_Place: TypeAlias = tuple[int, int]  # of a file: device and number


def connect_sqlite(path: str) -> sqlite3.Connection:
    """A connection that begins and commits only when told to."""
    return sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)


class _Readers(threading.local):
    """A connection of each thread's own."""

    connection: sqlite3.Connection | None = None
    place: _Place | None = None  # the file that it has open


class SQLiteStore:
    """Events in one file. `connect` is the seam through which tests make it fail."""

    def __init__(self, path: str | Path, connect: Connect = connect_sqlite) -> None:
        self.path = str(path)
        self._connect = connect
        self._writer: sqlite3.Connection | None = None
        # SQLite has one writer: the threads of this process wait here, not in its sleep.
        self._turn = threading.Lock()
        self._written: _Place | None = None  # the file that the writer has open
        self._readers = _Readers()
        self._opened: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._is_new = not Path(self.path).exists()
        with self._translated():
            try:
                writer = self._open_writer()
                check_pages(writer, self.path)
                self._migrate(writer)
            except BaseException:
                self._drop_writer()
                raise

    def _open_writer(self) -> sqlite3.Connection:
        if self._writer is None:
            if self._is_new:  # for its owner alone; SQLite gives its other files the same rights
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
                self._is_new = False
            written, writer = self._find_file(), self._connect(self.path)
            try:
                _check_ours(writer, self.path)  # before anything: the journal's mode is written into the file
                # FULL, and the folder too: a new file's first journal, deleted when the write-ahead log begins, must
                # not come back after a power cut and undo everything.
                writer.execute("PRAGMA synchronous = EXTRA")
                writer.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten in the file too
                mode = writer.execute("PRAGMA journal_mode = WAL").fetchone()[0]
                if mode != "wal":  # it does not raise where it cannot: another journal would let readers stop writers
                    raise StoreUnavailable(f"{self.path} cannot have a write-ahead log: its journal is {mode!r}")
            except BaseException:
                writer.close()
                raise
            self._writer, self._written = writer, written
        return self._writer

    def _find_file(self) -> _Place:
        """Which file the path leads to now: an open one may have been moved away, and another put in its place."""
        found = os.stat(self.path)
        return found.st_dev, found.st_ino

    def _migrate(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(schema.VERSIONS)
        found = connection.execute("SELECT max(version) FROM schema_version").fetchone()[0] or 0
        version = schema.check_version(found, self.path)
        for number, step in enumerate(schema.SQLITE[version:], start=version + 1):
            for statement in step.before:
                connection.execute(statement)
            if step.links_events:
                connection.execute(schema.INSERT_IDENTITY, (secrets.token_hex(8),))
                _link_old_events(connection)
            for statement in step.after:
                connection.execute(statement)
            connection.execute("INSERT INTO schema_version VALUES (?)", (number,))
        connection.execute("COMMIT")

    @contextmanager
    def writing(self, experiment: str, sought: Sought = NOTHING, ahead: Question | None = None) -> Iterator[_Turn]:
        """A turn of writing. After a failure the connection is thrown away: what it thinks is no longer known."""
        with self._alone() as writer:
            writer.execute("BEGIN IMMEDIATE")
            yield _Turn(writer, experiment, sought)
            writer.execute("COMMIT")
            if self._find_file() != self._written:
                raise StoreUnavailable(f"{self.path} was moved or replaced while it was written to")

    @contextmanager
    def _alone(self) -> Iterator[sqlite3.Connection]:
        """The writer's connection, for one thread of this process at a time."""
        if not self._turn.acquire(timeout=_BUSY_SECONDS):
            raise StoreUnavailable(f"{self.path}: another experiment's commit has taken {_BUSY_SECONDS:g} s")
        try:
            with self._translated():
                try:
                    if self._writer is not None and self._find_file() != self._written:
                        self._drop_writer()
                    yield self._open_writer()
                except BaseException:
                    self._drop_writer()
                    raise
        finally:
            self._turn.release()

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
        except OSError as error:
            raise StoreUnavailable(f"{self.path}: unable to open database file: {error.strerror or error}") from error

    def query(self, statement: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        """Rows, read on a connection of the calling thread's own."""
        with self._translated():
            reader, place = self._readers.connection, self._find_file()
            if reader is None or self._readers.place != place:
                reader = self._connect(self.path)
                reader.execute("PRAGMA query_only = 1")
                self._readers.connection, self._readers.place = reader, place
                with self._lock:
                    self._opened.append(reader)
            return list(reader.execute(statement, parameters).fetchall())

    def is_folder(self, experiment: str) -> bool:
        """One file, one process: yes."""
        return True

    def scrub(self) -> bool:
        """Empty the write-ahead log, where pages are as they were before; somebody may be reading there."""
        with self._alone() as writer:
            writer.execute(f"PRAGMA busy_timeout = {_SCRUB_MILLISECONDS}")
            is_busy = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            writer.execute(f"PRAGMA busy_timeout = {round(_BUSY_SECONDS * 1000)}")
        return not is_busy

    def shrink(self) -> None:
        """Write the file anew: as large as what it holds, and nothing in between."""
        with self._alone() as writer:
            writer.execute("VACUUM")
            writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close every connection; the last one folds the WAL into the file."""
        with self._lock:
            opened, self._opened = self._opened, []
        for reader in opened:
            reader.close()
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _check_ours(connection: sqlite3.Connection, path: str) -> None:
    """Tables are made in an empty file only: somebody else's database is left alone."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and "schema_version" not in tables:
        raise StoreCorrupt(
            f"{path} is a database of something else: it has the tables {', '.join(sorted(tables)[:5])}"
        )


def _link_old_events(connection: sqlite3.Connection) -> None:
    """Every event of an earlier version into its experiment's chain."""
    old = connection.cursor().execute(schema.READ_OLD)
    for _, rows in groupby(old, key=itemgetter(1)):
        for page in in_pages(link_rows(GENESIS, rows), _PAGE):
            connection.execute(_INSERT, (orjson.dumps(page).decode(),))


class _Turn:
    def __init__(self, connection: sqlite3.Connection, experiment: str, sought: Sought) -> None:
        self._connection, self._experiment = connection, experiment
        self.head = Head(*connection.execute(READ_HEAD, (experiment,)).fetchone())
        self.found: Found = {}
        self.traces: dict[str, Trace] = {}
        self.find(sought)

    def find(self, sought: Sought) -> None:
        """Look up event ids in one step, and units in one."""
        if sought.ids:
            for event_id, kind, sequence, time, body in self._ask(_FIND, sought.ids, 1):
                self.found.setdefault(event_id, {})[kind] = Known(sequence, time, read_body(body))
        if sought.units:
            for row in self._ask(_FIND_UNITS, sought.units, 2):
                add_trace(self.found, self.traces, row)

    def _ask(self, statement: str, names: Sequence[str], times: int) -> list[Row]:
        """Rows that come as one JSON text; the experiment is asked for so many times."""
        parameters = orjson.dumps(names).decode(), *[self._experiment] * times
        rows: list[Row] = orjson.loads(self._connection.execute(statement, parameters).fetchone()[0])
        return rows

    def query(self, statement: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        """Rows, as seen in this turn."""
        return list(self._connection.execute(statement, parameters).fetchall())

    def execute(self, statement: str, parameters: tuple[object, ...] = ()) -> None:
        """Carry out a statement."""
        self._connection.execute(statement, parameters)

    def of_unit(self, unit: str) -> list[Event]:
        """Every decision of a unit."""
        return [as_event(row) for row in self.query(_OF_UNIT, (self._experiment, unit))]

    def take_away(self, through: int, open_after: int) -> None:
        """Delete archived events."""
        name = self._experiment
        self._connection.execute(
            _TAKE_AWAY, (name, name, name, through, name, open_after, through, name, through, name)
        )

    def insert(self, events: list[Event]) -> list[Event]:
        """Append events, in one step."""
        rows = link_events(self.head.hash, events)
        self.append(rows)
        return [event._replace(hash=row[7]) for event, row in zip(events, rows, strict=True)]

    def append(self, rows: list[Row]) -> None:
        """Append rows with their hashes."""
        self._connection.execute(_INSERT, (orjson.dumps(rows).decode(),))
        self.head = self.head._replace(sequence=rows[-1][0], time=rows[-1][4], hash=rows[-1][7])
