"""Frames that are in memory already: pandas, polars, Arrow, or a plain mapping of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from headstart.errors import LogError
from headstart.logs.tables.columns import check_names
from headstart.logs.tables.connection import (
    DatabaseLimits,
    as_table,
    as_view,
    connect_duckdb,
    in_words,
    scratch_folder,
)
from headstart.logs.tables.sources.opened import Opened, SourceKind

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa
    from ibis.backends.duckdb import Backend
    from pyarrow.dataset import Dataset

_NAME = "frame"


def open_frame(frame: Any, settings: DatabaseLimits) -> Opened:  # of libraries that need not be installed
    """The frame as a table of the embedded database, which reads it where it is (pandas is converted once)."""
    place = f"the {kind_of(frame)}"
    backend = connect_duckdb(settings)
    columns = as_arrow(frame, place)
    check_names(columns.schema.names, place)
    if type(columns).__name__ == "RecordBatchReader":  # it can be read once, a log is read several times
        return Opened(_write_down(columns, backend), "Arrow stream", place)
    backend.con.register(_NAME, columns)
    return Opened(as_table(backend, _NAME), kind_of(frame), place)


def kind_of(frame: object) -> str:
    root = type(frame).__module__.partition(".")[0]
    names = {"pandas": "pandas frame", "polars": "polars frame", "pyarrow": "Arrow table"}
    return names.get(root, "mapping of columns")


def as_arrow(frame: Any, place: str) -> pa.Table | pa.RecordBatchReader | Dataset:
    """The columns as Arrow: a table, a data set on disk, or a stream."""
    import pyarrow as pa

    kind = kind_of(frame)
    if kind == "Arrow table":
        return pa.Table.from_batches([frame]) if isinstance(frame, pa.RecordBatch) else frame
    if kind == "polars frame":
        whole = frame.collect() if type(frame).__name__ == "LazyFrame" else frame
        return whole.to_arrow()
    if kind == "mapping of columns":
        check_names([str(name) for name in frame], place)
        return _table_of({str(name): frame[name] for name in frame}, place)
    names = [str(name) for name in frame.columns]
    check_names(names, place)
    return _table_of({name: frame.iloc[:, j] for j, name in enumerate(names)}, place)


def _table_of(columns: Mapping[str, Iterable[object]], place: str) -> pa.Table:
    import pyarrow as pa

    arrays = {}
    for name, values in columns.items():
        try:
            arrays[name] = pa.array(values, from_pandas=True)
        except (pa.ArrowException, TypeError) as error:
            raise LogError(f"{place}: column {name!r} {_first_other(values) or in_words(error)}") from error
    lengths = {len(array) for array in arrays.values()}
    if len(lengths) > 1:
        raise LogError(f"{place}: the columns have different lengths: {sorted(lengths)}")
    return pa.table(arrays)


def _first_other(values: Iterable[object]) -> str | None:
    """The first value of another kind than those before it."""
    from numbers import Real

    first: tuple[str, object] | None = None
    for row, value in enumerate(values):
        if value is None or value != value:
            continue
        kind = "number" if isinstance(value, Real) else type(value).__name__
        if first is None:
            first = kind, value
        elif kind != first[0]:
            return f"has values of mixed types: {value!r} in row {row}, after {first[1]!r}"
    return None


def _write_down(stream: pa.RecordBatchReader, backend: Backend) -> ir.Table:
    import pyarrow.parquet as parquet

    path = scratch_folder(backend) / "stream.parquet"
    with parquet.ParquetWriter(path, stream.schema) as writer:
        for batch in stream:
            writer.write_batch(batch)
    return as_view(backend, f"SELECT * FROM read_parquet('{path}')")


def is_frame(thing: object) -> bool:
    """Whether these are columns in memory, or a stream or data set of Arrow."""
    root, name = type(thing).__module__.partition(".")[0], type(thing).__name__
    if root == "pyarrow":
        return name in ("Table", "RecordBatch", "RecordBatchReader") or name.endswith("Dataset")
    if root in ("pandas", "polars"):
        return name in ("DataFrame", "LazyFrame")
    return isinstance(thing, Mapping)


SOURCES = (SourceKind("frame", is_frame, open_frame),)
