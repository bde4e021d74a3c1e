"""Users in a table, read in portions and in their order: memory does not grow with their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.errors import ContextError, LogError
from headstart.extras import brought_by
from headstart.logs.log import Log
from headstart.logs.tables.batches import read_batches
from headstart.logs.tables.connection import DatabaseLimits, log_errors
from headstart.logs.tables.sources import SUFFIXES, open_source
from headstart.logs.tables.sources.frames import as_arrow, is_frame, kind_of
from headstart.logs.tables.sources.opened import Files
from headstart.logs.tables.sources.paths import find_files, is_path

if TYPE_CHECKING:
    import pyarrow as pa

ROW = "row"  # what ids are called that nobody gave: the number of the row, from 0
PORTION = 1 << 16


@dataclass(frozen=True)
class UserTable:
    """A table of users: what it is called, its columns, and a way to read some of them, again and again."""

    place: str  # in words: "users.parquet"
    schema: pa.Schema
    n_rows: int | None  # None: nobody knows before they are counted
    read: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
    can_overlap: bool = True  # whether it can be read again while it is being read: a connection has one answer
    is_encoded: bool = False  # the columns are a log's encoded ones, which are numbers

    def __post_init__(self) -> None:
        twice = [name for name, n in Counter(self.schema.names).items() if n > 1]
        if twice:
            raise ContextError(f"{self.place}: the column {twice[0]!r} stands there twice: rename one of them")

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    def check_columns(self, names: Sequence[str], why: str) -> None:
        """An error that names the first column that is not there."""
        for name in names:
            if name not in self.columns:
                known = ", ".join(self.columns[:20]) + (" ..." if len(self.columns) > 20 else "")
                raise ContextError(f"{self.place}: the column {name!r} is missing ({why}); it has: {known}")


def open_users(source: object, context_names: Sequence[str] = ()) -> UserTable:
    """Users from a path, a frame, an Arrow or Ibis table, a Log, a mapping, a list of mappings or a matrix.

    The columns of a Log or a matrix are numbers already, and are called by `context_names`.
    """
    with brought_by("logs"):
        import pyarrow as pa

    if isinstance(source, UserTable):
        return source
    if isinstance(source, Log):
        return _of_matrix(source.contexts, source.context_names, "the log")
    if is_path(source):
        return _of_path(source)
    if _is_records(source):
        return _of_records(list(source))  # type: ignore[call-overload]
    if isinstance(source, np.ndarray | list | tuple):
        return _of_matrix(source, context_names, "the matrix of users")
    if is_frame(source):
        place = f"the {kind_of(source)}"
        columns = as_arrow(source, place)
        if isinstance(columns, pa.Table):
            return _of_table(columns, place)
    return _of_opened(source)


def _is_records(source: object) -> bool:
    return isinstance(source, list | tuple) and bool(source) and all(isinstance(each, Mapping) for each in source)


def _of_records(records: list[dict[str, object]]) -> UserTable:
    import pyarrow as pa

    place = "the list of users"
    try:
        return _of_table(pa.Table.from_pylist(records), place)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ContextError(f"{place}: a column has values of mixed types ({error})") from None


def _of_table(table: pa.Table, place: str) -> UserTable:
    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return iter(table.select(list(names)).to_batches(max_chunksize=PORTION))

    return UserTable(place, table.schema, table.num_rows, read)


def _of_matrix(given: ArrayLike, names: Sequence[str], place: str) -> UserTable:
    import pyarrow as pa

    matrix = np.asarray(given, dtype=np.float64)
    if matrix.ndim != 2 or (names and matrix.shape[1] != len(names)):
        raise ContextError(f"{place} must have {len(names)} columns, got shape {matrix.shape}")
    called = list(names) or [f"x{j}" for j in range(matrix.shape[1])]
    schema = pa.schema([(ROW, pa.int64()), *((name, pa.float64()) for name in called)])

    def read(asked: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(matrix), PORTION):
            part = matrix[start : start + PORTION]
            columns: dict[str, NDArray[np.generic]] = {ROW: np.arange(start, start + len(part))}
            columns |= {name: part[:, j] for j, name in enumerate(called) if name in asked}
            yield pa.RecordBatch.from_pydict({name: columns[name] for name in asked})

    return UserTable(place, schema, len(matrix), read, is_encoded=True)


def _of_path(source: Any) -> UserTable:
    files = find_files(source, SUFFIXES, None)
    if files.suffix not in (".parquet", ".pq"):
        return _of_opened(source)
    return _of_parquet(files)


def _of_parquet(files: Files) -> UserTable:
    """Straight from the files: a database between would read them no quicker."""
    import pyarrow.parquet as parquet

    with log_errors(f"{files.place}: cannot be read as Parquet (is it complete?)"):
        heads = [parquet.ParquetFile(path) for path in files.paths]
        n_rows = sum(head.metadata.num_rows for head in heads)
        schemas = [head.schema_arrow for head in heads]
    for path, schema in zip(files.paths, schemas, strict=True):
        if set(schema.names) != set(schemas[0].names):
            raise LogError(f"{path}: the columns differ from those of {files.paths[0]}")

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for path in files.paths:
            with log_errors(str(path)), parquet.ParquetFile(path, pre_buffer=False) as file:
                yield from file.iter_batches(PORTION, columns=list(names), use_threads=True)

    return UserTable(files.place, schemas[0], n_rows, read)


def _of_opened(source: object) -> UserTable:
    """Whatever a log can be read from; the embedded database keeps the order of a file's rows."""
    opened = open_source(source, None, DatabaseLimits())
    latest = opened.widen() if opened.widen is not None else opened  # users are few columns: types from every row
    table = latest.table

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with log_errors(latest.place):
            yield from read_batches(table.select(*names), PORTION)

    return UserTable(latest.place, table.schema().to_pyarrow(), None, read, can_overlap=False)
