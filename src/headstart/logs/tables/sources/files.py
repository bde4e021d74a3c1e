"""CSV, TSV, Parquet and JSON lines: scanned by DuckDB where they lie, compressed or not, one file or many."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from headstart.errors import LogError
from headstart.logs.encoding import MISSING_MARKS
from headstart.logs.tables.columns import check_names
from headstart.logs.tables.connection import DatabaseLimits, as_view, connect_duckdb, in_words, log_errors
from headstart.logs.tables.sources.opened import Files, Opened, SourceKind
from headstart.logs.tables.sources.paths import open_text, read_first_line

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from ibis.backends.duckdb import Backend

_DELIMITERS = (",", ";", "\t", "|")
_SNIFFED_ROWS = 20_480  # DuckDB's own default; a surprise after them leads to a second look at every row


def open_csv(files: Files, settings: DatabaseLimits, *, delimiter: str | None = None) -> Opened:
    """Text with a header. Columns and delimiter come from the header, types from the values."""
    mark = delimiter or _delimiter(read_first_line(files.paths[0]))
    names = _read_header(files.paths[0], mark)
    for path in files.paths[1:]:
        if _read_header(path, mark) != names:
            raise LogError(f"{path}: the columns differ from those of {files.paths[0]} ({', '.join(names)})")
    backend = connect_duckdb(settings)

    def sniff(n_rows: int) -> dict[str, str]:
        options = f"{_csv_options(mark)}, sample_size={n_rows}, files_to_sniff=-1"
        types = _described(backend, "read_csv", files.paths, options, names)
        return {**types, **dict.fromkeys(_answers(backend, files.paths, mark, types, n_rows), "VARCHAR")}

    def scan(types: dict[str, str], paths: Sequence[Path]) -> ir.Table:
        columns = ", ".join(f"{_quoted(name)}: {_quoted(kind)}" for name, kind in types.items())
        options = f"{_csv_options(mark)}, auto_detect=false, columns={{{columns}}}"
        return as_view(backend, f"SELECT * FROM read_csv({_listed(paths)}, {options})")

    return _open_text(files, "TSV" if mark == "\t" else "CSV", sniff, scan, partial(_explain_csv, files, mark), mark)


def open_jsonl(files: Files, settings: DatabaseLimits) -> Opened:
    """One JSON object a line (or, in a file called .json, an array of them)."""
    backend = connect_duckdb(settings)
    layout = "auto" if files.suffix == ".json" else "newline_delimited"
    options = f"format='{layout}', records=true, map_inference_threshold=-1"

    def sniff(n_rows: int) -> dict[str, str]:
        return _described(backend, "read_json", files.paths, f"{options}, sample_size={n_rows}, union_by_name=true")

    def scan(types: dict[str, str], paths: Sequence[Path]) -> ir.Table:
        columns = ", ".join(f"{_quoted(name)}: {_quoted(kind)}" for name, kind in types.items())
        return as_view(backend, f"SELECT * FROM read_json({_listed(paths)}, {options}, columns={{{columns}}})")

    return _open_text(files, "JSON lines", sniff, scan, partial(_explain_json, files), None)


def open_parquet(files: Files, settings: DatabaseLimits) -> Opened:
    """Parquet, one file or a partitioned folder of them."""
    import pyarrow.parquet as parquet

    schemas = []
    for path in files.paths:
        with log_errors(f"{path}: cannot be read as Parquet (is it complete?)"):
            schemas.append(parquet.read_schema(path).names)
        check_names(schemas[-1], str(path))
    backend = connect_duckdb(settings)
    differ = any(set(names) != set(schemas[0]) for names in schemas)
    options = f"union_by_name={str(differ).lower()}"

    def scan(paths: Sequence[Path]) -> ir.Table:
        return as_view(backend, f"SELECT * FROM read_parquet({_listed(paths)}, {options})")

    note = ("the files have different columns; where a file lacks one, it is missing",) if differ else ()
    return Opened(
        scan(files.paths), "Parquet", files.place, notes=note, files=files.paths, reopen=lambda path: scan([path])
    )


def _open_text(
    files: Files,
    format: str,
    sniff: Callable[[int], dict[str, str]],
    scan: Callable[[dict[str, str], Sequence[Path]], ir.Table],
    explain: Callable[[Exception], Exception],
    mark: str | None,
) -> Opened:
    def open_with(n_rows: int, widen: Callable[[], Opened] | None) -> Opened:
        try:
            types = sniff(n_rows)
        except Exception as error:
            raise explain(error) from error
        return Opened(
            scan(types, files.paths),
            format,
            files.place,
            files=files.paths,
            reopen=lambda path: scan(types, [path]),
            line_of=partial(_line_of, mark),
            widen=widen,
            explain=explain,
        )

    return open_with(_SNIFFED_ROWS, lambda: open_with(-1, None))


def _csv_options(mark: str) -> str:
    marks = ", ".join(_quoted(text) for text in MISSING_MARKS)
    return (
        f"header=true, delim={_quoted(mark)}, quote='\"', escape='\"', skip=0, comment='', nullstr=[{marks}], "
        "null_padding=false, ignore_errors=false, strict_mode=true, buffer_size=8388608"
    )


def _described(
    backend: Backend, reader: str, paths: Sequence[Path], options: str, names: Sequence[str] | None = None
) -> dict[str, str]:
    """Columns and DuckDB types; a column that has no value in the rows looked at may still be anything."""
    rows = backend.con.execute(f"DESCRIBE SELECT * FROM {reader}({_listed(paths)}, {options})").fetchall()
    return {
        name: "JSON" if str(row[1]).strip('"') == "NULL" else str(row[1])
        for name, row in zip(names or [row[0] for row in rows], rows, strict=True)
    }


def _answers(backend: Backend, paths: Sequence[Path], mark: str, types: dict[str, str], n_rows: int) -> list[str]:
    """Columns of yes and no, y and n: DuckDB takes them for booleans, and the words would be lost."""
    names = [name for name, kind in types.items() if kind == "BOOLEAN"]
    if not names:
        return []
    columns = ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in types)
    options = f"{_csv_options(mark)}, auto_detect=false, columns={{{columns}}}"
    said = ", ".join(f"bool_and(lower({_identifier(name)}) IN ('true', 'false'))" for name in names)
    some = "" if n_rows < 0 else f" LIMIT {n_rows}"
    query = f"SELECT {said} FROM (SELECT * FROM read_csv({_listed(paths)}, {options}){some})"
    found = backend.con.execute(query).fetchone()
    return [name for name, is_plain in zip(names, found, strict=True) if not is_plain]


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _delimiter(header: str) -> str:
    return max(_DELIMITERS, key=header.count)


def _read_header(path: Path, mark: str) -> list[str]:
    with open_text(path) as lines:
        names = next((row for row in csv.reader(lines, delimiter=mark) if row), [])
    if names and all(_is_number(name) for name in names):
        raise LogError(f"{path}, line 1: looks like data, not like the names of columns: {mark.join(names)}")
    names = [name.strip() or f"Unnamed: {place}" for place, name in enumerate(names)]
    check_names(names, f"{path}, line 1")
    return names


def _explain_csv(files: Files, mark: str, error: Exception) -> Exception:
    """The first ragged row, by its line; otherwise the database's own words."""
    for path in files.paths:
        with open_text(path) as lines:
            rows = csv.reader(lines, delimiter=mark, strict=True)
            try:
                width = len(next(rows))
                for row in rows:
                    if len(row) not in (0, width):
                        what = f"{len(row)} columns where the header has {width}: {mark.join(row)[:80]!r}"
                        return LogError(f"{path}, line {rows.line_num}: {what}")
            except csv.Error as wrong:
                return LogError(f"{path}, line {rows.line_num}: {wrong}")
    return LogError(f"{files.place}: {in_words(error)}")


