"""Backups: a store's events as one SQLite file, taken beside the running service, and back.

Each experiment is copied up to the head that it had when its turn came. As events are only appended, that is a state
which the store was really in. Snapshots are left out: they are a cache; but for the checkpoint that goes on from
events which were archived. The files of an archive are no part of a backup: they are whole files already.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from headstart.errors import OptionError
from headstart.serve.errors import StoreUnavailable
from headstart.serve.store.addresses import is_postgres
from headstart.serve.store.epochs import UNFINISHED, begin_epoch
from headstart.serve.store.questions import READ_NAMES, READ_ROWS, READ_SNAPSHOTS, SAVE_FIT, SAVE_SNAPSHOT
from headstart.serve.store.read_only import reading
from headstart.serve.store.reader import CHECKPOINT, PAGE, Reader
from headstart.serve.store.sqlite import SQLiteStore
from headstart.serve.store.store import Query, Store, Transaction

_READ_FIT = "SELECT hash, body FROM fits WHERE hash > ? ORDER BY hash LIMIT 1"
_READ_IDENTITY = "SELECT id, epoch FROM identity"
_SET_IDENTITY = "UPDATE identity SET id = ?, epoch = ?"

Told = Callable[[int], None]  # events copied so far


def back_up(address: str, path: Path, told: Told = lambda n: None) -> int:
    """Copy a store, which may be in use, into a new SQLite file; how many events."""
    with _new_file(path) as part:
        if is_postgres(address):
            with reading(address) as query, closing(SQLiteStore(part)) as target:
                _copy(query, target, told)
        else:
            _vacuum_into(address, part)
        return _check_copy(part)


def restore(backup: Path, address: str, told: Told = lambda n: None) -> int:
    """Make a store of a backup, in a new epoch; how many events. It never writes over a store."""
    n = _check_copy(backup)
    if not is_postgres(address):
        with _new_file(Path(address)) as part:
            _vacuum_into(str(backup), part)
            with closing(SQLiteStore(part)) as target:
                _begin_epoch(target)
        return n
    from headstart.serve.store.postgres import PATIENCE, PostgresStore

    with closing(PostgresStore(address, deadline=PATIENCE)) as target, reading(str(backup)) as query:
        if target.query(READ_NAMES):
            raise OptionError("there are events in that store already: restore into an empty schema")
        _copy(query, target, told)
        _begin_epoch(target)
    return n


@contextmanager
def _new_file(path: Path) -> Iterator[Path]:
    """A file for its owner alone, which gets its name when it is whole and leaves nothing if it is not."""
    part = _begin_file(path)
    try:
        yield part
        part.replace(path)
    finally:
        for left in (part, *_beside(part)):
            left.unlink(missing_ok=True)


def _begin_file(path: Path) -> Path:
    for there in (path, *_beside(path)):
        if there.exists():  # SQLite would read another file's write-ahead log into this one
            raise OptionError(f"{there} is there already: nothing is written over")
    part = path.with_name(f"{path.name}.part")
    for left in (part, *_beside(part)):
        left.unlink(missing_ok=True)
    try:
        os.close(os.open(part, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise OptionError(f"{part} cannot be written: {error.strerror or error}") from None
    return part


def _beside(path: Path) -> list[Path]:
    """The files that SQLite takes for a part of this one."""
    return [path.with_name(f"{path.name}{ending}") for ending in ("-wal", "-shm", "-journal")]


def _vacuum_into(source: str, part: Path) -> None:
    """SQLite's own copy: one reader of the write-ahead log, for which nobody waits."""
    if not Path(source).is_file():
        raise OptionError(f"there is no store at {source}")
    with closing(sqlite3.connect(source, timeout=10.0)) as connection:
        try:
            connection.execute("VACUUM INTO ?", (str(part),))
        except sqlite3.DatabaseError as error:
            raise StoreUnavailable(f"{source}: {error}") from error


def _check_copy(path: Path) -> int:
    """Every page and every link of the chain is sound, and the file is on the disk; how many events."""
    with reading(str(path)) as query:
        reader = Reader(query)
        n = sum(1 for (name,) in query(READ_NAMES) for _ in reader.linked(name, *reader.begin_of(name)))
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
    return n


def _copy(query: Query, target: Store, told: Told) -> None:
    """Every event and every recorded fit of one store into an empty one, with its identity.

    Until it is done the copy says that it is not: what it holds is sound and would pass for a store.
    """
    n, reader, names = 0, Reader(query), [name for (name,) in query(READ_NAMES)]
    identity, epoch = query(_READ_IDENTITY)[0]
    _identify(target, names, identity, UNFINISHED)
    for name in names:
        through, after = reader.head(name).sequence, 0
        while rows := query(READ_ROWS, (name, after, through, PAGE)):
            with target.writing(name) as turn:
                turn.append(rows)
            after, n = rows[-1][0], n + len(rows)
            told(n)
        with target.writing(name) as turn:
            _copy_fits(query, turn)
            for sequence, body in query(READ_SNAPSHOTS, (name, CHECKPOINT)):
                turn.execute(SAVE_SNAPSHOT, (name, CHECKPOINT, sequence, body))
    _identify(target, names, identity, epoch)


def _identify(target: Store, names: list[str], identity: str, epoch: int) -> None:
    for name in names[:1]:
        with target.writing(name) as turn:
            turn.execute(_SET_IDENTITY, (identity, epoch))


def _copy_fits(query: Query, turn: Transaction) -> None:
    last = ""
    while rows := query(_READ_FIT, (last,)):
        turn.execute(SAVE_FIT, rows[0])
        last = rows[0][0]


def _begin_epoch(target: Store) -> None:
    for (name,) in target.query(READ_NAMES)[:1]:
        with target.writing(name) as turn:
            begin_epoch(turn)
