"""One thread for BLAS while anything is built, and as many as before afterwards."""

from __future__ import annotations

import threading

from threadpoolctl import threadpool_info

from headstart.serve.engine.blas import one_blas_thread


def _threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_has_one_thread_while_anything_is_built_and_as_many_as_before_afterwards():
    before, seen = _threads(), []

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
    assert _threads() == before
