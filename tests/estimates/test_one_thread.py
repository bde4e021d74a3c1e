"""One thread for scikit-learn, from the first call of a process on."""

from __future__ import annotations

import os
import subprocess
import sys

from threadpoolctl import threadpool_info, threadpool_limits

from headstart.estimates.one_thread import one_thread


def _threads() -> dict[str, set[int]]:
    pools = threadpool_info()
    return {kind: {p["num_threads"] for p in pools if p["user_api"] == kind} for kind in ("openmp", "blas")}


def test_the_first_call_of_a_process_has_one_thread_too():
    """A limit that is set before scikit-learn is loaded limits nothing."""
    code = "from tests.estimates.test_one_thread import _threads, one_thread\nwith one_thread(): print(_threads())"
    several = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    told = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **several}, capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "{'openmp': {1}, 'blas': {1}}"


def test_there_are_as_many_as_before_afterwards():
    import sklearn.ensemble  # noqa: F401

    with threadpool_limits(2):
        with one_thread():
            assert _threads() == {"openmp": {1}, "blas": {1}}
        assert _threads() == {"openmp": {2}, "blas": {2}}
