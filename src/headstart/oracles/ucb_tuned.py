"""UCB-Tuned: UCB1 with the observed variance in its width (Auer, Cesa-Bianchi and Fischer 2002, section 4)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.checks import check_n_actions, check_number
from headstart.kernels import absorb, implements, kernel, play, probabilities, take_action, update
from headstart.kernels.arrays import total
from headstart.kernels.moments import absorb_moments, new_moments, take_moments, update_moments
from headstart.oracles.compiled import CompiledOracle, Readings


class UCBTunedState(NamedTuple):
    counts: Floats  # (K,)
    sums: Floats  # (K,)
    means: Floats  # (K,)
    squares: Floats  # (K,) squared deviations from the mean
    scale: float


@kernel
def _width(state: Any, action: Any, log_n: float) -> float:
    n = state.counts[action]
    if n == 0.0:
        return math.inf
    share = log_n / n
    square = state.scale * state.scale
    variance = state.squares[action] / n + square * math.sqrt(2.0 * share)
    return math.sqrt(share * min(0.25 * square, variance))


@implements(play, UCBTunedState)
def _play(state: Any, context: Any, available: Any) -> Any:
    log_n = math.log(max(total(state.counts), 1.0))
    best = -1
    best_bound = -np.inf
    for a in range(available.size):
        if available[a]:
            bound = state.means[a] + _width(state, a, log_n)
            if best < 0 or bound > best_bound:
                best = a
                best_bound = bound
    return best


@implements(probabilities, UCBTunedState)
def _probabilities(state: Any, context: Any, available: Any, out: Any) -> None:
    out[:] = 0.0
    out[play(state, context, available)] = 1.0


implements(update, UCBTunedState)(update_moments)
implements(absorb, UCBTunedState)(absorb_moments)
implements(take_action, UCBTunedState)(take_moments)


class UCBTuned(CompiledOracle):
    """Play the largest mean + sqrt(ln n / n_a min(scale^2 / 4, v_a)); deterministic, ties to the lowest index.

    v_a is the variance seen so far plus scale^2 sqrt(2 ln n / n_a) for its uncertainty, `scale` the length of the
    interval that outcomes lie in, whose variance is at most scale^2 / 4. No regret bound is known. Much better
    than UCB1 for outcomes that keep to the interval, and not safe for those that leave it (METHODS.md).
    """

    def __init__(self, n_actions: int, scale: float = 1.0) -> None:
        n = check_n_actions(n_actions)
        super().__init__(n, UCBTunedState(*new_moments(n), check_number("scale", scale, low=1e-12)))

    def readings(self) -> Readings:
        """Plays, means and mean -+ the confidence width."""
        counts, means, _, _ = super().readings()
        log_n = math.log(max(counts.sum(), 1.0))
        width = np.array([_width(self._state, a, log_n) for a in range(self.n_actions)])
        centre = np.nan_to_num(means)
        return Readings(counts, means, centre - width, centre + width)
