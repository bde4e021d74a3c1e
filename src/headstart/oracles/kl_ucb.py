"""KL-UCB: bounds as narrow as outcomes in [0, 1] allow (Garivier and Cappe 2011)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.checks import check_n_actions, check_number, check_outcome_in
from headstart.kernels import implements, play, probabilities, take_action, update
from headstart.kernels.bernoulli import divergence_upper
from headstart.kernels.tally import Tally, new_tally, take_tally, update_tally
from headstart.oracles.compiled import CompiledOracle
from headstart.oracles.scores import choose_surely, level, log_plays, play_largest, score
from headstart.parts import Readings


class KLUCBState(NamedTuple):
    tally: Tally
    c: float


@implements(level, KLUCBState)
def _exploration(state: KLUCBState) -> float:
    """ln n + c ln ln n."""
    log_n = log_plays(state)
    return log_n + state.c * math.log(max(log_n, 1.0))


@implements(score, KLUCBState)
def _score(state: KLUCBState, context: Floats, action: int, level: float) -> float:
    n = state.tally.counts[action]
    return divergence_upper(state.tally.means[action], level / n) if n > 0.0 else math.inf


implements(play, KLUCBState)(play_largest)
implements(probabilities, KLUCBState, allocates=False)(choose_surely)


implements(update, KLUCBState)(update_tally)
implements(take_action, KLUCBState)(take_tally)


class KLUCB(CompiledOracle[KLUCBState]):
    """Play the largest q with n_a kl(mean_a, q) <= ln n + c ln ln n; deterministic, ties to the lowest index.

    kl is the divergence of two Bernoulli distributions. Outcomes must lie in [0, 1]; one outside is an error.
    Asymptotically optimal for binary outcomes, whose variance is known once the mean is; c = 0 is what the authors
    advise in practice, c = 3 what their proof needs. An action never played comes first.

    Parameters
    ----------
    n_actions
        How many actions there are: 0 .. n_actions - 1.
    c
        The weight of ln ln n in the bound; 0 in practice, 3 for the proof.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> oracle = hs.KLUCB(2)
    >>> oracle.update(None, action=0, outcome=1.0)
    >>> oracle.update(None, action=1, outcome=0.0)
    >>> oracle.play(None)
    0
    """

    outcome_range = (0.0, 1.0)

    def __init__(self, n_actions: int, c: float = 0.0) -> None:
        n = check_n_actions(n_actions)
        super().__init__(n, KLUCBState(new_tally(n), check_number("c", c, low=0.0)))

    def readings(self) -> Readings:
        """Plays, means and both ends of {q: n_a kl(mean_a, q) <= ln n + c ln ln n}."""
        counts, means, _, _ = super().readings()
        exploration = _exploration(self._state)
        pairs = zip(means, counts, strict=True)
        lower, upper = np.transpose([_ends(mean, exploration / n) if n else (0.0, 1.0) for mean, n in pairs])
        return Readings(counts, means, lower, upper)

    def _check_outcome(self, outcome: float) -> float:
        return check_outcome_in(outcome, *self.outcome_range, "KLUCB")


def _ends(mean: float, level: float) -> tuple[float, float]:
    return 1.0 - divergence_upper(1.0 - mean, level), divergence_upper(mean, level)
