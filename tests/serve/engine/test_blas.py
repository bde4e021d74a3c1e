"""One thread for BLAS while anything is built, and as many as before afterwards."""

from __future__ import annotations

import threading

import numpy  # noqa: F401 (the BLAS that is looked at)
from threadpoolctl import threadpool_info

from headstart.serve.engine.blas import one_blas_thread
from tests.processors import run_as_on

_CHECK = "from tests.serve.engine.test_blas import check_limits; check_limits()"


def _threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def check_limits() -> None:
    """To be called where BLAS has two threads."""
    assert _threads() == {2}
    seen = []

    def build() -> None:
        with one_blas_thread(), one_blas_thread():  # a build may estimate propensities within
            seen.append(_threads())

    others = [threading.Thread(target=build) for _ in range(4)]
    with one_blas_thread():
        for other in others:
            other.start()
        assert _threads() == {1}
    for other in others:
        other.join()
    assert seen == [{1}] * 4
    assert _threads() == {2}


def test_blas_has_one_thread_while_anything_is_built_and_as_many_as_before_afterwards():
    run_as_on(None, _CHECK, OPENBLAS_NUM_THREADS="2")
