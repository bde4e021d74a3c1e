"""One thread for BLAS while anything is built, and as many as before afterwards."""

from __future__ import annotations

import threading

from threadpoolctl import threadpool_info

from headstart.serve.engine.blas import one_blas_thread


def _threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_has_one_thread_until_the_last_of_several_builders_is_done():
    before, is_inside, may_go = _threads(), threading.Event(), threading.Event()

    def build() -> None:
        with one_blas_thread():
            is_inside.set()
            may_go.wait(10)

    other = threading.Thread(target=build)
    with one_blas_thread():
        other.start()
        assert is_inside.wait(10)
    assert _threads() == {1}
    may_go.set()
    other.join()
    assert _threads() == before
