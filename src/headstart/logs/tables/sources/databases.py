"""Addresses of databases: `log.duckdb::clicks`, `log.sqlite::clicks`, `postgresql://user@host/db::schema.clicks`.

A table stands after `::`, or a query is given beside the address. Names and paths go to the drivers as they are: no
SQL is put together from them. Connections only read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headstart.addresses import mask_secrets
from headstart.errors import LogError
from headstart.logs.tables.columns import check_column

_MARK = "::"
_URLS = ("postgresql://", "postgres://")
_SUFFIXES = (".duckdb", ".ddb", ".sqlite", ".sqlite3", ".db")
_MAGIC = {"sqlite": (0, b"SQLite format 3\0"), "duckdb": (8, b"DUCK")}  # where a file of it says so


@dataclass(frozen=True)
class Database:
    """A table of a database, or a query to one."""

    kind: str  # duckdb, sqlite or postgres
    address: str  # a path or a URL
    table: str | None
    query: str | None

    @property
    def place(self) -> str:
        """For messages: without its password."""
        return mask_secrets(self.address) + (f"{_MARK}{self.table}" if self.table else "")

    def choose(self, tables: Sequence[tuple[str, str]], own: str = "") -> tuple[str, str]:
        """The (schema, name) of the table that is meant, of those that there are; the `own` schema may go unsaid."""
        ordered = sorted(tables, key=lambda table: (table[0] != own, table))
        known = {name if schema == own else f"{schema}.{name}": (schema, name) for schema, name in ordered}
        if self.table is None:
            shown = ", ".join(list(known)[:12]) + (", ..." if len(known) > 12 else "")
            example = f"{mask_secrets(self.address)}{_MARK}{next(iter(known), 'table')}"
            raise LogError(f"{self.place}: name a table, as in {example}, or give query=; tables: {shown or 'none'}")
        whole = {f"{schema}.{name}": (schema, name) for schema, name in tables}
        if self.table in whole and self.table not in known:
            return whole[self.table]
        return known[check_column(self.table, list(known), what="table")]


def find_database(source: object, query: str | None) -> Database | None:
    """The database that an address means; None for whatever else a log is read from."""
    found = _find(os.fspath(source), query) if isinstance(source, str | os.PathLike) else None
    if query is None:
        return found
    if found is None:
        raise LogError("query= is for a database: give a DuckDB or SQLite file, or an address like postgresql://...")
    if found.table is not None:
        raise LogError(f"{found.place}: give a table or query=, not both")
    return found


def _find(text: str, query: str | None) -> Database | None:
    address, table = _part(text)
    if text.startswith(_URLS):
        return Database("postgres", address, table, query)
    if table is None or Path(text).exists():
        kind = _kind_of(Path(text).expanduser())
        return None if kind is None else Database(kind, text, None, query)
    path = Path(address).expanduser()
    kind = _kind_of(path)
    if kind is None and (path.is_file() or path.suffix.lower() in _SUFFIXES):
        what = "is neither a DuckDB nor a SQLite database" if path.is_file() else "no such file"
        raise LogError(f"{address}: {what}")
    return None if kind is None else Database(kind, str(path), table, query)


def _part(text: str) -> tuple[str, str | None]:
    """What stands before and after the mark; an address of numbers, [::1], has one of its own."""
    address, mark, table = text.rpartition(_MARK)
    if not mark or not table or set(table) & set("/]@"):
        return text, None
    return address, table


def _kind_of(path: Path) -> str | None:
    """Which database a file is, by how it begins."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        begin = file.read(16)
    return next((kind for kind, (at, mark) in _MAGIC.items() if begin[at : at + len(mark)] == mark), None)


def is_database(kind: str) -> Callable[[object], bool]:
    """What recognises this kind of database."""
    return lambda thing: isinstance(thing, Database) and thing.kind == kind
