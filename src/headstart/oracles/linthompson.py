"""LinThompson: Thompson sampling with a linear model (Agrawal and Goyal 2013)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers, Words
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
    correlate,
    dot,
    fill_features,
    learn_and_count,
    whiten,
)
from headstart.oracles.linear import LinearOracle, new_linear
from headstart.randomness import RNG, as_words


class LinThompsonState(NamedTuple):
    counts: Floats  # (K,)
    sums: Floats  # (K,)
    means: Floats  # (K,)
    theta: Floats  # (G, p)
    factors: Floats  # (G, p, p) S, lower triangular, with V^-1 = S S'
    groups: Integers  # (K,) which theta and S an action has
    columns: Integers  # (K or 1, m) phi's columns of x
    weights: Floats  # (K or 1, m)
    scratch: Floats  # (N_SCRATCH, p)
    is_shared: bool
    scale: float
    rng: Words  # (4,)


@implements(play, LinThompsonState)
def _play(state: Any, context: Any, available: Any) -> Any:
    phi, whitened, drawn = state.scratch[PHI], state.scratch[WHITENED], state.scratch[GAIN]
    if state.is_shared:  # one theta is drawn for all actions
        for j in range(state.columns.shape[1]):
            whitened[j] = state.scale * draw_normal(state.rng)
        correlate(state.factors[0], whitened, drawn)
        for j in range(drawn.size):
            drawn[j] += state.theta[0, j]
    is_same = state.columns.shape[0] == 1  # phi does not depend on the action
    if is_same:
        fill_features(state, context, 0)
    best = -1
    best_draw = -np.inf
    for a in range(available.size):
        if available[a]:
            if not is_same:
                fill_features(state, context, a)
            if state.is_shared:
                draw = dot(phi, drawn)
            else:  # theta_a'phi is a normal of its own: one number instead of a vector
                group = state.groups[a]
                width = state.scale * math.sqrt(whiten(state.factors[group], phi, whitened))
                draw = dot(phi, state.theta[group]) + width * draw_normal(state.rng)
            if best < 0 or draw > best_draw:
                best = a
                best_draw = draw
    return best


@implements(probabilities, LinThompsonState)
def _probabilities(state: Any, context: Any, available: Any, out: Any) -> None:
    n_actions, length = available.size, state.scratch.shape[1]
    phi, whitened = state.scratch[PHI], state.scratch[WHITENED]
    means, widths = np.zeros(n_actions), np.zeros(n_actions)
    n_chosen = count_available(available) if state.is_shared else 0
    chosen_means, loadings, chances = np.empty(n_chosen), np.empty((n_chosen, length)), np.empty(n_chosen)
    widest, k = 0.0, 0
    for a in range(n_actions):
        out[a] = 0.0
        if available[a]:
            fill_features(state, context, a)
            group = state.groups[a]
            means[a] = dot(phi, state.theta[group])
            widths[a] = state.scale * math.sqrt(whiten(state.factors[group], phi, whitened))
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


class LinThompson(LinearOracle):
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
