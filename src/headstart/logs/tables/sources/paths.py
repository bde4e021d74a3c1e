"""From what the caller wrote to local files: a path, a folder, a pattern or a list of them."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, TypeAlias, TypeGuard

from headstart.addresses import mask_secrets
from headstart.errors import LogError
from headstart.logs.tables.connection import log_errors
from headstart.logs.tables.sources.opened import Files

Written: TypeAlias = str | os.PathLike[str] | list[str | os.PathLike[str]] | tuple[str | os.PathLike[str], ...]
_COMPRESSED = (".gz", ".zst", ".bz2")


def is_path(source: object) -> TypeGuard[Written]:
    """A path, or a list of paths."""
    if isinstance(source, str | os.PathLike):
        return True
    return isinstance(source, list | tuple) and bool(source) and all(isinstance(x, str | os.PathLike) for x in source)


def find_files(source: Written, suffixes: Sequence[str], format: str | None) -> Files:
    """The files that a path, a folder or a pattern means; all of one format, none of them empty."""
    written = [os.fspath(path) for path in (source if isinstance(source, list | tuple) else [source])]
    given = ", ".join(written)
    paths = [path for each in written for path in _expand(each, suffixes)]
    kinds = {suffix_of(path) for path in paths}
    if len(kinds) > 1 and format is None:
        raise LogError(f"{given}: files of several kinds ({', '.join(sorted(kinds))}); name one, e.g. with a pattern")
    for path in paths:
        if path.stat().st_size == 0:
            raise LogError(f"{path}: the file is empty")
        with log_errors(str(path)), path.open("rb"):
            pass
    return Files(tuple(paths), suffix_of(paths[0]), given)


def suffix_of(path: Path) -> str:
    """The suffix that tells the format: that of the name without compression."""
    name = path.name.lower()
    for ending in _COMPRESSED:
        name = name.removesuffix(ending)
    return Path(name).suffix


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """The text of a file, decompressed, line by line in little memory; a byte-order mark is passed over."""
    import io

    import pyarrow as pa

    with log_errors(str(path)), pa.input_stream(str(path), compression="detect") as stream:
        yield io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")


def read_first_line(path: Path) -> str:
    """The first line that has anything on it."""
    with open_text(path) as lines:
        return next((line for line in lines if line.strip()), "")


def _expand(written: str, suffixes: Sequence[str]) -> list[Path]:
    if "://" in written:
        shown = mask_secrets(written)
        raise LogError(
            f"{shown}: headstart reads local files and postgresql://...::table; open others with Ibis and hand over "
            f"the table, e.g. read_log(ibis.duckdb.connect().read_parquet({shown!r}))"
        )
    path = Path(written).expanduser()
    if path.is_dir():
        inside = sorted(
            found
            for found in path.rglob("*")
            if found.is_file()
            and not any(part.startswith((".", "_")) for part in found.relative_to(path).parts)
            and (suffix_of(found) in suffixes)
        )
        if not inside:
            raise LogError(f"{written}: the folder has no file that headstart reads ({', '.join(suffixes)})")
        return inside
    if path.exists():
        return [path]
    if glob.has_magic(written):
        found = sorted(Path(name) for name in glob.glob(str(path), recursive=True) if Path(name).is_file())
        if not found:
            raise LogError(f"{written}: no file matches this pattern")
        return found
    raise LogError(f"{written}: no such file or folder")
