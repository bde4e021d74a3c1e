"""Stores opened to look: nothing is written into them, whoever they belong to."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from headstart.errors import OptionError
from headstart.serve.errors import StoreCorrupt, StoreUnavailable
from headstart.serve.store import schema
from headstart.serve.store.addresses import is_postgres
from headstart.serve.store.damage import check_pages
from headstart.serve.store.store import Query


@contextmanager
def reading(address: str) -> Iterator[Query]:
    """How to ask a store that is only looked at. One of an earlier version is brought up to date in a copy."""
    if is_postgres(address):
        from headstart.serve.store.postgres import reading_postgres

        with reading_postgres(address) as query:
            yield query
        return
    path = Path(address)
    if not path.is_file():
        raise OptionError(f"there is no store at {address}")
    with closing(_open(path)) as connection:
        if _version(connection, path) == schema.CURRENT:
            yield _query_of(connection, path)
            return
        with tempfile.TemporaryDirectory(prefix="headstart-") as folder:
            from headstart.serve.store.sqlite import SQLiteStore

            copy = str(Path(folder) / "copy.sqlite")
            connection.execute("VACUUM INTO ?", (copy,))
            with closing(SQLiteStore(copy)) as store:
                yield store.query


def _open(path: Path) -> sqlite3.Connection:
    try:
        return sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True, check_same_thread=False)
    except sqlite3.Error as error:
        raise StoreUnavailable(f"{path}: {error}") from error


def _version(connection: sqlite3.Connection, path: Path) -> int:
    try:
        check_pages(connection, str(path))
        version = connection.execute("SELECT max(version) FROM schema_version").fetchone()[0] or 0
    except sqlite3.OperationalError as error:
        raise StoreCorrupt(f"{path} is no store of headstart: {error}") from error
    except sqlite3.DatabaseError as error:
        raise StoreCorrupt(f"{path} is damaged, or no store: {error}") from error
    return schema.check_version(version, str(path))


def _query_of(connection: sqlite3.Connection, path: Path) -> Query:
    def query(statement: str, parameters: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        try:
            return list(connection.execute(statement, parameters).fetchall())
        except sqlite3.DatabaseError as error:
            raise StoreUnavailable(f"{path}: {error}") from error

    return query
