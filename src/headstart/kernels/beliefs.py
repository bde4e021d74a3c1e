"""What is believed of each action: a mixture of normal priors, of which one is the log's, and what users made of it.

The prior of an action: its mean is N(centre_j, v / size_j) with chance exp(log_prior_j), where v, the variance of its
outcomes, is known as well as from `freedom` outcomes (normal-inverse-gamma).
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from headstart.arrays import Floats
from headstart.kernels.arrays import make_chances
from headstart.kernels.compile import kernel
from headstart.kernels.moments import Moments, spread_within


class Belief(NamedTuple):
    """J priors of the mean of each action, and their posteriors by what users did."""

    centres: Floats  # (K, J) of the prior's components
    sizes: Floats  # (K, J) plays that they are worth
    log_priors: Floats  # (K, J) logarithms of their chances
    log_others: Floats  # (J,) the same without the log
    variances: Floats  # (K,) prior variance of an outcome; 0: unknown, the users' so far stands in
    freedoms: Floats  # (K,) outcomes that the prior variance is worth
    weights: Floats  # (K, J) chances of the components by now
    locations: Floats  # (K, J) their posterior means
    scales: Floats  # (K, J) and scales; 0: all outcomes were equal so far


class Believing(Protocol):
    """A state that holds a belief, and what users did."""

    @property
    def tally(self) -> Moments: ...
    @property
    def belief(self) -> Belief: ...


@kernel
def _weigh(tally: Moments, belief: Belief, a: int, variance: float) -> None:
    """Posterior of each component of action a, weighed by its marginal likelihood."""
    n, mean = tally.counts[a], tally.means[a]
    freedom = belief.freedoms[a] + n
    n_components = belief.centres.shape[1]
    top = -np.inf
    for j in range(n_components):
        size = belief.sizes[a, j] + n
        apart = mean - belief.centres[a, j]
        squares = belief.freedoms[a] * variance + tally.squares[a] + belief.sizes[a, j] * n / size * apart * apart
        belief.locations[a, j] = (belief.sizes[a, j] * belief.centres[a, j] + n * mean) / size
        belief.scales[a, j] = math.sqrt(squares / (freedom * size))
        evidence = 0.5 * math.log(belief.sizes[a, j] / size) - 0.5 * freedom * math.log(squares)
        belief.weights[a, j] = belief.log_priors[a, j] + evidence
        top = max(top, belief.weights[a, j])
    make_chances(belief.weights[a], top)


@kernel
def refresh(state: Believing, action: int) -> None:
    """The posterior after an outcome of this action; of every action while the variance has to come from users."""
    tally, belief = state.tally, state.belief
    if belief.variances[action] > 0.0:
        _weigh(tally, belief, action, belief.variances[action])
        return
    variance = spread_within(tally)
    if variance > 0.0:
        for a in range(tally.counts.size):
            _weigh(tally, belief, a, variance)


@kernel
def take_log_back(state: Believing, action: int) -> None:
    """The prior of an action as if the log had not shown it."""
    belief = state.belief
    for j in range(belief.log_others.size):
        belief.log_priors[action, j] = belief.log_others[j]
    refresh(state, action)


def settle(belief: Belief) -> Moments:
    """Weigh every action before any user, where the log tells the variance; returns the tally of nobody."""
    tally = Moments(*np.zeros((len(Moments._fields), belief.variances.size)))
    for a in np.flatnonzero(belief.variances > 0.0).tolist():
        _weigh(tally, belief, a, belief.variances[a])
    return tally
