"""Discounted UCB: outcomes count less as they get old, for worlds that drift (Garivier and Moulines 2011)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.checks import check_n_actions, check_number
from headstart.kernels import absorb, implements, play, probabilities, update
from headstart.kernels.arrays import total
from headstart.kernels.tally import age_tally, new_tally, update_tally
from headstart.kernels.widths import worst_width
from headstart.oracles.compiled import CompiledOracle, Readings


class DiscountedUCBState(NamedTuple):
    counts: Floats  # (K,) discounted
    sums: Floats  # (K,) discounted
    means: Floats  # (K,)
    gamma: float  # what a user's coming leaves of all that came before
    beta: float


@implements(play, DiscountedUCBState)
def _play(state: Any, context: Any, available: Any) -> Any:
    log_n = math.log(max(total(state.counts), 1.0))
    best = -1
    best_bound = -np.inf
    for a in range(available.size):
        if available[a]:
            bound = state.means[a] + state.beta * worst_width(log_n, state.counts[a])
            if state.counts[a] == 0.0:
                bound = math.inf  # also where beta or the logarithm is 0
            if best < 0 or bound > best_bound:
                best = a
                best_bound = bound
    return best


@implements(probabilities, DiscountedUCBState)
def _probabilities(state: Any, context: Any, available: Any, out: Any) -> None:
    out[:] = 0.0
    out[play(state, context, available)] = 1.0


@implements(update, DiscountedUCBState)
def _update(state: Any, context: Any, action: Any, outcome: Any) -> None:
    age_tally(state, state.gamma)
    update_tally(state, context, action, outcome)


@implements(absorb, DiscountedUCBState)
def _absorb(state: Any, context: Any, action: Any, outcome: Any, variance: Any) -> None:
    update_tally(state, context, action, outcome)  # a virtual play takes no time: nothing gets older by it


class DiscountedUCB(CompiledOracle):
    """Play the largest mean + beta sqrt(2 ln n / n_a), all counted with weights that halve every `half_life` users.

    Garivier and Moulines' 2 B sqrt(xi ln n / n_a) with B = 1 and xi = 1/2 is beta = 1. It remembers about
    1.44 half_life users, so it never stops exploring: regret grows with the rounds, slowly, where UCB's may grow at
    once when the best action changes. Virtual plays take no time: the log ages with the users, not with its size.
    """

    def __init__(self, n_actions: int, half_life: float, beta: float = 1.0) -> None:
        n = check_n_actions(n_actions)
        gamma = 0.5 ** (1.0 / check_number("half_life", half_life, low=1.0))
        super().__init__(n, DiscountedUCBState(*new_tally(n), gamma, check_number("beta", beta, low=0.0)))

    def readings(self) -> Readings:
        """Discounted plays, their means, and mean -+ the confidence width."""
        counts, means, _, _ = super().readings()
        log_n = math.log(max(counts.sum(), 1.0))
        width = np.array([self._state.beta * worst_width(log_n, n) if n else math.inf for n in counts])
        centre = np.nan_to_num(means)
        return Readings(counts, means, centre - width, centre + width)
