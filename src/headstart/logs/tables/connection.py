"""The embedded database: DuckDB in bounded memory, with a scratch folder that goes when it goes."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headstart.checks import check_whole
from headstart.errors import HeadstartError, LogError, OptionError

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from ibis.backends.duckdb import Backend

_MOST_THREADS = 2  # each holds pages of every column it scans: more would break the promise of bounded memory


@dataclass(frozen=True)
class DatabaseLimits:
    """What the embedded database may use. Tables of other backends live in theirs."""

    memory_limit: str = "256MB"
    threads: int | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\d+(\.\d+)? ?([KMGT]i?B|B)", str(self.memory_limit)):
            raise OptionError(f"memory_limit must be a size like '256MB' or '2GB', got {self.memory_limit!r}")
        if self.threads is not None:
            check_whole("threads", self.threads)


def connect_duckdb(settings: DatabaseLimits) -> Backend:
    """An Ibis connection to a new embedded DuckDB; what does not fit in memory spills to its scratch folder."""
    import ibis

    folder = tempfile.mkdtemp(prefix="headstart-")
    backend = ibis.duckdb.connect(
        memory_limit=settings.memory_limit,
        threads=settings.threads or min(_MOST_THREADS, os.cpu_count() or 1),
        temp_directory=folder,
    )
    backend.con.execute("SET TimeZone = 'UTC'")  # the same text is the same time on every machine
    backend.con.execute("SET allocator_background_threads = true")  # what a query held goes back when it is done
    weakref.finalize(backend, shutil.rmtree, folder, ignore_errors=True)
    return backend


def scratch_folder(backend: Backend) -> Path:
    """Where this connection may write files that live as long as it does."""
    return Path(backend.con.execute("SELECT current_setting('temp_directory')").fetchone()[0])


def as_view(backend: Backend, query: str) -> ir.Table:
    """The rows of a DuckDB query as a lazy Ibis table."""
    name = f"view_{uuid.uuid4().hex}"
    backend.con.execute(f"CREATE TEMP VIEW {name} AS {query}")
    return as_table(backend, name)


def as_table(backend: Backend, name: str) -> ir.Table:
    """A table or view of ours. (Ibis's own way asks for types by a call that DuckDB deprecates.)"""
    described = backend.con.execute(f'DESCRIBE "{name}"').fetchall()
    return as_expression(backend, name, described, catalog=None, schema=None)


def as_expression(
    backend: Backend, name: str, described: Sequence[Sequence[object]], *, catalog: str | None, schema: str | None
) -> ir.Table:
    """A table of these (column, DuckDB type)."""
    import ibis.expr.operations as ops
    from ibis.expr.schema import Schema

    mapper = backend.compiler.type_mapper
    kinds = Schema({row[0]: mapper.from_string(str(row[1])) for row in described})
    place = ops.Namespace(catalog=catalog, database=schema)
    return ops.DatabaseTable(name, schema=kinds, source=backend, namespace=place).to_expr()


def is_embedded(table: ir.Table) -> bool:
    """Whether rows of this table have an order and a number: true of DuckDB, not of a distributed table."""
    return bool(table.get_backend().name == "duckdb")


@contextmanager
def log_errors(place: str) -> Iterator[None]:
    """What a database, a file system or a decoder complains of becomes a LogError that names the place."""
    try:
        yield
    except HeadstartError:
        raise
    except Exception as error:
        if is_ours(error):
            raise
        raise LogError(f"{place}: {in_words(error)}") from error


def is_ours(error: Exception) -> bool:
    """A mistake in this program, as opposed to one in the file or in the database."""
    if isinstance(error, OSError | UnicodeError):
        return False
    return type(error).__module__.partition(".")[0] in ("builtins", "headstart")


def in_words(error: Exception) -> str:
    """The part of a database's message that a reader of the log can use, in one line."""
    if type(error).__name__ == "OutOfMemoryException":
        return "the memory limit is too small for this query; give more, e.g. memory_limit='1GB'"
    if isinstance(error, UnicodeError):
        return f"the text is not UTF-8 ({error})"
    text = re.sub(r"^[A-Z][A-Za-z/ ]*(Error|Exception): ", "", str(error).strip())
    text = re.split(r"\n\s*\n|\nLINE \d+:|\nPossible |\nTry increasing|\nCandidate ", text)[0]
    return " ".join(text.split())[:500] or type(error).__name__