def _explain_json(files: Files, error: Exception) -> Exception:
    """The first line that is not an object, by its number; otherwise the database's own words."""
    for path in files.paths if files.suffix != ".json" else ():
        with open_text(path) as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    if line.strip() and not isinstance(json.loads(line), dict):
                        return LogError(f"{path}, line {number}: not a JSON object: {line.strip()[:80]!r}")
                except json.JSONDecodeError as wrong:
                    shown = line.strip()[:80]
                    return LogError(f"{path}, line {number}: not JSON ({wrong.msg}): {shown!r}")
    return LogError(f"{files.place}: {in_words(error)}")


def _line_of(mark: str | None, path: Path, row: int) -> int | None:
    """The line on which a row ends; rows are counted from 0, lines from 1."""
    with open_text(path) as lines:
        if mark is None:
            filled = (number for number, line in enumerate(lines, start=1) if line.strip())
            return next((number for place, number in enumerate(filled) if place == row), None)
        rows = csv.reader(lines, delimiter=mark)
        for place, _ in enumerate(cells for cells in rows if cells):
            if place == row + 1:  # the header is a row too
                return rows.line_num
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _listed(paths: Sequence[Path]) -> str:
    return "[" + ", ".join(_quoted(glob_escape(path)) for path in paths) + "]"


def glob_escape(path: Path) -> str:
    """A path as DuckDB takes it: a star in a file's name is a star."""
    import glob

    return glob.escape(str(path))


def _has_suffix(*suffixes: str) -> Callable[[object], bool]:
    return lambda thing: isinstance(thing, Files) and thing.suffix in suffixes


SOURCES = (
    SourceKind("csv", _has_suffix(".csv"), open_csv, takes_files=True),
    SourceKind("tsv", _has_suffix(".tsv"), partial(open_csv, delimiter="\t"), takes_files=True),
    SourceKind("parquet", _has_suffix(".parquet", ".pq"), open_parquet, takes_files=True),
    SourceKind("jsonl", _has_suffix(".jsonl", ".ndjson", ".json"), open_jsonl, takes_files=True),
)
