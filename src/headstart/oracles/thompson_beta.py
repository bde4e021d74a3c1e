"""Thompson sampling for outcomes in [0, 1] with Beta posteriors (BanditOracle 5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Words
from headstart.checks import check_n_actions, check_outcome_in
from headstart.kernels import implements, play, probabilities, take_action, update
from headstart.kernels.choice import BETA, probability_of_best
from headstart.kernels.random import draw_beta, draw_uniform
from headstart.kernels.tally import Tally, new_tally, take_tally, update_tally
from headstart.oracles.compiled import CompiledOracle
from headstart.oracles.scores import play_largest, score
from headstart.parts import Readings
from headstart.randomness import RNG, as_words


class ThompsonBetaState(NamedTuple):
    tally: Tally
    successes: Floats  # (K,)
    rng: Words  # (4,)


@implements(score, ThompsonBetaState)
def _score(state: ThompsonBetaState, context: Floats, action: int, level: float) -> float:
    s = state.successes[action]
    return draw_beta(state.rng, s + 1.0, state.tally.counts[action] - s + 1.0)


implements(play, ThompsonBetaState)(play_largest)


@implements(probabilities, ThompsonBetaState)
def _probabilities(state: ThompsonBetaState, context: Floats, available: Bools, out: Floats) -> None:
    failures = state.tally.counts - state.successes
    probability_of_best(BETA, state.successes + 1.0, failures + 1.0, available, out)


@implements(update, ThompsonBetaState)
def _update(state: ThompsonBetaState, context: Floats, action: int, outcome: float) -> None:
    update_tally(state, context, action, outcome)
    # An outcome inside (0, 1) counts as one Bernoulli draw with that chance (Agrawal and Goyal 2012).
    if outcome == 1.0 or (outcome > 0.0 and draw_uniform(state.rng) < outcome):
        state.successes[action] += 1.0


@implements(take_action, ThompsonBetaState)
def _take_action(state: ThompsonBetaState, other: ThompsonBetaState, action: int) -> None:
    take_tally(state, other, action)
    state.successes[action] = other.successes[action]


class ThompsonBeta(CompiledOracle[ThompsonBetaState]):
    """Draw from Beta(1 + successes, 1 + failures) per action, play the largest draw.

    Outcomes must lie in [0, 1]; one outside is an error. `probabilities` are computed by quadrature, to
    1e-9, not sampled.

    Parameters
    ----------
    n_actions
        How many actions there are: 0 .. n_actions - 1.
    rng
        A numpy Generator or a seed; None draws a new one.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> oracle = hs.ThompsonBeta(2, rng=1)
    >>> oracle.update(None, action=1, outcome=1.0)
    >>> oracle.probabilities(None).round(3)
    array([0.333, 0.667])
    """

    outcome_range = (0.0, 1.0)

    def __init__(self, n_actions: int, rng: RNG = None) -> None:
        n = check_n_actions(n_actions)
        super().__init__(n, ThompsonBetaState(new_tally(n), np.zeros(n), as_words(rng)))

    def readings(self) -> Readings:
        """Plays, means and the central 95 % of each posterior."""
        from headstart.special import betaincinv

        counts, means, _, _ = super().readings()
        s = self._state.successes
        ends = (betaincinv(s + 1.0, counts - s + 1.0, share) for share in (0.025, 0.975))
        return Readings(counts, means, *ends)

    def _check_outcome(self, outcome: float) -> float:
        return check_outcome_in(outcome, *self.outcome_range, "ThompsonBeta")
