"""Sliding-window UCB: only the last users count, for worlds that change at once (Garivier and Moulines 2011)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.checks import check_n_actions, check_number, check_whole
from headstart.kernels import implements, update
from headstart.kernels.tally import Tally, new_tally, update_tally
from headstart.kernels.widths import worst_bonus
from headstart.oracles.compiled import CompiledOracle
from headstart.oracles.scores import play_by_bound, read_bounds, width
from headstart.parts import Readings


class SlidingWindowUCBState(NamedTuple):
    tally: Tally  # in the window
    actions: Integers  # (window,) -1: nobody yet
    outcomes: Floats  # (window,)
    place: Integers  # (1,) where the next user goes: the oldest stands there
    beta: float


@implements(width, SlidingWindowUCBState)
def _width(state: SlidingWindowUCBState, action: int, log_n: float) -> float:
    return worst_bonus(state.beta, log_n, state.tally.counts[action])


play_by_bound(SlidingWindowUCBState)


@implements(update, SlidingWindowUCBState)
def _update(state: SlidingWindowUCBState, context: Floats, action: int, outcome: float) -> None:
    place = state.place[0]
    leaving = state.actions[place]
    if leaving >= 0:
        state.tally.counts[leaving] -= 1.0
        state.tally.sums[leaving] -= state.outcomes[place]
        if state.tally.counts[leaving] > 0.0:
            state.tally.means[leaving] = state.tally.sums[leaving] / state.tally.counts[leaving]
        else:  # what rounding left goes with the last outcome
            state.tally.sums[leaving] = state.tally.means[leaving] = 0.0
    state.actions[place] = action
    state.outcomes[place] = outcome
    state.place[0] = (place + 1) % state.actions.size
    update_tally(state, context, action, outcome)


class SlidingWindowUCB(CompiledOracle[SlidingWindowUCBState]):
    """UCB over the last `window` plays alone; an action that they do not hold comes first.

    For worlds that stand still between changes; memory O(window). Virtual plays are plays: a log is forgotten once
    `window` users have come, and one of more rows than that is mostly forgotten before the first.

    Parameters
    ----------
    n_actions
        How many actions there are: 0 .. n_actions - 1.
    window
        How many of the last plays count.
    beta
        How wide the bounds are; 0 never explores, 1 is the width of the theory.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> oracle = hs.SlidingWindowUCB(2, window=50)
    >>> oracle.update(None, action=0, outcome=1.0)
    >>> oracle.update(None, action=1, outcome=0.0)
    >>> oracle.play(None)
    0
    """

    def __init__(self, n_actions: int, window: int, beta: float = 1.0) -> None:
        n, length = check_n_actions(n_actions), check_whole("window", window)
        state = SlidingWindowUCBState(
            new_tally(n),
            np.full(length, -1, dtype=np.int64),
            np.zeros(length),
            np.zeros(1, dtype=np.int64),
            check_number("beta", beta, low=0.0),
        )
        super().__init__(n, state)

    def readings(self) -> Readings:
        """Plays in the window, their means, and mean -+ the confidence width."""
        return read_bounds(self._state)
