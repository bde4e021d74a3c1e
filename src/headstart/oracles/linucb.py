"""LinUCB: the upper confidence bound of a linear model (BanditOracle 2; Li et al. 2010)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Bools, Floats
from headstart.checks import check_number
from headstart.estimates.features import Features, check_features
from headstart.kernels import implements, play, probabilities, update
from headstart.kernels.ridge import Ridge, fill_shared, learn_and_count, mean_and_width
from headstart.kernels.tally import Tally
from headstart.oracles.linear import LinearOracle, new_linear
from headstart.oracles.scores import choose_surely, play_largest, score


class LinUCBState(NamedTuple):
    tally: Tally
    ridge: Ridge
    beta: float


@implements(score, LinUCBState)
def _score(state: LinUCBState, context: Floats, action: int, level: float) -> float:
    mean, width = mean_and_width(state.ridge, context, action)
    return mean + state.beta * width


@implements(play, LinUCBState)
def _play(state: LinUCBState, context: Floats, available: Bools) -> int:
    fill_shared(state.ridge, context)
    return play_largest(state, context, available)


implements(probabilities, LinUCBState, allocates=False)(choose_surely)


implements(update, LinUCBState)(learn_and_count)


class LinUCB(LinearOracle[LinUCBState]):
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

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> oracle = hs.LinUCB(2, 3)
    >>> oracle.update([1.0, 0.0, 0.0], action=0, outcome=0.0)
    >>> oracle.play([1.0, 0.0, 0.0])
    1
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

    def batch_probabilities(self, contexts: Floats, available: Bools | None) -> Floats:
        """`probabilities` of many users at once, (n, K), by matrix products."""
        bounds = self.score(contexts)
        if available is not None:
            bounds[~available] = -np.inf
        chances = np.zeros_like(bounds)
        chances[np.arange(len(bounds)), np.argmax(bounds, axis=1)] = 1.0
        return chances

    def score(self, contexts: ArrayLike) -> Floats:
        """The upper bounds of many contexts at once, (n, K); `play` takes the largest of a row."""
        means, widths = self.predict(contexts)
        widths *= self.beta
        means += widths
        return means
