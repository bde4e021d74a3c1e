"""Runs over shuffles of one log, in which all policies meet the same rows, in the same order, with the same draws."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from headstart.arrays import Integers
from headstart.estimates.regression import predict_from
from headstart.judgement.compare.noise import REPEATS, LifeTally
from headstart.judgement.compare.policies import StartPolicy
from headstart.logs.log import Log
from headstart.simulation.rejection import ROBUST, Acceptance, Life, live

Lives: TypeAlias = dict[str, tuple[Life, float]]  # by policy, with the seconds that it took


@dataclass(frozen=True)
class Shuffles:
    """The runs of a comparison: those of the log itself, then REPEATS times as many of bootstrap logs."""

    rows: Log
    policies: Mapping[str, StartPolicy]
    acceptance: Acceptance
    n_log: int  # rows to start from; the others are lived through
    shuffles: int
    is_by_time: bool
    seed: int

    def tally(
        self, checkpoints: Integers, n_jobs: int, progress: Callable[[int], None] | None
    ) -> dict[str, LifeTally]:
        """What the runs of each policy add up to.

        Runs are in threads, results taken in their order: sums have the same bits from any number of threads.
        """
        tallies = {name: LifeTally(len(self.rows), self.shuffles, checkpoints) for name in self.policies}

        def take(run: int, lives: Lives) -> None:
            for name, (life, seconds) in lives.items():
                tallies[name].add(run, life, self.rows.outcomes, seconds)

        def run_one(run: int) -> Lives:
            return self._run(run, progress)

        with threadpool_limits(1, user_api="blas"):  # the runs are the threads; more would only wait for each other
            take(0, run_one(0))  # compiles what there is to compile before threads would wait for it
            with ThreadPoolExecutor(n_jobs) as pool:
                try:
                    for run, lives in enumerate(pool.map(run_one, range(1, self._runs)), start=1):
                        take(run, lives)
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
        return tallies

    @property
    def _runs(self) -> int:
        return (1 + REPEATS) * self.shuffles

    def _run(self, run: int, progress: Callable[[int], None] | None) -> Lives:
        for_rows, for_policy, for_draws = np.random.SeedSequence(self.seed, spawn_key=(run,)).spawn(3)
        part, order = self._deal(run, np.random.default_rng(for_rows))
        start = self.rows.take(part)
        predicted = predict_from(start, self.rows.contexts) if self.acceptance.method == ROBUST else None
        uniforms = np.random.default_rng(for_draws).random(order.size)
        lives: Lives = {}
        for name, make in self.policies.items():
            started = time.perf_counter()
            policy = make(start, np.random.default_rng(for_policy))
            life = live(policy, self.rows, order, uniforms, self.acceptance, predicted)
            lives[name] = (life, time.perf_counter() - started)
            if progress is not None:
                progress(1)
        return lives

    def _deal(self, run: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
        """Rows to start from and rows to live through; of rows drawn with replacement in a bootstrap run."""
        n, n_log = len(self.rows), self.n_log
        order = np.arange(n)
        if run >= self.shuffles:
            of_log = np.random.SeedSequence(self.seed, spawn_key=(self._runs + (run - self.shuffles) // REPEATS,))
            order = np.random.default_rng(of_log).integers(n, size=n)
            if self.is_by_time:  # the first rows stay the first
                order = np.sort(np.concatenate([order[:n_log] % n_log, n_log + order[n_log:] % (n - n_log)]))
        if not self.is_by_time:
            order = order[rng.permutation(n)]
        return order[:n_log], order[n_log:]
