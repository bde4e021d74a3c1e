"""A/B testing: every action with the same chance (BanditOracle 0), perhaps for a fixed number of plays."""

from __future__ import annotations

import math
from typing import NamedTuple

from headstart.arrays import Bools, Floats, Words
from headstart.checks import check_n_actions, check_number
from headstart.kernels import implements, play, probabilities, update
from headstart.kernels.arrays import total
from headstart.kernels.choice import best_available, draw_available, fill_uniform
from headstart.kernels.random import draw_uniform
from headstart.kernels.tally import Tally, new_tally, update_tally
from headstart.oracles.compiled import CompiledOracle
from headstart.randomness import RNG, as_words


class ABTestState(NamedTuple):
    tally: Tally
    test_rounds: float
    rng: Words  # (4,)


@implements(play, ABTestState)
def _play(state: ABTestState, context: Floats, available: Bools) -> int:
    if total(state.tally.counts) >= state.test_rounds:
        return best_available(state.tally.means, available)
    return draw_available(draw_uniform(state.rng), available)


@implements(update, ABTestState)
def _update(state: ABTestState, context: Floats, action: int, outcome: float) -> None:
    # The verdict is the test's: what comes after it does not change it.
    if total(state.tally.counts) < state.test_rounds:
        update_tally(state, context, action, outcome)


@implements(probabilities, ABTestState, allocates=False)
def _probabilities(state: ABTestState, context: Floats, available: Bools, out: Floats) -> None:
    if total(state.tally.counts) >= state.test_rounds:
        out[:] = 0.0
        out[best_available(state.tally.means, available)] = 1.0
        return
    fill_uniform(available, out)


class ABTest(CompiledOracle[ABTestState]):
    """Uniform choice; with `test_rounds`, the action with the best average after that many outcomes, for good.

    Without `test_rounds` it is the paper's BanditOracle 0, which never stops testing: joined to an evaluator,
    its means are the plain causal estimate. With it, it is the A/B test of the paper's introduction; an
    action that the test never showed counts as 0, ties go to the lowest index.

    Parameters
    ----------
    n_actions
        How many actions there are: 0 .. n_actions - 1.
    test_rounds
        Outcomes after which the best average is played for good; None: the test never ends.
    rng
        A numpy Generator or a seed; None draws a new one.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> oracle = hs.ABTest(2, test_rounds=2, rng=1)
    >>> oracle.probabilities(None)
    array([0.5, 0.5])
    >>> oracle.update(None, action=0, outcome=0.0)
    >>> oracle.update(None, action=1, outcome=1.0)
    >>> oracle.probabilities(None)
    array([0., 1.])
    """

    def __init__(self, n_actions: int, test_rounds: int | None = None, rng: RNG = None) -> None:
        n = check_n_actions(n_actions)
        rounds = math.inf if test_rounds is None else check_number("test_rounds", test_rounds, low=1)
        super().__init__(n, ABTestState(new_tally(n), rounds, as_words(rng)))
