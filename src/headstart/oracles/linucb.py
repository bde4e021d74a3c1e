"""LinUCB: the upper confidence bound of a linear model (BanditOracle 2; Li et al. 2010)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats, Integers
from headstart.checks import check_number
from headstart.estimates.features import Features, check_features
from headstart.kernels import implements, play, probabilities, update
from headstart.kernels.ridge import PHI, WHITENED, dot, fill_features, learn_and_count, whiten
from headstart.oracles.linear import LinearOracle, new_linear


class LinUCBState(NamedTuple):
    counts: Floats  # (K,)
    sums: Floats  # (K,)
    means: Floats  # (K,)
    theta: Floats  # (G, p)
    factors: Floats  # (G, p, p) S, lower triangular, with V^-1 = S S'
    groups: Integers  # (K,) which theta and S an action has
    columns: Integers  # (K or 1, m) phi's columns of x
    weights: Floats  # (K or 1, m)
    scratch: Floats  # (N_SCRATCH, p)
    beta: float


@implements(play, LinUCBState)
def _play(state: Any, context: Any, available: Any) -> Any:
    phi, whitened = state.scratch[PHI], state.scratch[WHITENED]
    is_same = state.columns.shape[0] == 1  # phi does not depend on the action
    if is_same:
        fill_features(state, context, 0)
    best = -1
    best_index = -np.inf
    for a in range(available.size):
        if available[a]:
            if not is_same:
                fill_features(state, context, a)
            group = state.groups[a]
            width = math.sqrt(whiten(state.factors[group], phi, whitened))
            index = dot(phi, state.theta[group]) + state.beta * width
            if best < 0 or index > best_index:
                best = a
                best_index = index
    return best


@implements(probabilities, LinUCBState)
def _probabilities(state: Any, context: Any, available: Any, out: Any) -> None:
    out[:] = 0.0
    out[play(state, context, available)] = 1.0


implements(update, LinUCBState)(learn_and_count)


class LinUCB(LinearOracle):
    """Play the largest theta'phi(x, a) + beta sqrt(phi'V^-1 phi); deterministic, ties to the lowest index.

    Parameters
    ----------
    n_actions, n_features
        Actions, and the length of a context. Nothing is added to it: put a constant 1 into it for an intercept.
    beta
        The factor of the confidence width; 0 is greedy.
    ridge
        V starts at ridge times the identity (the paper's is 1).
    features
        phi: by default `features.disjoint`, x itself with a theta per action. `features.blocks`,
        `features.products`, or a `FeatureTable` of your own: one theta for all, compiled as well. A
        `FeatureFunction`: any Python function.

    Notes
    -----
    A decision costs O(m^2 / 2) per available action, an update O(m^2), memory O(m^2) per theta (m the length of
    phi). The confidence bound holds for outcomes that are linear in phi, with noise of scale 1.
    """

    def __init__(
        self,
        n_actions: int,
        n_features: int,
        beta: float = 1.0,
        ridge: float = 1.0,
        features: Features | None = None,
    ) -> None:
        phi = check_features(features, n_actions, n_features)
        width = check_number("beta", beta, low=0.0)
        super().__init__(phi, LinUCBState(*new_linear(phi, check_number("ridge", ridge, low=1e-12)), width))

    @property
    def beta(self) -> float:
        """The factor of the confidence width."""
        return float(self._state.beta)

    def score(self, contexts: ArrayLike) -> Floats:
        """The upper bounds of many contexts at once, (n, K); `play` takes the largest of a row."""
        means, widths = self.predict(contexts)
        widths *= self.beta
        means += widths
        return means
