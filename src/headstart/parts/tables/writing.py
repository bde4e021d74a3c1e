"""Decisions as a file: Parquet, CSV or JSON lines, by the name; there as a whole or not at all."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue as Waiting
from threading import Thread
from typing import IO, TYPE_CHECKING

from headstart.errors import OptionError
from headstart.parts.tables.rule import ACTION
from headstart.whole_files import write_whole

if TYPE_CHECKING:
    import pyarrow as pa

Write = Callable[["pa.RecordBatch"], None]
_FORMATS = (".parquet", ".pq", ".csv", ".jsonl", ".ndjson")


def check_target(path: Path) -> None:
    """Fail before the work, not after it."""
    if path.suffix.lower() not in _FORMATS:
        raise OptionError(f"{path}: the name must end in one of {', '.join(_FORMATS)}")
    if not path.parent.is_dir():
        raise OptionError(f"{path}: the folder {path.parent} does not exist")
    if path.is_dir():
        raise OptionError(f"{path}: is a folder")


@contextmanager
def open_target(path: Path, schema: pa.Schema, about: dict[str, object]) -> Iterator[Write]:
    """Something to write portions to. Only when all is written does the file have its name."""
    check_target(path)
    kind = path.suffix.lower()
    with write_whole(path) as written:
        if kind in (".parquet", ".pq"):
            with _parquet(written, schema, about) as write, _in_background(write) as put:
                yield put
        elif kind == ".csv":
            with _csv(written, schema) as write, _in_background(write) as put:
                yield put
        else:
            with (
                written.open("w", encoding="utf-8") as file,
                _in_background(lambda rows: _put_json(file, rows)) as put,
            ):
                yield put


@contextmanager
def _parquet(path: Path, schema: pa.Schema, about: dict[str, object]) -> Iterator[Write]:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    named = schema.with_metadata({b"headstart": json.dumps(about).encode()})
    repeated = [name for name in (ACTION, "propensity") if name in schema.names]  # few values: by reference
    whole = [f.name for f in schema if pa.types.is_integer(f.type)]  # whole numbers, ids above all: by differences
    how = {"use_dictionary": repeated, "column_encoding": dict.fromkeys(whole, "DELTA_BINARY_PACKED")}
    with parquet.ParquetWriter(path, named, write_statistics=False, **how) as writer:
        yield lambda rows: writer.write_batch(rows)


@contextmanager
def _csv(path: Path, schema: pa.Schema) -> Iterator[Write]:
    import pyarrow as pa
    import pyarrow.csv as csv

    plain = pa.schema([(field.name, _plain_type(field.type)) for field in schema])
    with csv.CSVWriter(path, plain) as writer:
        yield lambda rows: writer.write_batch(_as_plain(rows, plain))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return kind.value_type
    return pa.string() if pa.types.is_nested(kind) or _is_bytes(kind) else kind


def _is_bytes(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _as_plain(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Text has no lists and no references."""
    import pyarrow as pa

    columns = []
    for field in schema:
        column = rows.column(field.name)
        if pa.types.is_nested(column.type):
            columns.append(pa.array([json.dumps(each, default=str) for each in column.to_pylist()], type=pa.string()))
        elif _is_bytes(column.type):  # as JSON lines have them
            columns.append(pa.array([each if each is None else str(each) for each in column.to_pylist()]))
        else:
            columns.append(column.cast(field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _put_json(file: IO[str], rows: pa.RecordBatch) -> None:
    file.writelines(json.dumps(_without_nan(row), default=str, allow_nan=False) + "\n" for row in rows.to_pylist())


def _without_nan(value: object) -> object:
    """JSON has no word for a number that is none: null."""
    if isinstance(value, dict):
        return {name: _without_nan(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_nan(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def _in_background(write: Write) -> Iterator[Write]:
    """Writing by a thread of its own: the next portion is decided while this one is compressed."""
    waiting: Waiting[pa.RecordBatch | None] = Waiting(maxsize=2)
    failed: list[BaseException] = []

    def work() -> None:
        while (rows := waiting.get()) is not None:
            if not failed:
                try:
                    write(rows)
                except BaseException as error:  # said by the thread that waits
                    failed.append(error)

    def put(rows: pa.RecordBatch) -> None:
        if failed:
            raise failed[0]
        waiting.put(rows)

    thread = Thread(target=work, name="headstart-writer", daemon=True)
    thread.start()
    try:
        yield put
    finally:
        waiting.put(None)
        thread.join()
    if failed:
        raise failed[0]
