"""Thompson sampling for outcomes of unknown mean and variance, on any scale."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Words
from headstart.checks import check_n_actions, check_number, check_whole
from headstart.kernels import absorb, implements, kernel, play, probabilities, take_action, update
from headstart.kernels.choice import draw_available
from headstart.kernels.mixtures import Mixtures, probability_of_best_mixture
from headstart.kernels.moments import (
    Moments,
    absorb_moments,
    new_moments,
    spread_within,
    take_moments,
    update_moments,
)
from headstart.kernels.random import draw_student, draw_uniform
from headstart.oracles.compiled import CompiledOracle
from headstart.oracles.scores import largest_score, score
from headstart.parts import Readings
from headstart.randomness import RNG, as_words


class ThompsonNormalState(NamedTuple):
    tally: Moments
    first_plays: float
    pooling: float
    rng: Words  # (4,)


@kernel
def _scale(state: ThompsonNormalState, action: int, variance: float) -> float:
    """The posterior's scale: of its Student distribution, with counts + pooling degrees of freedom."""
    n = state.tally.counts[action]
    own = (state.tally.squares[action] + state.pooling * variance) / (n + state.pooling)
    return math.sqrt(own / n)


@kernel
def _count_unknown(state: ThompsonNormalState, available: Bools) -> int:
    n = 0
    for a in range(available.size):
        if available[a] and state.tally.counts[a] < state.first_plays:
            n += 1
    return n


@implements(score, ThompsonNormalState)
def _score(state: ThompsonNormalState, context: Floats, action: int, level: float) -> float:
    freedom = state.tally.counts[action] + state.pooling
    return state.tally.means[action] + _scale(state, action, level) * draw_student(state.rng, freedom)


@implements(play, ThompsonNormalState)
def _play(state: ThompsonNormalState, context: Floats, available: Bools) -> int:
    n_unknown = _count_unknown(state, available)
    if n_unknown > 0:
        skip = int(draw_uniform(state.rng) * n_unknown)
        for a in range(available.size):
            if available[a] and state.tally.counts[a] < state.first_plays:
                if skip == 0:
                    return a
                skip -= 1
    variance = spread_within(state.tally)
    if variance == 0.0:
        return draw_available(draw_uniform(state.rng), available)
    return largest_score(state, context, available, variance)


@implements(probabilities, ThompsonNormalState)
def _probabilities(state: ThompsonNormalState, context: Floats, available: Bools, out: Floats) -> None:
    n_actions = available.size
    out[:] = 0.0
    n_unknown = _count_unknown(state, available)
    variance = spread_within(state.tally)
    if n_unknown > 0 or variance == 0.0:
        n_left = 0.0
        for a in range(n_actions):
            if available[a] and (n_unknown == 0 or state.tally.counts[a] < state.first_plays):
                out[a] = 1.0
                n_left += 1.0
        out /= n_left
        return
    shape = (n_actions, 1)
    centres, scales, freedoms = np.zeros(shape), np.ones(shape), np.ones(n_actions)
    for a in range(n_actions):
        if available[a]:
            centres[a, 0] = state.tally.means[a]
            scales[a, 0] = _scale(state, a, variance)
            freedoms[a] = state.tally.counts[a] + state.pooling
    nothing = np.full(n_actions, np.inf)
    draws = Mixtures(np.ones(shape), centres, scales, freedoms, nothing, nothing)
    probability_of_best_mixture(draws, available, out)


implements(update, ThompsonNormalState)(update_moments)
implements(absorb, ThompsonNormalState)(absorb_moments)
implements(take_action, ThompsonNormalState)(take_moments)


class ThompsonNormal(CompiledOracle[ThompsonNormalState]):
    """Draw from mean_a + sqrt(v_a / n_a) t per action, play the largest draw; nothing has to be known of the scale.

    v_a = (squared deviations of a + pooling v) / (n_a + pooling) is the action's variance, drawn towards the pooled
    variance v of all actions as if that had been seen `pooling` times; t is Student's with n_a + pooling degrees of
    freedom. Each action is first played `first_plays` times, in random order. While all outcomes of all actions are
    equal there is nothing to learn from, and plays are uniform: two equal outcomes never settle an action.

    `probabilities` are computed by quadrature, to 1e-8, not sampled.

    Parameters
    ----------
    n_actions
        How many actions there are: 0 .. n_actions - 1.
    pooling
        Of the variances. More is better where actions vary alike (binary outcomes of similar chances, most money);
        less where the best action varies several times as much as the others, which it may have to be found in.
    first_plays
        A flat prior on means needs two plays of each action (Honda and Takemura 2014): one alone can be so low that
        the action is never tried again.
    rng
        A numpy Generator or a seed; None draws a new one.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> oracle = hs.ThompsonNormal(2, rng=1)
    >>> oracle.update(None, action=1, outcome=250.0)
    >>> oracle.play(None)
    1
    """

    def __init__(self, n_actions: int, *, pooling: float = 8.0, first_plays: int = 2, rng: RNG = None) -> None:
        n = check_n_actions(n_actions)
        shared = check_number("pooling", pooling, low=1e-3)
        plays = float(check_whole("first_plays", first_plays))
        super().__init__(n, ThompsonNormalState(new_moments(n), plays, shared, as_words(rng)))

    def readings(self) -> Readings:
        """Plays, means and the central 95 % of each posterior; NaN for an action that was not played yet."""
        from headstart.special import stdtrit

        counts, means, _, _ = super().readings()
        variance = spread_within(self._state.tally)
        half = np.full(self.n_actions, np.nan)
        for a in np.flatnonzero(counts).tolist():
            half[a] = _scale(self._state, a, variance) * -stdtrit(counts[a] + self._state.pooling, 0.025)
        return Readings(counts, means, means - half, means + half)
