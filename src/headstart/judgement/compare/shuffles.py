"""Runs over shuffles of one log, in which all policies meet the same rows, in the same order, with the same draws."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.regression import predict_from
from headstart.judgement.compare.noise import REPEATS, LifeTally
from headstart.judgement.compare.policies import TODAY, StartPolicy
from headstart.logs.log import Log
from headstart.simulation.acceptance import ROBUST, Acceptance
from headstart.simulation.rejection import Life, live, live_as_logged
from headstart.simulation.spreading import spread

Lives: TypeAlias = dict[str, tuple[Life, float]]  # by policy, with the seconds that it took


@dataclass(frozen=True)
class Shuffles:
    """The runs of a comparison: those of the log itself, then REPEATS times as many of bootstrap logs."""

    rows: Log
    policies: Mapping[str, StartPolicy]
    acceptance: Acceptance
    chances: Floats | None  # (n, K) of every action for every row; None where nothing is lent
    n_log: int  # rows to start from; the others are lived through
    shuffles: int
    is_by_time: bool
    seed: int

    @property
    def names(self) -> tuple[str, ...]:
        """The policies, and the one that made the log."""
        return (*self.policies, TODAY)

    def tally(
        self, checkpoints: Integers, n_jobs: int | None, progress: Callable[[int], None] | None
    ) -> dict[str, LifeTally]:
        """What the runs of each policy add up to.

        Results are taken in their order: sums have the same bits from any number of workers.
        """
        gains = _gains(self.rows)
        tallies = {name: LifeTally(len(self.rows), self.shuffles, checkpoints) for name in self.names}

        def take(run: int, lives: Lives) -> None:
            for name, (life, seconds) in lives.items():
                gain = 0.0 if name == TODAY else float(gains[life.accepted, life.choices].mean())
                tallies[name].add(run, life, self.rows.outcomes, gain, seconds)

        for run, lives in enumerate(spread(self._run, self._runs, n_jobs)):
            take(run, lives)
            if progress is not None:
                progress(len(self.policies))
        return tallies

    @property
    def _runs(self) -> int:
        return (1 + REPEATS) * self.shuffles

    def _run(self, run: int) -> Lives:
        for_rows, for_policy, for_draws = np.random.SeedSequence(self.seed, spawn_key=(run,)).spawn(3)
        part, order = self._deal(run, np.random.default_rng(for_rows))
        start = self.rows.take(part)
        predicted = predict_from(start, self.rows.contexts) if self.acceptance.method == ROBUST else None
        uniforms = np.random.default_rng(for_draws).random(order.size)
        lives: Lives = {TODAY: (live_as_logged(self.rows, order, self.acceptance.n_rounds), 0.0)}
        for name, make in self.policies.items():
            started = time.perf_counter()
            policy = make(start, np.random.default_rng(for_policy))
            life = live(policy, self.rows, order, uniforms, self.acceptance, predicted, self.chances)
            lives[name] = (life, time.perf_counter() - started)
        return lives

    def _deal(self, run: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
        """Rows to start from and rows to live through; in a bootstrap run some units come more than once, others not.

        A unit is a row where the log knows no units. By lot, all that is of one unit is on one side.
        """
        n, n_log = len(self.rows), self.n_log
        units = np.arange(n) if self.rows.units is None else self.rows.units
        n_units = int(units.max()) + 1
        of_log = None
        if run >= self.shuffles:
            key = (self._runs + (run - self.shuffles) // REPEATS,)
            of_log = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))
        if self.is_by_time:  # the first rows stay the first
            first, rest = np.arange(n_log), np.arange(n_log, n)
            if of_log is None:
                return first, rest
            return _resample(first, units[first], of_log), _resample(rest, units[rest], of_log)
        times = np.ones(n_units, dtype=np.int64)
        if of_log is not None:
            times = np.bincount(of_log.integers(n_units, size=n_units), minlength=n_units)
        places = rng.permutation(n_units)[units]
        rows = np.repeat(np.arange(n), times[units])
        rows = rows[np.argsort(places[rows], kind="stable")]
        cut = _whole_units(places[rows], n_log)
        return rng.permutation(rows[:cut]), rng.permutation(rows[cut:])


def _gains(rows: Log) -> Floats:
    """What each action is worth for each row more than the log's own mix of actions, by a regression, (n, K)."""
    predicted = predict_from(rows, rows.contexts)
    shares = np.bincount(rows.actions, minlength=rows.n_actions) / len(rows)
    gains: Floats = predicted - (predicted @ shares)[:, None]
    return gains


def _resample(rows: Integers, units: Integers, rng: np.random.Generator) -> Integers:
    """The rows of as many units, drawn with replacement, in their order."""
    present, index = np.unique(units, return_inverse=True)
    times = np.bincount(rng.integers(present.size, size=present.size), minlength=present.size)
    return np.repeat(rows, times[index])


def _whole_units(units: Integers, n_rows: int) -> int:
    """About so many of the first rows, such that no unit is cut in two; at least one unit on either side."""
    ends = np.flatnonzero(np.diff(units)) + 1
    return int(ends[np.abs(ends - n_rows).argmin()])
