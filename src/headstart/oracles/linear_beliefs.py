"""Several Bayesian linear models of each action, from one that believes the log to one that does not.

Each outcome updates every model of its action and re-weighs them by their marginal likelihood, the noise's variance
unknown (normal-inverse-gamma). What `kernels.beliefs` is to means, this is to means by context.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Scratch
from headstart.kernels import kernel
from headstart.kernels.arrays import make_chances
from headstart.kernels.ridge import PHI, WHITENED, dot, learn_row, whiten, whiten_first
from headstart.kernels.tally import Tally
from headstart.priors.linear import Interactions

LEAST = 1e-9  # models of a smaller chance are left out


class LinearBelief(NamedTuple):
    """J models of each action, how they see a context, and their chances by what users did."""

    theta: Floats  # (K, J, p) centres
    factors: Floats  # (K, J, p, p) S, lower triangular, with V^-1 = S S'
    squares: Floats  # (K, J) sums of squared one-step errors, each divided by its 1 + phi'V^-1 phi
    volumes: Floats  # (K, J) sums of ln(1 + phi'V^-1 phi) / 2
    log_priors: Floats  # (K, J) logarithms of the chances before any user
    chances: Floats  # (K, J) and now
    variance: float  # of the log's noise; 0: not known, the users' so far stands in
    freedoms: Floats  # (K,) outcomes that it is worth
    products: Interactions  # that stand in phi after the columns of x
    scratch: Scratch  # (N_SCRATCH, p)


class Forecast(NamedTuple):
    """Room for what the models say of one user."""

    centres: Scratch  # (K, J) phi'theta
    squares: Scratch  # (K, J) phi'V^-1 phi, or the first term of its sum, which is less
    scales: Scratch  # (K, J) sigma |phi'V^-1 e|, e the average user
    values: Scratch  # (K,) the models' average of phi'theta
    is_close: Scratch  # (K,) 1: the squares are whole


def new_forecast(*shape: int) -> Forecast:
    """Room for users, (..., K, J)."""
    return Forecast(*(np.zeros(shape) for _ in range(3)), *(np.zeros(shape[:-1]) for _ in range(2)))


@kernel
def _fill(belief: LinearBelief, context: Floats) -> None:
    """phi: the columns of x, then their products."""
    phi, m = belief.scratch[PHI], context.size
    for j in range(m):
        phi[j] = context[j]
    pairs, centres, scales, bound = belief.products
    for i in range(pairs.shape[0]):
        first = max(-bound, min(bound, context[pairs[i, 0]]))
        second = max(-bound, min(bound, context[pairs[i, 1]]))
        phi[m + i] = (first * second - centres[i]) * scales[i]


@kernel
def noise_of(belief: LinearBelief, tally: Tally) -> float:
    """The prior variance of the noise: the log's, or what the last models left unexplained so far."""
    if belief.variance > 0.0:
        return belief.variance
    n, unexplained = 0.0, 0.0
    for a in range(tally.counts.size):
        n += tally.counts[a]
        unexplained += belief.squares[a, belief.squares.shape[1] - 1]
    return unexplained / n if n > 0.0 else 0.0


@kernel
def learn_user(belief: LinearBelief, context: Floats, action: int, outcome: float) -> None:
    """One more row for every model of an action, and what it says of the model."""
    _fill(belief, context)
    for j in range(belief.chances.shape[1]):
        error, spread = learn_row(belief.theta[action, j], belief.factors[action, j], belief.scratch, outcome)
        belief.squares[action, j] += error * error / spread
        belief.volumes[action, j] += 0.5 * math.log(spread)


@kernel
def weigh_models(belief: LinearBelief, tally: Tally, a: int) -> None:
    """The models' chances: priors times marginal likelihoods with unknown noise."""
    noise = noise_of(belief, tally)
    if noise <= 0.0:
        return
    freedom = belief.freedoms[a] + tally.counts[a]
    chances = belief.chances[a]
    top = -np.inf
    for j in range(chances.size):
        squares = belief.freedoms[a] * noise + belief.squares[a, j]
        chances[j] = belief.log_priors[a, j] - belief.volumes[a, j] - 0.5 * freedom * math.log(squares)
        top = max(top, chances[j])
    make_chances(chances, top)


@kernel
def fill_deviations(belief: LinearBelief, tally: Tally, noise: float, out: Floats) -> None:
    """sigma: the standard deviation of an outcome by each model of each action, (K, J)."""
    for a in range(out.shape[0]):
        freedom = belief.freedoms[a] + tally.counts[a]
        for j in range(out.shape[1]):
            out[a, j] = math.sqrt((belief.freedoms[a] * noise + belief.squares[a, j]) / freedom)


@kernel
def glance(belief: LinearBelief, context: Floats, available: Bools, deviations: Floats, out: Forecast) -> None:
    """What every model expects of every action for this user; how sure it is, at least."""
    _fill(belief, context)
    phi = belief.scratch[PHI]
    for a in range(available.size):
        out.values[a] = out.is_close[a] = 0.0
        if available[a]:
            for j in range(belief.chances.shape[1]):
                if belief.chances[a, j] > LEAST:
                    first = whiten_first(belief.factors[a, j], phi)
                    out.centres[a, j] = dot(phi, belief.theta[a, j])
                    out.squares[a, j] = first * first
                    out.scales[a, j] = deviations[a, j] * abs(first * belief.factors[a, j, 0, 0])
                    out.values[a] += belief.chances[a, j] * out.centres[a, j]


@kernel
def look_closer(belief: LinearBelief, context: Floats, a: int, out: Forecast) -> None:
    """How sure every model is of an action, exactly, for a user who has been glanced at."""
    if out.is_close[a] > 0.0:
        return
    _fill(belief, context)
    for j in range(belief.chances.shape[1]):
        if belief.chances[a, j] > LEAST:
            out.squares[a, j] = whiten(belief.factors[a, j], belief.scratch[PHI], belief.scratch[WHITENED])
    out.is_close[a] = 1.0


@kernel
def forget_log(belief: LinearBelief, action: int) -> None:
    """The last model of an action, which does without the log, is the only one from now on."""
    last = belief.chances.shape[1] - 1
    for j in range(last + 1):
        belief.log_priors[action, j] = 0.0 if j == last else -np.inf
        belief.chances[action, j] = 1.0 if j == last else 0.0
