"""Discounted Thompson sampling for outcomes in [0, 1], for worlds that drift (Raj and Kalyani 2017)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Words
from headstart.checks import check_n_actions, check_number, check_outcome_in
from headstart.kernels import absorb, implements, kernel, play, probabilities, update
from headstart.kernels.choice import BETA, probability_of_best
from headstart.kernels.random import draw_beta, draw_uniform
from headstart.kernels.tally import Tally, age_tally, new_tally, update_tally
from headstart.oracles.compiled import CompiledOracle
from headstart.oracles.scores import play_largest, score
from headstart.parts import Readings
from headstart.randomness import RNG, as_words


class DiscountedThompsonState(NamedTuple):
    tally: Tally  # discounted
    successes: Floats  # (K,) discounted
    gamma: float  # what a user's coming leaves of all that came before
    rng: Words  # (4,)


@implements(score, DiscountedThompsonState)
def _score(state: DiscountedThompsonState, context: Floats, action: int, level: float) -> float:
    failures = max(state.tally.counts[action] - state.successes[action], 0.0)
    return draw_beta(state.rng, state.successes[action] + 1.0, failures + 1.0)


implements(play, DiscountedThompsonState)(play_largest)


@implements(probabilities, DiscountedThompsonState)
def _probabilities(state: DiscountedThompsonState, context: Floats, available: Bools, out: Floats) -> None:
    failures = np.maximum(state.tally.counts - state.successes, 0.0)  # rounding may leave less than 0
    probability_of_best(BETA, state.successes + 1.0, failures + 1.0, available, out)


@kernel
def _learn(state: DiscountedThompsonState, context: Floats, action: int, outcome: float) -> None:
    update_tally(state, context, action, outcome)
    # An outcome inside (0, 1) counts as one Bernoulli draw with that chance, as in ThompsonBeta.
    if outcome == 1.0 or (outcome > 0.0 and draw_uniform(state.rng) < outcome):
        state.successes[action] += 1.0


@implements(update, DiscountedThompsonState)
def _update(state: DiscountedThompsonState, context: Floats, action: int, outcome: float) -> None:
    age_tally(state.tally, state.gamma)
    for a in range(state.successes.size):
        state.successes[a] *= state.gamma
    _learn(state, context, action, outcome)


@implements(absorb, DiscountedThompsonState)
def _absorb(state: DiscountedThompsonState, context: Floats, action: int, outcome: float, variance: float) -> None:
    _learn(state, context, action, outcome)  # a virtual play takes no time: nothing gets older by it


class DiscountedThompson(CompiledOracle[DiscountedThompsonState]):
    """Draw from Beta(1 + successes, 1 + failures), counted with weights that halve every `half_life` users.

    With an endless half-life it is ThompsonBeta. Outcomes must lie in [0, 1]; one outside is an error.
    `probabilities` are computed by quadrature, to 1e-9. Virtual plays take no time: the log ages with the users.

    Parameters
    ----------
    n_actions
        How many actions there are: 0 .. n_actions - 1.
    half_life
        Users after which an outcome counts half; at least 1.
    rng
        A numpy Generator or a seed; None draws a new one.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> oracle = hs.DiscountedThompson(2, half_life=100, rng=1)
    >>> oracle.update(None, action=1, outcome=1.0)
    >>> oracle.probabilities(None).round(3)
    array([0.333, 0.667])
    """

    outcome_range = (0.0, 1.0)

    def __init__(self, n_actions: int, half_life: float, rng: RNG = None) -> None:
        n = check_n_actions(n_actions)
        gamma = 0.5 ** (1.0 / check_number("half_life", half_life, low=1.0))
        super().__init__(n, DiscountedThompsonState(new_tally(n), np.zeros(n), gamma, as_words(rng)))

    def readings(self) -> Readings:
        """Discounted plays, their means and the central 95 % of each posterior."""
        from headstart.special import betaincinv

        counts, means, _, _ = super().readings()
        successes = self._state.successes
        failures = np.maximum(counts - successes, 0.0)
        ends = (betaincinv(successes + 1.0, failures + 1.0, share) for share in (0.025, 0.975))
        return Readings(counts, means, *ends)

    def _check_outcome(self, outcome: float) -> float:
        return check_outcome_in(outcome, *self.outcome_range, "DiscountedThompson")
