"""Spreading: independent runs over threads, or over whatever joblib is told to use: processes, Dask, Ray."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from headstart.checks import check_whole
from headstart.threads import one_native_thread

T = TypeVar("T")

_BLOCKS = 16  # for each worker: few enough that sending costs little, enough that nobody waits long for the last


def check_jobs(n_jobs: object) -> int | None:
    """A number of workers; None: one, or as many as `joblib.parallel_config` says."""
    return None if n_jobs is None else check_whole("n_jobs", n_jobs)


def spread(run_one: Callable[[int], T], runs: int, n_jobs: int | None = None) -> Iterator[T]:
    """run_one(0), ..., run_one(runs - 1), in that order, whoever computes them.

    Within `with joblib.parallel_config("dask")` (or "loky", or "ray") runs go there, in blocks; otherwise they are
    threads of this process, for compiled runs let Python's lock go. A run has its own randomness by its number, so
    the numbers are the same wherever it is computed. An interruption or an error ends the rest.
    """
    return spread_blocks(partial(_run_each, run_one), runs, n_jobs)


def spread_blocks(run_block: Callable[[Sequence[int]], list[T]], runs: int, n_jobs: int | None = None) -> Iterator[T]:
    """The same, for somebody who computes several runs together: what `run_block` has for each of them."""
    here = os.getpid()
    with one_native_thread("blas"):  # the runs are the workers; more would only wait for each other
        yield from run_block(range(1))  # compiles what there is to compile before workers would wait for it
        from joblib import Parallel, delayed

        workers = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator", pre_dispatch="all")
        size = max((runs - 1) // (_BLOCKS * _count(workers.n_jobs)), 1)
        blocks = [range(first, min(first + size, runs)) for first in range(1, runs, size)]
        for found in workers(delayed(_run_limited)(run_block, block, here) for block in blocks):
            yield from found


def _count(n_jobs: int) -> int:
    from joblib import effective_n_jobs

    return max(int(effective_n_jobs(n_jobs)), 1)


def _run_each(run_one: Callable[[int], T], block: Sequence[int]) -> list[T]:
    return [run_one(run) for run in block]


def _run_limited(run_block: Callable[[Sequence[int]], list[T]], block: Sequence[int], home: int) -> list[T]:
    """The runs of a block. In `home`, the process that asked, BLAS is limited already."""
    if os.getpid() == home:
        return run_block(block)
    with one_native_thread("blas"):
        return run_block(block)
