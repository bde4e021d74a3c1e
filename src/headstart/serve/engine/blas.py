"""BLAS on one thread while something is fitted: how a sum is split among threads shows in its last bits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

_lock = threading.Lock()
_n_inside = 0
_limit: threadpool_limits | None = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Several experiments may be built at once, and the limit is the process's: the last one out takes it away."""
    global _n_inside, _limit
    with _lock:
        _n_inside += 1
        if _limit is None:
            _limit = threadpool_limits(1, user_api="blas")
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            if _n_inside == 0 and _limit is not None:
                _limit.restore_original_limits()
                _limit = None
