"""RobustThompson: Thompson sampling whose prior is the log, as far as the log is trusted."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Bools, Floats, Words
from headstart.checks import check_n_actions
from headstart.estimates.summary import Summary
from headstart.kernels import absorb, implements, kernel, play, probabilities, update, withdraw
from headstart.kernels.beliefs import Belief, learn, settle, take_log_back
from headstart.kernels.choice import draw_available, fill_uniform
from headstart.kernels.mixtures import Mixtures, probability_of_best_mixture
from headstart.kernels.moments import Moments, spread_within
from headstart.kernels.random import draw_student, draw_uniform
from headstart.oracles.beliefs import BelievingOracle
from headstart.oracles.scores import play_largest, score
from headstart.priors.logged import (
    LOGGED,
    RIVAL,
    VAGUE,
    LoggedPrior,
    check_trust,
)
from headstart.priors.options import STILL, LoggedPriorOptions
from headstart.randomness import RNG, as_words

# Standard errors by which the cap is above a draw from users alone: little for an action that the log holds for
# inferior, more for its best one, which a few bad outcomes should not end.
ALLOWANCE, TOP_ALLOWANCE = 0.5, 1.5


class RobustThompsonState(NamedTuple):
    tally: Moments
    belief: Belief
    caps: Floats  # (K,) the scale of the cap above the users' mean; infinite: none
    allowances: Floats  # (K,) of the cap, in its scales
    is_capped: Bools  # (K,)
    rng: Words  # (4,)


@kernel
def _cap(state: RobustThompsonState) -> None:
    """The scale of the users' mean of each action."""
    tally, belief = state.tally, state.belief
    pooled = 0.0
    for a in range(tally.counts.size):
        n = tally.counts[a]
        if state.is_capped[a] and n > 0.0:
            variance = belief.variances[a]
            if variance == 0.0:
                pooled = pooled if pooled > 0.0 else spread_within(tally)
                variance = pooled
            squares = belief.freedoms[a] * variance + tally.squares[a]
            if squares > 0.0:
                state.caps[a] = math.sqrt(squares / ((belief.freedoms[a] + n) * n))


@implements(score, RobustThompsonState)
def _score(state: RobustThompsonState, context: Floats, action: int, level: float) -> float:
    tally, belief = state.tally, state.belief
    left = draw_uniform(state.rng)
    j = LOGGED
    while j < VAGUE and left >= belief.weights[action, j]:
        left -= belief.weights[action, j]
        j += 1
    freedom = belief.freedoms[action] + tally.counts[action]
    draw = belief.locations[action, j] + belief.scales[action, j] * draw_student(state.rng, freedom)
    if state.caps[action] < np.inf:
        above = state.allowances[action] + abs(draw_student(state.rng, freedom))
        draw = min(draw, tally.means[action] + state.caps[action] * above)
    return draw


@implements(play, RobustThompsonState)
def _play(state: RobustThompsonState, context: Floats, available: Bools) -> int:
    if state.belief.scales[0, 0] == 0.0:  # all outcomes so far are one number
        return draw_available(draw_uniform(state.rng), available)
    return play_largest(state, context, available)


@implements(probabilities, RobustThompsonState)
def _probabilities(state: RobustThompsonState, context: Floats, available: Bools, out: Floats) -> None:
    if state.belief.scales[0, 0] == 0.0:
        fill_uniform(available, out)
        return
    belief = state.belief
    freedoms = belief.freedoms + state.tally.counts
    cap_centres = state.tally.means + state.allowances * state.caps
    draws = Mixtures(belief.weights, belief.locations, belief.scales, freedoms, cap_centres, state.caps)
    probability_of_best_mixture(draws, available, out)


@implements(update, RobustThompsonState)
def _update(state: RobustThompsonState, context: Floats, action: int, outcome: float) -> None:
    learn(state, action, outcome, 0.0)
    _cap(state)


@implements(absorb, RobustThompsonState)
def _absorb(state: RobustThompsonState, context: Floats, action: int, outcome: float, variance: float) -> None:
    learn(state, action, outcome, variance)
    _cap(state)


implements(withdraw, RobustThompsonState)(take_log_back)


class RobustThompson(BelievingOracle[RobustThompsonState]):
    """Thompson sampling that starts from a log and lets users overrule it (after Schmidli et al. 2014).

    The prior of an action's mean is a mixture: what the log says, with chance `trust`, and two components for a
    log that is wrong about it (`priors.logged`). Each outcome re-weighs them by their marginal likelihood,
    so a log in conflict with users fades by itself. A play draws a component, then a mean from its posterior, per
    action; no draw exceeds an optimistic one of the users alone, ȳ_a + sqrt(v_a / n_a) (1/2 + abs(t)): a log can make
    an action look better than its users do only for as long as they are few.

    `probabilities` are computed by quadrature, to 1e-8, not sampled. KnowledgeGradient starts from the same prior and
    has less regret where the number of users to come is known to a factor of ten; this one never stops exploring, and
    every action keeps a chance, which whoever reads its log later will want.

    Parameters
    ----------
    n_actions
        How many actions there are: 0 .. n_actions - 1.
    summary
        What the log knows of each action (`evaluator.summary()`). An action it does not show has no logged component.
    trust
        The chance that the log is right about an action: one number in [0, 1], or one per action (the audit suggests
        them); 1 - 0.2 / K by default. 1: nothing but the log, without a cap. 0: the log serves only for the scale.
    rival_share
        Of the distrust, how much goes to the rival; the rest is vague. 0 is the mixture of Schmidli et al.
    is_capped
        False leaves the cap out.
    rng
        A numpy Generator or a seed; None draws a new one.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> log = hs.Log(["text", "video", "text", "video"], [1, 0, 0, 1], propensities=[0.8, 0.2, 0.8, 0.5])
    >>> oracle = hs.RobustThompson(2, hs.IPSWeighting(log).summary(), rng=1)
    >>> round(float(oracle.probabilities(None).sum()), 6)
    1.0
    """

    def __init__(
        self,
        n_actions: int,
        summary: Summary,
        *,
        trust: ArrayLike | None = None,
        rival_share: float = LoggedPriorOptions.rival_share,
        is_capped: bool = True,
        rng: RNG = None,
    ) -> None:
        n = check_n_actions(n_actions)
        chances = check_trust(trust, n)
        options = LoggedPriorOptions(rival_share=rival_share, levels=STILL)
        belief = LoggedPrior.of_summary(summary, chances, options).new_belief()
        is_top = belief.centres[:, LOGGED] >= belief.centres[:, RIVAL]
        state = RobustThompsonState(
            settle(belief),
            belief,
            np.full(n, np.inf),
            np.where(is_top, TOP_ALLOWANCE, ALLOWANCE),
            (chances < 1.0) & bool(is_capped),
            as_words(rng),
        )
        super().__init__(n, state)
