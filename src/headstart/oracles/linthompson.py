"""LinThompson: Thompson sampling with a linear model (Agrawal and Goyal 2013)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Words
from headstart.checks import check_number
from headstart.estimates.features import Features, check_features
from headstart.kernels import implements, play, probabilities, update
from headstart.kernels.choice import NORMAL, best_available, count_available, probability_of_best
from headstart.kernels.joint import joint_probability_of_best
from headstart.kernels.random import draw_normal
from headstart.kernels.ridge import (
    GAIN,
    PHI,
    WHITENED,
    Ridge,
    correlate,
    dot,
    fill_features,
    fill_own,
    fill_shared,
    learn_and_count,
    mean_and_width,
    whiten,
)
from headstart.kernels.tally import Tally
from headstart.oracles.linear import LinearOracle, new_linear
from headstart.oracles.scores import play_largest, score
from headstart.randomness import RNG, as_words


class LinThompsonState(NamedTuple):
    tally: Tally
    ridge: Ridge
    is_shared: bool
    scale: float
    rng: Words  # (4,)


@implements(score, LinThompsonState)
def _score(state: LinThompsonState, context: Floats, action: int, level: float) -> float:
    ridge = state.ridge
    if state.is_shared:
        fill_own(ridge, context, action)
        return dot(ridge.scratch[PHI], ridge.scratch[GAIN])
    # theta_a'phi is a normal of its own: one number, not a vector.
    mean, width = mean_and_width(ridge, context, action)
    return mean + state.scale * width * draw_normal(state.rng)


@implements(play, LinThompsonState)
def _play(state: LinThompsonState, context: Floats, available: Bools) -> int:
    ridge = state.ridge
    if state.is_shared:  # one theta is drawn for all actions
        normals, drawn = ridge.scratch[WHITENED], ridge.scratch[GAIN]
        for j in range(ridge.columns.shape[1]):
            normals[j] = state.scale * draw_normal(state.rng)
        correlate(ridge.factors[0], normals, drawn)
        for j in range(drawn.size):
            drawn[j] += ridge.theta[0, j]
    fill_shared(ridge, context)
    return play_largest(state, context, available)


@implements(probabilities, LinThompsonState)
def _probabilities(state: LinThompsonState, context: Floats, available: Bools, out: Floats) -> None:
    n_actions, length = available.size, state.ridge.scratch.shape[1]
    phi, whitened = state.ridge.scratch[PHI], state.ridge.scratch[WHITENED]
    means, widths = np.zeros(n_actions), np.zeros(n_actions)
    n_chosen = count_available(available) if state.is_shared else 0
    chosen_means, loadings, chances = np.empty(n_chosen), np.empty((n_chosen, length)), np.empty(n_chosen)
    widest, k = 0.0, 0
    for a in range(n_actions):
        out[a] = 0.0
        if available[a]:
            fill_features(state.ridge, context, a)
            group = state.ridge.groups[a]
            means[a] = dot(phi, state.ridge.theta[group])
            widths[a] = state.scale * math.sqrt(whiten(state.ridge.factors[group], phi, whitened))
            widest = max(widest, widths[a])
            if state.is_shared:
                chosen_means[k] = means[a]
                for j in range(length):
                    loadings[k, j] = state.scale * whitened[j]
                k += 1
    if widest == 0.0:  # phi = 0: every draw is 0
        out[best_available(means, available)] = 1.0
    elif state.is_shared:
        joint_probability_of_best(chosen_means, loadings, chances)
        k = 0
        for a in range(n_actions):
            if available[a]:
                out[a] = chances[k]
                k += 1
    else:
        probability_of_best(NORMAL, means, widths, available, out)


implements(update, LinThompsonState)(learn_and_count)


class LinThompson(LinearOracle[LinThompsonState]):
    """Draw theta from N(V^-1 b, scale^2 V^-1), play the largest theta'phi(x, a).

    Parameters
    ----------
    n_actions, n_features, ridge, features
        As in LinUCB.
    scale
        The standard deviation one expects of an outcome's noise.
    rng
        Draws theta.

    Notes
    -----
    Disjoint: the actions' draws are independent and `probabilities` come from quadrature, to 1e-9. Shared: the
    draws depend on each other; two available actions are exact, more are computed on a fixed lattice until its
    standard error is below 1e-4 (at most 131,072 points), the same for the same state. Neither is sampled.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> oracle = hs.LinThompson(2, 3, rng=1)
    >>> oracle.update([1.0, 0.0, 0.0], action=1, outcome=1.0)
    >>> oracle.probabilities([1.0, 0.0, 0.0]).round(3)
    array([0.342, 0.658])
    """

    def __init__(
        self,
        n_actions: int,
        n_features: int,
        scale: float = 1.0,
        ridge: float = 1.0,
        features: Features | None = None,
        rng: RNG = None,
    ) -> None:
        phi = check_features(features, n_actions, n_features)
        fields = new_linear(phi, check_number("ridge", ridge, low=1e-12))
        width = check_number("scale", scale, low=1e-12)
        super().__init__(phi, LinThompsonState(*fields, not phi.is_disjoint, width, as_words(rng)))

    @property
    def scale(self) -> float:
        """The factor of the posterior's standard deviation."""
        return float(self._state.scale)
