"""Greedy: the action with the best average so far. What "only offline" decides with."""

from __future__ import annotations

import math
from typing import NamedTuple

from headstart.arrays import Floats
from headstart.checks import check_n_actions
from headstart.kernels import implements, play, probabilities, take_action, update
from headstart.kernels.tally import Tally, new_tally, take_tally, update_tally
from headstart.oracles.compiled import CompiledOracle
from headstart.oracles.scores import choose_surely, play_largest, score


class GreedyState(NamedTuple):
    tally: Tally


@implements(score, GreedyState)
def _score(state: GreedyState, context: Floats, action: int, level: float) -> float:
    return state.tally.means[action] if state.tally.counts[action] > 0.0 else -math.inf


implements(play, GreedyState)(play_largest)
implements(probabilities, GreedyState, allocates=False)(choose_surely)


implements(update, GreedyState)(update_tally)
implements(take_action, GreedyState)(take_tally)


class Greedy(CompiledOracle[GreedyState]):
    """The largest mean among the actions with data; ties, and no data at all, go to the lowest index.

    It never explores: a right choice only where something else gathers the data, as the batch schedule does. In
    Algorithm 1's each-round schedule it asks the log about the first action that has an answer, and no other.

    Parameters
    ----------
    n_actions
        How many actions there are: 0 .. n_actions - 1.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> oracle = hs.Greedy(2)
    >>> oracle.update(None, action=0, outcome=1.0)
    >>> oracle.update(None, action=1, outcome=0.0)
    >>> oracle.play(None)
    0
    """

    def __init__(self, n_actions: int) -> None:
        n = check_n_actions(n_actions)
        super().__init__(n, GreedyState(new_tally(n)))
