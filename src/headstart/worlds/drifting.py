"""A world that changes: every so many users the actions' success rates move on by one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers, Words
from headstart.checks import check_whole
from headstart.errors import OptionError
from headstart.kernels import draw_outcome, draw_user, expected_outcomes, implements
from headstart.kernels.random import draw_uniform
from headstart.logs.log import Log
from headstart.randomness import as_words
from headstart.worlds.drawn import DrawnWorld, freeze


class DriftingState(NamedTuple):
    rates: Floats  # (K,)
    period: int
    users: Integers  # (1,) that have come
    rng: Words  # (4,)


@implements(draw_user, DriftingState)
def _draw_user(state: DriftingState, out: Floats) -> None:
    state.users[0] += 1


@implements(draw_outcome, DriftingState)
def _draw_outcome(state: DriftingState, action: int) -> float:
    phase = (state.users[0] - 1) // state.period
    return 1.0 if draw_uniform(state.rng) < state.rates[(action + phase) % state.rates.size] else 0.0


@implements(expected_outcomes, DriftingState)
def _expected(state: DriftingState, out: Floats) -> None:
    phase = (state.users[0] - 1) // state.period
    for a in range(out.size):
        out[a] = state.rates[(a + phase) % out.size]


@dataclass(frozen=True)
class Drifting:
    """Binary outcomes without contexts. After each `period` users, action a has the rate that a + 1 had.

    The log is of the time before the first user: a randomised trial of `n_log` rows with the first period's rates.
    Regret is measured against the best action of the moment.
    """

    rates: tuple[float, ...] = (0.3, 0.5, 0.7)
    period: int = 1000
    n_log: int = 300

    def __post_init__(self) -> None:
        if len(self.rates) < 2 or not all(0.0 <= rate <= 1.0 for rate in self.rates):
            raise OptionError(f"rates must be at least two numbers in [0, 1], got {self.rates}")
        check_whole("period", self.period)
        check_whole("n_log", self.n_log)

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """One world of this kind, its log included."""
        rates = np.array(self.rates)
        actions = rng.integers(rates.size, size=self.n_log)
        outcomes = (rng.random(self.n_log) < rates[actions]).astype(np.float64)
        log = Log(actions, outcomes, propensities=np.full(self.n_log, 1.0 / rates.size), n_actions=rates.size)
        state = DriftingState(freeze(rates), self.period, np.zeros(1, dtype=np.int64), as_words(rng))
        return DrawnWorld(log, 0, state)
