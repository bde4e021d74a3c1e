"""More workers: the same runs by one thread, two threads, two processes and a Dask cluster of two, by the clock.

Compiled runs let Python's lock go, so threads may share them; what is plain Python, setting a run up included, needs
processes. The regrets are compared: they are the same whoever computes them. `python -m benchmarks.workers`
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext

import joblib
import numpy as np
from tests.plain import SlowUCB

import headstart as hs
from benchmarks.timing import print_table
from headstart.simulation.simulate import MakePolicy
from headstart.worlds import Synthetic

WORKERS = 2
WARM: Mapping[str, MakePolicy] = {
    "warm": lambda world, log, rng: hs.WarmStart(hs.UCB(world.n_actions), hs.IPSWeighting(log), rng=rng)
}
JOBS: dict[str, tuple[Mapping[str, MakePolicy], int, int]] = {  # policies, runs, rounds
    "UCB from a log, compiled": (WARM, 4000, 2000),
    "the same, longer runs": (WARM, 1000, 20_000),
    "start from a log, compiled": ({"start": lambda world, log, rng: hs.start(log, rng=rng)}, 200, 2000),
    "UCB in plain Python": ({"plain": lambda world, log, rng: SlowUCB(world.n_actions)}, 200, 1000),
}


@contextmanager
def dask() -> Iterator[None]:
    """A cluster of worker processes on this machine, at joblib's service."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
        joblib.parallel_config("dask"),
    ):
        yield


HOW: dict[str, tuple[Callable[[], AbstractContextManager[object]], int | None]] = {
    "1 thread": (nullcontext, 1),
    "2 threads": (nullcontext, WORKERS),
    "2 processes": (lambda: joblib.parallel_config("loky", n_jobs=WORKERS), None),
    "a Dask cluster of 2": (dask, None),
}


def main() -> None:
    """Print the table."""
    rows = []
    for job, (policies, runs, rounds) in JOBS.items():
        first: np.ndarray | None = None
        alone = 0.0
        for how, (context, n_jobs) in HOW.items():
            with context():
                hs.simulate(Synthetic(), policies, rounds, 32, seed=1, n_jobs=n_jobs)  # processes have begun
                began = time.perf_counter()
                curves = hs.simulate(Synthetic(), policies, rounds, runs, seed=2, n_jobs=n_jobs)
                seconds = time.perf_counter() - began
            regrets = np.stack([curve.regrets for curve in curves.values()])
            if first is None:
                first, alone = regrets, seconds
            same = "the same" if np.array_equal(regrets, first) else "OTHERS"
            rows.append((f"{job}: {runs:,} runs, {rounds:,} users", how, seconds, f"{alone / seconds:.2f}", same))
    title = f"Runs by workers, {os.cpu_count()} cores; load of the machine {os.getloadavg()[0]:.1f}"
    told = [(job, how, f"{seconds:.2f}", faster, same) for job, how, seconds, faster, same in rows]
    print_table(title, ("runs", "workers", "clock, s", "times one thread", "regrets"), told)


if __name__ == "__main__":
    main()
