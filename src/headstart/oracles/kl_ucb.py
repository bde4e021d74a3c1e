"""KL-UCB: bounds as narrow as outcomes in [0, 1] allow (Garivier and Cappe 2011)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.checks import check_n_actions, check_number, check_outcome_in
from headstart.kernels import implements, kernel, play, probabilities, take_action, update
from headstart.kernels.arrays import total
from headstart.kernels.bernoulli import divergence_upper
from headstart.kernels.tally import new_tally, take_tally, update_tally
from headstart.oracles.compiled import CompiledOracle, Readings


class KLUCBState(NamedTuple):
    counts: Floats  # (K,)
    sums: Floats  # (K,)
    means: Floats  # (K,)
    c: float


@kernel
def _exploration(state: Any) -> float:
    """ln n + c ln ln n."""
    log_n = math.log(max(total(state.counts), 1.0))
    return log_n + state.c * math.log(max(log_n, 1.0))


@implements(play, KLUCBState)
def _play(state: Any, context: Any, available: Any) -> Any:
    exploration = _exploration(state)
    best = -1
    best_bound = -np.inf
    for a in range(available.size):
        if available[a]:
            if state.counts[a] == 0.0:
                return a
            bound = divergence_upper(state.means[a], exploration / state.counts[a])
            if best < 0 or bound > best_bound:
                best = a
                best_bound = bound
    return best


@implements(probabilities, KLUCBState)
def _probabilities(state: Any, context: Any, available: Any, out: Any) -> None:
    out[:] = 0.0
    out[play(state, context, available)] = 1.0


implements(update, KLUCBState)(update_tally)
implements(take_action, KLUCBState)(take_tally)


class KLUCB(CompiledOracle):
    """Play the largest q with n_a kl(mean_a, q) <= ln n + c ln ln n; deterministic, ties to the lowest index.

    kl is the divergence of two Bernoulli distributions. Outcomes must lie in [0, 1]; one outside is an error.
    Asymptotically optimal for binary outcomes, whose variance is known once the mean is; c = 0 is what the authors
    advise in practice, c = 3 what their proof needs. An action never played comes first.
    """

    outcome_range = (0.0, 1.0)

    def __init__(self, n_actions: int, c: float = 0.0) -> None:
        n = check_n_actions(n_actions)
        super().__init__(n, KLUCBState(*new_tally(n), check_number("c", c, low=0.0)))

    def readings(self) -> Readings:
        """Plays, means and both ends of {q: n_a kl(mean_a, q) <= ln n + c ln ln n}."""
        counts, means, _, _ = super().readings()
        exploration = _exploration(self._state)
        pairs = zip(means, counts, strict=True)
        lower, upper = np.transpose([_ends(mean, exploration / n) if n else (0.0, 1.0) for mean, n in pairs])
        return Readings(counts, means, lower, upper)

    def _check_outcome(self, outcome: Any) -> float:
        return check_outcome_in(outcome, *self.outcome_range, "KLUCB")


def _ends(mean: float, level: float) -> tuple[float, float]:
    return 1.0 - divergence_upper(1.0 - mean, level), divergence_upper(mean, level)
