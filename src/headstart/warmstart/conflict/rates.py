"""How often the conflict test alarms for outcomes of a kind, and how soon: by simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headstart import kernels
from headstart.arrays import Bools, Floats, Integers
from headstart.checks import NO_CONTEXT, check_whole
from headstart.errors import OptionError
from headstart.estimates.weighted import weigh_rows
from headstart.evaluators import LinearModel
from headstart.kernels import play, update
from headstart.logs.log import Log
from headstart.oracles import LinUCB
from headstart.warmstart.conflict.conflicts import see
from headstart.warmstart.conflict.linear_watch import LinWatchState, new_linear_watch
from headstart.warmstart.conflict.watch import WatchState, new_watch
from headstart.warmstart.warmstart import WarmStart

Draw = Callable[[np.random.Generator, int], Floats]
"""(generator, n) -> n outcomes of one action."""

DrawUsers = Callable[[np.random.Generator, int], tuple[Floats, Floats]]
"""(generator, n) -> contexts of n users, (n, d), and their outcomes under every action, (n, K)."""


@dataclass(frozen=True)
class AlarmRate:
    """Runs of the test."""

    runs: int
    alarms: Integers  # (runs,) the users of the action at its alarm; 0: none
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
    nobody_else = np.zeros(n_log, dtype=np.int64)  # every row is of the one action
    alarms = np.empty(runs, dtype=np.int64)
    for run in range(runs):
        weights = 1.0 / rng.uniform(0.1, 0.9, n_log) if is_weighted else np.ones(n_log)
        logged = weigh_rows(nobody_else, draw(rng, n_log) + bias, weights, 1).summary
        state = new_watch(logged, level, effect)
        alarms[run] = walk(state, np.ascontiguousarray(draw(rng, users), dtype=np.float64))
    return AlarmRate(runs, alarms, users)


def measure_linear_alarms(
    draw: DrawUsers,
    n_log: int,
    users: int,
    runs: int,
    *,
    bias: float = 0.0,
    level: float = 0.05,
    effect: float = 0.0625,
    seed: int = 0,
) -> AlarmRate:
    """The same for LinConflictWatch, its users chosen by LinUCB warm-started with a linear model of the log.

    The log shows action a with a chance proportional to exp(x_j), j = a mod d, so that its actions have different
    users; `bias` is added to its outcomes of action 0. A run ends with its first alarm, for any action; with a bias,
    for action 0. LinUCB adds no intercept: contexts should hold a constant 1, which the watch drops.
    """
    for name, value in (("n_log", n_log), ("users", users), ("runs", runs)):
        check_whole(name, value)
    rng = np.random.default_rng(seed)
    alarms = np.empty(runs, dtype=np.int64)
    for run in range(runs):
        contexts, outcomes = draw(rng, n_log)
        k, d = outcomes.shape[1], contexts.shape[1]
        chances = np.exp(contexts[:, np.arange(k) % d])
        bounds = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)
        actions = np.minimum((rng.random(n_log)[:, None] > bounds).sum(axis=1), k - 1)
        shown = outcomes[np.arange(n_log), actions] + bias * (actions == 0)
        log = Log(actions, shown, contexts, n_actions=k)
        policy = WarmStart(LinUCB(k, d), LinearModel(log), schedule="batch", rng=rng)
        watch = new_linear_watch(log, level, effect)
        met, what_they_do = (np.ascontiguousarray(each) for each in draw(rng, users))
        state, everything = policy.kernel_state, np.ones(k, dtype=np.bool_)
        assert state is not None
        walk = kernels.compiled(_walk_by_context, *kernels.states_in((state, watch)), allocates=False)
        alarms[run] = walk(state, watch, met, what_they_do, everything, 1 if bias else k)
    return AlarmRate(runs, alarms, users)


def _walk_by_context(
    policy: kernels.State, watch: LinWatchState, contexts: Floats, outcomes: Floats, available: Bools, n_asked: int
) -> int:
    for i in range(contexts.shape[0]):
        action = play(policy, contexts[i], available)
        update(policy, contexts[i], action, outcomes[i, action])
        if see(watch, contexts[i], action, outcomes[i, action]) and action < n_asked:
            return int(watch.tally.counts[action])
    return 0


def _walk(state: WatchState, outcomes: Floats) -> int:
    for i in range(outcomes.size):
        if see(state, NO_CONTEXT, 0, outcomes[i]):
            return i + 1
    return 0
