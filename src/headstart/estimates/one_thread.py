"""scikit-learn on one thread: sums of several have no order, and on few rows threads wait longer than they work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Only a library that is loaded can be told its number of threads, so scikit-learn is imported first."""
    import sklearn.ensemble  # noqa: F401
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield
