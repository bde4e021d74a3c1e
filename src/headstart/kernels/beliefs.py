"""What is believed of each action: a mixture of priors of its mean, some of them a log's, and what users made of it.

Outcomes are normal, or 0 and 1. Normal: the mean is N(centre_j, v / size_j) with chance exp(log_prior_j), where v,
the variance of outcomes, is known as well as from `freedom` outcomes (normal-inverse-gamma). 0 and 1: it is Beta with
mean centre_j, worth size_j outcomes. The level of all actions may be off from the log's (kernels.levels).
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from headstart.arrays import Floats, Scratch
from headstart.kernels.arrays import make_chances
from headstart.kernels.beta import log_beta
from headstart.kernels.compile import kernel
from headstart.kernels.levels import Levels, average_levels, weigh_levels
from headstart.kernels.moments import Moments, add_to_moments, spread_within


class Belief(NamedTuple):
    """J priors of the mean of each action, and their posteriors by what users did."""

    centres: Floats  # (K, J) of the prior's components
    sizes: Floats  # (K, J) plays that they are worth
    log_priors: Floats  # (K, J) logarithms of their chances
    log_others: Floats  # (J,) the same without the log
    variances: Floats  # (K,) prior variance of an outcome; 0: unknown, the users' so far stands in
    freedoms: Floats  # (K,) outcomes that the prior variance is worth
    is_binary: bool  # outcomes are 0 and 1
    levels: Levels  # one, for outcomes 0 and 1
    weights: Floats  # (K, J) chances of the components by now
    locations: Floats  # (K, J) their posterior means
    scales: Floats  # (K, J) and scales; 0: all outcomes were equal so far
    known: Floats  # (K, J) plays that they are worth by now
    before: Scratch  # (G,)


class Believing(Protocol):
    """A state that holds a belief, and what users did."""

    @property
    def tally(self) -> Moments: ...
    @property
    def belief(self) -> Belief: ...


@kernel
def _weigh_normal(
    belief: Belief, a: int, n: float, mean: float, squares: float, variance: float, spread: float,
    weights: Floats, locations: Floats, scales: Floats,
) -> float:  # fmt: skip
    """Posterior of each component of action a, weighed by its marginal likelihood, whose logarithm is returned."""
    freedom = belief.freedoms[a] + n
    top = -np.inf
    for j in range(weights.size):
        prior = belief.sizes[a, j]
        if spread > 0.0:
            prior = 1.0 / (1.0 / prior + spread / variance)
        size = prior + n
        apart = mean - belief.centres[a, j]
        around = belief.freedoms[a] * variance + squares + prior * n / size * apart * apart
        locations[j] = (prior * belief.centres[a, j] + n * mean) / size
        scales[j] = math.sqrt(around / (freedom * size))
        weights[j] = belief.log_priors[a, j] + 0.5 * math.log(prior / size) - 0.5 * freedom * math.log(around)
        top = max(top, weights[j])
    return top + math.log(make_chances(weights, top))


@kernel
def _weigh_binary(
    belief: Belief, a: int, n: float, mean: float, weights: Floats, locations: Floats, scales: Floats
) -> None:
    """The same of outcomes 0 and 1."""
    top = -np.inf
    successes = n * mean
    for j in range(weights.size):
        first, second = belief.centres[a, j] * belief.sizes[a, j], (1.0 - belief.centres[a, j]) * belief.sizes[a, j]
        size = belief.sizes[a, j] + n
        middle = (first + successes) / size
        locations[j] = middle
        scales[j] = math.sqrt(max(middle * (1.0 - middle), 0.0) / (size + 1.0))
        evidence = log_beta(first + successes, second + n - successes) - log_beta(first, second)
        weights[j] = belief.log_priors[a, j] + evidence
        top = max(top, weights[j])
    make_chances(weights, top)


@kernel
def _weigh(tally: Moments, belief: Belief, a: int, variance: float) -> None:
    """What is believed of action a, at every level that is possible."""
    levels, n, squares = belief.levels, tally.counts[a], tally.squares[a]
    if belief.variances[a] == 0.0:  # the log does not tell the spread: that of all users is every action's
        squares = n * variance
    for j in range(belief.sizes.shape[1]):
        belief.known[a, j] = belief.sizes[a, j] + n
    if belief.is_binary:
        _weigh_binary(belief, a, n, tally.means[a], belief.weights[a], belief.locations[a], belief.scales[a])
        return
    if levels.offsets.size == 1:
        _weigh_normal(
            belief, a, n, tally.means[a], squares, variance, 0.0,
            belief.weights[a], belief.locations[a], belief.scales[a],
        )  # fmt: skip
        return
    for g in range(levels.offsets.size):
        if levels.chances[g] > 0.0:
            mean, spread = tally.means[a] - levels.offsets[g], 0.0 if g == 0 else levels.spread
            levels.evidences[g, a] = _weigh_normal(
                belief, a, n, mean, squares, variance, spread,
                levels.weights[g, a], levels.locations[g, a], levels.scales[g, a],
            )  # fmt: skip
            levels.predicted[g, a] = 0.0
            for j in range(belief.weights.shape[1]):
                levels.predicted[g, a] += levels.weights[g, a, j] * levels.locations[g, a, j]


@kernel
def _average(tally: Moments, belief: Belief) -> None:
    """What is believed of each action over all levels."""
    for a in range(belief.sizes.shape[0]):
        for j in range(belief.sizes.shape[1]):
            belief.known[a, j] = belief.sizes[a, j] + tally.counts[a]
    average_levels(belief.levels, belief.weights, belief.locations, belief.scales, belief.known)


@kernel
def _reweigh(state: Believing, action: int) -> None:
    """The posterior of an action anew, and the levels by what its evidence became."""
    belief, levels = state.belief, state.belief.levels
    if belief.is_binary or levels.offsets.size == 1:
        _weigh(state.tally, belief, action, belief.variances[action])
        return
    for g in range(levels.offsets.size):
        belief.before[g] = levels.evidences[g, action]
    _weigh(state.tally, belief, action, belief.variances[action])
    weigh_levels(levels, belief.before, action)
    _average(state.tally, belief)


@kernel
def learn(state: Believing, action: int, outcome: float, variance: float) -> None:
    """An outcome of this action, or, with a variance, an average of outcomes: the tally and what is believed.

    While the variance has to come from users it is every action's.
    """
    tally, belief = state.tally, state.belief
    add_to_moments(tally, action, outcome, variance)
    if belief.variances[action] > 0.0:
        _reweigh(state, action)
        return
    found = spread_within(tally)
    if found > 0.0:
        for a in range(tally.counts.size):
            _weigh(tally, belief, a, found)


@kernel
def take_log_back(state: Believing, action: int) -> None:
    """The prior of an action as if the log had not shown it."""
    belief = state.belief
    for j in range(belief.log_others.size):
        belief.log_priors[action, j] = belief.log_others[j]
    if belief.variances[action] > 0.0:
        _reweigh(state, action)
    else:
        found = spread_within(state.tally)
        if found > 0.0:
            _weigh(state.tally, belief, action, found)


def settle(belief: Belief) -> Moments:
    """Weigh every action before any user, where the log tells the variance; returns the tally of nobody."""
    tally = Moments(*np.zeros((len(Moments._fields), belief.variances.size)))
    known = np.flatnonzero(belief.variances > 0.0).tolist()
    for a in known:
        _weigh(tally, belief, a, belief.variances[a])
    if known and belief.levels.offsets.size > 1 and not belief.is_binary:
        _average(tally, belief)
    return tally
