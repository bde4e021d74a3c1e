"""Greedy: the action with the best average so far. What "only offline" decides with."""

from __future__ import annotations

from typing import Any, NamedTuple

from headstart.arrays import Floats
from headstart.checks import check_n_actions
from headstart.kernels import implements, play, probabilities, take_action, update
from headstart.kernels.tally import new_tally, take_tally, update_tally
from headstart.oracles.compiled import CompiledOracle


class GreedyState(NamedTuple):
    counts: Floats  # (K,)
    sums: Floats  # (K,)
    means: Floats  # (K,)


@implements(play, GreedyState)
def _play(state: Any, context: Any, available: Any) -> Any:
    best = -1
    for a in range(available.size):
        if available[a] and state.counts[a] > 0.0 and (best < 0 or state.means[a] > state.means[best]):
            best = a
    if best < 0:  # no available action has data: the lowest
        for a in range(available.size):
            if available[a]:
                return a
    return best


@implements(probabilities, GreedyState)
def _probabilities(state: Any, context: Any, available: Any, out: Any) -> None:
    out[:] = 0.0
    out[play(state, context, available)] = 1.0


implements(update, GreedyState)(update_tally)
implements(take_action, GreedyState)(take_tally)


class Greedy(CompiledOracle):
    """The largest mean among the actions with data; ties, and no data at all, go to the lowest index.

    It never explores: a right choice only where something else gathers the data, as the batch schedule does. In
    Algorithm 1's each-round schedule it asks the log about the first action that has an answer, and no other.
    """

    def __init__(self, n_actions: int) -> None:
        n = check_n_actions(n_actions)
        super().__init__(n, GreedyState(*new_tally(n)))
