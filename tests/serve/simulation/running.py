"""Running seeds: each in a folder of its own, in memory where there is such a folder; failures by seed and cause."""

from __future__ import annotations

import logging
import multiprocessing
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.serve.simulation.simulation import Simulation

_PLACE = "/dev/shm" if Path("/dev/shm").is_dir() else None
_TOLD_EVERY = 250  # seeds between two lines of progress


class Result(NamedTuple):
    """What became of a seed."""

    seed: int
    seconds: float
    cause: str | None = None
    trace: str = ""

    def line(self) -> str:
        """For people."""
        return f"seed {self.seed}: {'kept every promise' if self.cause is None else self.cause}, {self.seconds:.2f} s"


def run_seed(seed: int, tell: Callable[[str], None] | None = None) -> Result:
    """One seed. Wild numbers overflow in interpreted kernels, and what the service logs is looked at elsewhere."""
    started = time.perf_counter()
    logging.getLogger("headstart.serve").disabled = True
    with tempfile.TemporaryDirectory(prefix="headstart-simulation-", dir=_PLACE) as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            Simulation(seed, Path(folder), tell or (lambda line: None)).run()
        except Exception as error:  # any: a broken promise, or what the service let through
            cause = f"{type(error).__name__}: {error}".replace("\n", " ").replace(folder, "")
            return Result(seed, time.perf_counter() - started, cause, traceback.format_exc())
    return Result(seed, time.perf_counter() - started)


def run_many(seeds: range, jobs: int) -> int:
    """Many seeds, with progress; how many failed."""
    started, failed = time.perf_counter(), 0
    for n, found in enumerate(_results(seeds, jobs), start=1):
        if found.cause is not None:
            failed += 1
            print(f"seed {found.seed}: {found.cause:.400}", flush=True)
        if n % _TOLD_EVERY == 0:
            print(f"{n:,} seeds, {failed} failed, {time.perf_counter() - started:.0f} s", flush=True)
    print(f"{len(seeds):,} seeds, {failed} failed, {time.perf_counter() - started:.0f} s", flush=True)
    return failed


def _results(seeds: range, jobs: int) -> Iterator[Result]:
    if jobs == 1:
        yield from map(run_seed, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(run_seed, seeds, chunksize=10)
