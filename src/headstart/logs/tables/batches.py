"""Rows in portions: a query's answer as Arrow record batches, with only a few of them in memory at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa
    from ibis.backends.duckdb import Backend


def read_batches(expression: ir.Table, n_rows: int) -> Iterator[pa.RecordBatch]:
    """The rows of an Ibis table, at most `n_rows` at a time. The order is the database's."""
    backend = expression.get_backend()
    if backend.name == "duckdb":
        return _read_duckdb(backend, expression, n_rows)
    if backend.name == "pyspark":
        return _read_spark(backend, expression, n_rows)
    return iter(expression.to_pyarrow_batches(chunk_size=n_rows))


def _read_duckdb(backend: Backend, expression: ir.Table, n_rows: int) -> Iterator[pa.RecordBatch]:
    """Ibis 12 asks DuckDB 2 for its batches by a name that is gone."""
    import ibis.expr.operations as ops

    if expression.op().find(ops.InMemoryTable):
        expression.limit(0).to_pyarrow()  # Ibis registers frames in memory only when it runs an expression itself
    yield from backend.con.sql(backend.compile(expression)).to_arrow_reader(n_rows)


def _read_spark(backend: Backend, expression: ir.Table, n_rows: int) -> Iterator[pa.RecordBatch]:
    """Ibis would collect the whole table in the driver; this holds one partition."""
    rows = backend.raw_sql(backend.compile(expression)).toLocalIterator()
    while portion := list(islice(rows, n_rows)):
        yield _as_batch(expression, portion)


def read_first(expression: ir.Table, n_rows: int) -> pa.RecordBatch | pa.Table:
    """Some rows of an Ibis table, as few as are enough of it being looked at."""
    backend = expression.get_backend()
    if backend.name != "pyspark":
        return expression.limit(n_rows).to_pyarrow()
    # By Ibis every partition would be begun, and the rows of all of them shuffled into one.
    return _as_batch(expression, backend.raw_sql(backend.compile(expression)).take(n_rows))


def _as_batch(expression: ir.Table, rows: Sequence[Sequence[object]]) -> pa.RecordBatch:
    import pyarrow as pa

    schema = expression.schema().to_pyarrow()
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
