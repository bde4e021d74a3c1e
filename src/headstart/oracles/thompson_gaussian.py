"""Thompson sampling with Gaussian posteriors (BanditOracle 4)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Words
from headstart.checks import check_n_actions, check_number
from headstart.kernels import implements, play, probabilities, take_action, update
from headstart.kernels.choice import NORMAL, probability_of_best
from headstart.kernels.random import draw_normal
from headstart.kernels.tally import Tally, new_tally, take_tally, update_tally
from headstart.oracles.compiled import CompiledOracle
from headstart.oracles.scores import play_largest, score
from headstart.parts import Readings
from headstart.randomness import RNG, as_words


class ThompsonGaussianState(NamedTuple):
    tally: Tally
    scale: float
    rng: Words  # (4,)


@implements(score, ThompsonGaussianState)
def _score(state: ThompsonGaussianState, context: Floats, action: int, level: float) -> float:
    deviation = state.scale / math.sqrt(state.tally.counts[action] + 1.0)
    return state.tally.means[action] + deviation * draw_normal(state.rng)


implements(play, ThompsonGaussianState)(play_largest)


@implements(probabilities, ThompsonGaussianState)
def _probabilities(state: ThompsonGaussianState, context: Floats, available: Bools, out: Floats) -> None:
    deviations = state.scale / np.sqrt(state.tally.counts + 1.0)
    probability_of_best(NORMAL, state.tally.means, deviations, available, out)


implements(update, ThompsonGaussianState)(update_tally)
implements(take_action, ThompsonGaussianState)(take_tally)


class ThompsonGaussian(CompiledOracle[ThompsonGaussianState]):
    """Draw from N(mean_a, scale^2 / (n_a + 1)) per action, play the largest draw.

    `scale` is the standard deviation one expects of an outcome; an action without data is drawn around 0.
    `probabilities` are computed by quadrature, to 1e-9, not sampled.

    Parameters
    ----------
    n_actions
        How many actions there are: 0 .. n_actions - 1.
    scale
        The standard deviation that one expects of an outcome.
    rng
        A numpy Generator or a seed; None draws a new one.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> oracle = hs.ThompsonGaussian(2, scale=0.5, rng=1)
    >>> oracle.update(None, action=1, outcome=1.0)
    >>> oracle.probabilities(None).round(3)
    array([0.051, 0.949])
    """

    def __init__(self, n_actions: int, scale: float = 1.0, rng: RNG = None) -> None:
        n = check_n_actions(n_actions)
        width = check_number("scale", scale, low=1e-12)
        super().__init__(n, ThompsonGaussianState(new_tally(n), width, as_words(rng)))

    def readings(self) -> Readings:
        """Plays, means and the central 95 % of each posterior."""
        counts, means, _, _ = super().readings()
        half = 1.959963984540054 * self._state.scale / np.sqrt(counts + 1.0)
        return Readings(counts, means, self._state.tally.means - half, self._state.tally.means + half)
