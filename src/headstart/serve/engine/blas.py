"""BLAS on one thread while something is fitted: how a sum is split among threads shows in its last bits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from headstart.threads import one_native_thread

_lock = threading.RLock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """The limit is the process's, and OpenBLAS lets only the thread that set it take it away: one fit at a time."""
    with _lock, one_native_thread("blas"):
        yield
