"""Which process may compile a composition, or remove it: a lock in its folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: two processes that begin together both compile, and none removes
    fcntl = None  # type: ignore[assignment]

_LOCK = "lock"
_held: set[Path] = set()  # by this process; numba's own lock lets one thread at a time compile


@contextmanager
def only_one_compiles(folder: Path) -> Iterator[None]:
    """Other processes wait until this one is done, and then find what it kept."""
    if fcntl is None or folder in _held:
        yield
        return
    try:
        lock = os.open(folder / _LOCK, os.O_WRONLY | os.O_CREAT, 0o600)
    except OSError:  # a folder that can be read and not written to: there is nothing to keep
        yield
        return
    _held.add(folder)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        _held.discard(folder)
        os.close(lock)


@contextmanager
def try_to_lock(folder: Path) -> Iterator[bool]:
    """Whether nobody compiles here, and nobody will until this is done."""
    if fcntl is None:
        yield False
        return
    try:
        lock = os.open(folder / _LOCK, os.O_WRONLY)
    except FileNotFoundError:  # nobody ever compiled here
        yield True
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours = True
    except OSError:
        is_ours = False
    try:
        yield is_ours
    finally:
        os.close(lock)
