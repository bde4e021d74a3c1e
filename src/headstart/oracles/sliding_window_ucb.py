"""Sliding-window UCB: only the last users count, for worlds that change at once (Garivier and Moulines 2011)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.checks import check_n_actions, check_number, check_whole
from headstart.kernels import implements, play, probabilities, update
from headstart.kernels.arrays import total
from headstart.kernels.tally import new_tally, update_tally
from headstart.kernels.widths import worst_width
from headstart.oracles.compiled import CompiledOracle, Readings


class SlidingWindowUCBState(NamedTuple):
    counts: Floats  # (K,) in the window
    sums: Floats  # (K,)
    means: Floats  # (K,)
    actions: Integers  # (window,) -1: nobody yet
    outcomes: Floats  # (window,)
    place: Integers  # (1,) where the next user goes: the oldest stands there
    beta: float


@implements(play, SlidingWindowUCBState)
def _play(state: Any, context: Any, available: Any) -> Any:
    log_n = math.log(max(total(state.counts), 1.0))
    best = -1
    best_bound = -np.inf
    for a in range(available.size):
        if available[a]:
            if state.counts[a] == 0.0:
                return a
            bound = state.means[a] + state.beta * worst_width(log_n, state.counts[a])
            if best < 0 or bound > best_bound:
                best = a
                best_bound = bound
    return best


@implements(probabilities, SlidingWindowUCBState)
def _probabilities(state: Any, context: Any, available: Any, out: Any) -> None:
    out[:] = 0.0
    out[play(state, context, available)] = 1.0


@implements(update, SlidingWindowUCBState)
def _update(state: Any, context: Any, action: Any, outcome: Any) -> None:
    place = state.place[0]
    leaving = state.actions[place]
    if leaving >= 0:
        state.counts[leaving] -= 1.0
        state.sums[leaving] -= state.outcomes[place]
        if state.counts[leaving] > 0.0:
            state.means[leaving] = state.sums[leaving] / state.counts[leaving]
        else:  # what rounding left goes with the last outcome
            state.sums[leaving] = state.means[leaving] = 0.0
    state.actions[place] = action
    state.outcomes[place] = outcome
    state.place[0] = (place + 1) % state.actions.size
    update_tally(state, context, action, outcome)


class SlidingWindowUCB(CompiledOracle):
    """UCB over the last `window` plays alone; an action that they do not hold comes first.

    For worlds that stand still between changes; memory O(window). Virtual plays are plays: a log is forgotten once
    `window` users have come, and one of more rows than that is mostly forgotten before the first.
    """

    def __init__(self, n_actions: int, window: int, beta: float = 1.0) -> None:
        n, length = check_n_actions(n_actions), check_whole("window", window)
        state = SlidingWindowUCBState(
            *new_tally(n),
            np.full(length, -1, dtype=np.int64),
            np.zeros(length),
            np.zeros(1, dtype=np.int64),
            check_number("beta", beta, low=0.0),
        )
        super().__init__(n, state)

    def readings(self) -> Readings:
        """Plays in the window, their means, and mean -+ the confidence width."""
        counts, means, _, _ = super().readings()
        log_n = math.log(max(counts.sum(), 1.0))
        width = np.array([self._state.beta * worst_width(log_n, n) if n else math.inf for n in counts])
        centre = np.nan_to_num(means)
        return Readings(counts, means, centre - width, centre + width)
