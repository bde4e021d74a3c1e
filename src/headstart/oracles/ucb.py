"""UCB1: play the action whose upper confidence bound is largest (BanditOracle 1; Auer et al. 2002)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.checks import check_n_actions, check_number
from headstart.kernels import implements, play, probabilities, take_action, update
from headstart.kernels.tally import new_tally, take_tally, update_tally
from headstart.oracles.compiled import CompiledOracle, Readings


class UCBState(NamedTuple):
    counts: Floats  # (K,)
    sums: Floats  # (K,)
    means: Floats  # (K,)
    beta: float


@implements(play, UCBState)
def _play(state: Any, context: Any, available: Any) -> Any:
    counts = state.counts
    n = 0.0
    for a in range(counts.size):
        if available[a] and counts[a] == 0.0:
            return a
        n += counts[a]
    width = state.beta * math.sqrt(2.0 * math.log(n))
    best = -1
    best_index = -np.inf
    for a in range(counts.size):
        if available[a]:
            index = state.means[a] + width / math.sqrt(counts[a])
            if best < 0 or index > best_index:
                best = a
                best_index = index
    return best


@implements(probabilities, UCBState)
def _probabilities(state: Any, context: Any, available: Any, out: Any) -> None:
    out[:] = 0.0
    out[play(state, context, available)] = 1.0


implements(update, UCBState)(update_tally)
implements(take_action, UCBState)(take_tally)


class UCB(CompiledOracle):
    """Upper confidence bounds: mean + beta sqrt(2 ln n / n_a).

    Deterministic. n counts every play, virtual and online; an action never played comes first; ties go to
    the lowest index. The bound's regret guarantee assumes outcomes in [0, 1]; with beta = 1 its width is
    the worst that such outcomes can need, so a smaller beta often decides better (METHODS.md).
    """

    def __init__(self, n_actions: int, beta: float = 1.0) -> None:
        n = check_n_actions(n_actions)
        super().__init__(n, UCBState(*new_tally(n), check_number("beta", beta, low=0.0)))

    @property
    def beta(self) -> float:
        """The factor of the confidence width."""
        return float(self._state.beta)

    def readings(self) -> Readings:
        """Plays, means and mean -+ the confidence width; an action never played has infinite bounds."""
        counts, means, _, _ = super().readings()
        n = counts.sum()
        width = self.beta * np.sqrt(2.0 * math.log(max(n, 1.0)) / np.maximum(counts, 1.0))
        width[counts == 0] = np.inf
        centre = np.nan_to_num(means)
        return Readings(counts, means, centre - width, centre + width)
