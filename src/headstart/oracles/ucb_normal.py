"""UCB for normal outcomes of unknown mean and variance (Cowan, Honda and Katehakis 2018)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.checks import check_n_actions
from headstart.kernels import absorb, implements, kernel, play, probabilities, take_action, update
from headstart.kernels.arrays import total
from headstart.kernels.moments import absorb_moments, new_moments, take_moments, update_moments
from headstart.kernels.widths import normal_width
from headstart.oracles.compiled import CompiledOracle, Readings


class UCBNormalState(NamedTuple):
    counts: Floats  # (K,)
    sums: Floats  # (K,)
    means: Floats  # (K,)
    squares: Floats  # (K,) squared deviations from the mean


@kernel
def _width(state: Any, action: Any, log_n: float) -> float:
    n = state.counts[action]
    return normal_width(log_n, n, state.squares[action] / n) if n > 0.0 else math.inf


@implements(play, UCBNormalState)
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


@implements(probabilities, UCBNormalState)
def _probabilities(state: Any, context: Any, available: Any, out: Any) -> None:
    out[:] = 0.0
    out[play(state, context, available)] = 1.0


implements(update, UCBNormalState)(update_moments)
implements(absorb, UCBNormalState)(absorb_moments)
implements(take_action, UCBNormalState)(take_moments)


class UCBNormal(CompiledOracle):
    """Play the largest mean + s sqrt(n^(2 / (n_a - 2)) - 1); deterministic, ties to the lowest index.

    s is the standard deviation seen so far, so outcomes may have any scale; n counts every play. Asymptotically
    optimal for normal outcomes. Every action is played three times first; virtual plays count. It is not for outcomes
    that may all be equal for long, such as rare successes: a spread of 0 ends exploration. KLUCB is.
    """

    def __init__(self, n_actions: int) -> None:
        n = check_n_actions(n_actions)
        super().__init__(n, UCBNormalState(*new_moments(n)))

    def readings(self) -> Readings:
        """Plays, means and mean -+ the confidence width."""
        counts, means, _, _ = super().readings()
        log_n = math.log(max(counts.sum(), 1.0))
        width = np.array([_width(self._state, a, log_n) for a in range(self.n_actions)])
        centre = np.nan_to_num(means)
        return Readings(counts, means, centre - width, centre + width)
