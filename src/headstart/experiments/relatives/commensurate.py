"""A commensurate prior: users' means are around the log's, by how much is learnt as well (Hobbs et al. 2011)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Words
from headstart.checks import check_n_actions, check_number
from headstart.estimates.summary import Summary
from headstart.experiments.relatives.known import as_known
from headstart.kernels import implements, kernel, play, probabilities, update
from headstart.kernels.mixtures import Mixtures, probability_of_best_mixture
from headstart.kernels.random import draw_category, draw_normal
from headstart.kernels.tally import Tally, new_tally, update_tally
from headstart.oracles.compiled import CompiledOracle
from headstart.oracles.scores import play_largest, score
from headstart.randomness import RNG, as_words

# How far a user's mean may be from the log's, in an outcome's standard deviations: 1 / sqrt(tau). 0 is the spike.
DISTANCES = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0)


class CommensurateState(NamedTuple):
    tally: Tally
    variance: float  # of an outcome
    centres: Floats  # (K,) the log's means
    spreads: Floats  # (K, J) prior variances of the users' mean: the log's error and the distance
    log_priors: Floats  # (J,)
    weights: Floats  # (K, J) of the posterior
    locations: Floats  # (K, J)
    scales: Floats  # (K, J)
    rng: Words  # (4,)


@kernel
def _refresh(state: CommensurateState, action: int) -> None:
    """The posterior of each distance, and of the mean given it."""
    n, mean, centre = state.tally.counts[action], state.tally.means[action], state.centres[action]
    weights, top = state.weights[action], -np.inf
    for j in range(weights.size):
        spread = state.spreads[action, j]
        weights[j] = state.log_priors[j]
        if n > 0.0:
            around = spread + state.variance / n
            weights[j] -= 0.5 * (math.log(around) + (mean - centre) ** 2 / around)
        top = max(top, weights[j])
        share = n * spread / (n * spread + state.variance)
        state.locations[action, j] = centre + share * (mean - centre)
        state.scales[action, j] = math.sqrt(spread * (1.0 - share))
    total = 0.0
    for j in range(weights.size):
        weights[j] = math.exp(weights[j] - top)
        total += weights[j]
    for j in range(weights.size):
        weights[j] /= total


@implements(score, CommensurateState)
def _score(state: CommensurateState, context: Floats, action: int, level: float) -> float:
    j = draw_category(state.rng, state.weights[action])
    return state.locations[action, j] + state.scales[action, j] * draw_normal(state.rng)


implements(play, CommensurateState)(play_largest)


@implements(probabilities, CommensurateState)
def _probabilities(state: CommensurateState, context: Floats, available: Bools, out: Floats) -> None:
    nothing = np.full(out.size, np.inf)
    draws = Mixtures(state.weights, state.locations, state.scales, nothing, nothing, nothing)
    probability_of_best_mixture(draws, available, out)


@implements(update, CommensurateState)
def _update(state: CommensurateState, context: Floats, action: int, outcome: float) -> None:
    update_tally(state, context, action, outcome)
    _refresh(state, action)


class Commensurate(CompiledOracle[CommensurateState]):
    """Thompson sampling from mu_a ~ N(mu_a of the log, 1/tau), the log's known up to its standard error.

    tau, the commensurability, is unknown: its posterior falls where an action's users are far from its log, which is
    then borrowed from less. It is independent from action to action.

    How it is read: Hobbs, Carlin, Mandrekar and Sargent 2011 (doi 10.1111/j.1541-0420.2011.01564.x) and the documents
    of R's psborrow2 and hdbayes, who have it with a spike and a slab. What is ours: the grid of 1 / sqrt(tau), the
    spike at 0 with chance `spike` and the rest shared evenly; a known variance, the log's; an action that the log
    never shows is one deviation around the mean of the others.
    """

    def __init__(self, summary: Summary, spike: float = 0.5, rng: RNG = None) -> None:
        n = check_n_actions(len(summary.means))
        share = check_number("spike", spike, 1e-9, 1.0 - 1e-9)
        known = as_known(summary, n)
        is_known, variance = known.sizes > 0.0, known.scale**2
        errors = np.where(is_known, variance / np.where(is_known, known.sizes, 1.0), variance)
        middle = float(known.means[is_known].mean()) if is_known.any() else 0.0
        spreads = errors[:, None] + variance * np.square(DISTANCES)
        slab = (1.0 - share) / (len(DISTANCES) - 1)
        state = CommensurateState(
            new_tally(n),
            variance,
            np.where(is_known, known.means, middle),
            spreads,
            np.log(np.array([share] + [slab] * (len(DISTANCES) - 1))),
            np.ones(spreads.shape),
            np.ones(spreads.shape),
            np.ones(spreads.shape),
            as_words(rng),
        )
        super().__init__(n, state)
        for a in range(n):
            _refresh(state, a)
