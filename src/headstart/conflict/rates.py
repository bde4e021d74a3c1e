"""How often the conflict test alarms for outcomes of a kind, and how soon: by simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart import kernels
from headstart.checks import check_whole
from headstart.conflict.watch import WatchState, new_watch, see
from headstart.errors import OptionError
from headstart.summary import Summary

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]
"""(generator, n) -> n outcomes of one action."""


@dataclass(frozen=True)
class AlarmRate:
    """Runs of the test on one action."""

    runs: int
    alarms: NDArray[np.int64]  # (runs,) the users that had come at the alarm; 0: none
    users: int

    @property
    def rate(self) -> float:
        """The share of runs with an alarm."""
        return float(np.count_nonzero(self.alarms) / self.runs)

    @property
    def median(self) -> float:
        """Users at the alarm, the median over all runs; infinite if half of them have none."""
        return float(np.median(np.where(self.alarms > 0, self.alarms.astype(np.float64), np.inf)))


def measure_alarms(
    draw: Draw,
    n_log: int,
    users: int,
    runs: int,
    *,
    bias: float = 0.0,
    is_weighted: bool = False,
    level: float = 0.05,
    effect: float = 0.0625,
    seed: int = 0,
) -> AlarmRate:
    """Let a log of `n_log` rows and then `users` users come, `runs` times, and look after each user.

    `bias` is added to the log's outcomes: 0 measures false alarms, anything else the time to find it. With
    `is_weighted` the log's mean weighs rows by 1/p, p uniform on [0.1, 0.9], its standard error by linearisation. The
    answers hold for a test of one action at this level; for K they are those of level / K.
    """
    for name, value in (("n_log", n_log), ("users", users), ("runs", runs)):
        check_whole(name, value)
    if n_log < 2:
        raise OptionError(f"n_log must be at least 2 to have a variance, got {n_log}")
    rng = np.random.default_rng(seed)
    walk = kernels.compiled(_walk, WatchState)
    alarms = np.empty(runs, dtype=np.int64)
    for run in range(runs):
        weights = 1.0 / rng.uniform(0.1, 0.9, n_log) if is_weighted else np.ones(n_log)
        state = new_watch(_summarise(draw(rng, n_log) + bias, weights), level, effect)
        alarms[run] = walk(state, np.ascontiguousarray(draw(rng, users), dtype=np.float64))
    return AlarmRate(runs, alarms, users)


def _walk(state: Any, outcomes: Any) -> Any:
    for i in range(outcomes.size):
        if see(state, 0, outcomes[i]):
            return i + 1
    return 0


def _summarise(outcomes: NDArray[np.float64], weights: NDArray[np.float64]) -> Summary:
    """As IPSWeighting.summary does, for one action."""
    n, shares = outcomes.size, weights / weights.sum()
    mean = shares @ outcomes
    apart = outcomes - mean
    size = 1.0 / (shares @ shares)
    variance = shares @ (apart * apart) * size / (size - 1.0)
    error = np.sqrt((shares * shares) @ (apart * apart) * n / (n - 1.0))
    return Summary(np.array([mean]), np.array([error]), np.array([variance]))
