"""Epsilon-greedy: mostly the best average so far, sometimes any action."""

from __future__ import annotations

from typing import NamedTuple

from headstart.arrays import Bools, Floats, Words
from headstart.checks import check_n_actions, check_number
from headstart.errors import OptionError
from headstart.kernels import implements, kernel, play, probabilities, take_action, update
from headstart.kernels.arrays import total
from headstart.kernels.choice import count_available, draw_available, greedy_available
from headstart.kernels.random import draw_uniform
from headstart.kernels.tally import Tally, new_tally, take_tally, update_tally
from headstart.oracles.compiled import CompiledOracle
from headstart.randomness import RNG, as_words


class EpsilonGreedyState(NamedTuple):
    tally: Tally
    epsilon: float  # NaN: decreasing
    decay: float
    rng: Words  # (4,)


@kernel
def _epsilon(state: EpsilonGreedyState) -> float:
    if state.epsilon == state.epsilon:  # not NaN
        return state.epsilon
    return min(1.0, state.decay / (total(state.tally.counts) + 1.0))


@implements(play, EpsilonGreedyState)
def _play(state: EpsilonGreedyState, context: Floats, available: Bools) -> int:
    if draw_uniform(state.rng) < _epsilon(state):
        return draw_available(draw_uniform(state.rng), available)
    return greedy_available(state.tally.counts, state.tally.means, available)


@implements(probabilities, EpsilonGreedyState, allocates=False)
def _probabilities(state: EpsilonGreedyState, context: Floats, available: Bools, out: Floats) -> None:
    out[:] = 0.0
    epsilon = _epsilon(state)
    share = epsilon / count_available(available)
    for a in range(out.size):
        if available[a]:
            out[a] = share
    out[greedy_available(state.tally.counts, state.tally.means, available)] += 1.0 - epsilon


implements(update, EpsilonGreedyState)(update_tally)
implements(take_action, EpsilonGreedyState)(take_tally)


class EpsilonGreedy(CompiledOracle[EpsilonGreedyState]):
    """With chance epsilon any available action, otherwise the best mean (one never played comes first).

    `epsilon` is constant; `decay=c` instead makes it min(1, c / t) in the t-th round, which Auer et al.
    (2002) show to have logarithmic regret for c large enough. t counts outcomes learnt, plus one.

    Parameters
    ----------
    n_actions
        How many actions there are: 0 .. n_actions - 1.
    epsilon
        The chance of any action; 0.1 if neither it nor `decay` is given.
    decay
        Makes the chance min(1, decay / t) in the t-th round.
    rng
        A numpy Generator or a seed; None draws a new one.

    Raises
    ------
    OptionError
        If a setting is outside its range, or both `epsilon` and `decay` are given.

    Examples
    --------
    >>> import headstart as hs
    >>> oracle = hs.EpsilonGreedy(2, epsilon=0.2, rng=1)
    >>> oracle.update(None, action=0, outcome=0.0)
    >>> oracle.update(None, action=1, outcome=1.0)
    >>> oracle.probabilities(None)
    array([0.1, 0.9])
    """

    def __init__(
        self, n_actions: int, epsilon: float | None = None, decay: float | None = None, rng: RNG = None
    ) -> None:
        n = check_n_actions(n_actions)
        if epsilon is not None and decay is not None:
            raise OptionError("epsilon (constant) and decay (decreasing) exclude each other: give one")
        if decay is None:
            constant, c = check_number("epsilon", 0.1 if epsilon is None else epsilon, 0.0, 1.0), 0.0
        else:
            constant, c = float("nan"), check_number("decay", decay, low=0.0)
        super().__init__(n, EpsilonGreedyState(new_tally(n), constant, c, as_words(rng)))
