"""Files that are there as a whole or not at all: whoever is killed in the middle leaves what stood there before."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def write_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path beside `path` to write to. When the block ends it takes its place; if that fails it goes."""
    target = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(handle)
    written = Path(name)
    try:
        yield written
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        with written.open("rb+") as file:
            os.fsync(file.fileno())
        written.chmod(mode)
        written.replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            written.unlink()
        raise
    _sync_folder(target.parent)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """That the name is there survives the machine too; some systems cannot open a folder."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
