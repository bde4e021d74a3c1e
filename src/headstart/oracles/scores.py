"""Playing the action with the largest score: what most oracles share.

A score is a bound or a draw. An oracle's file says what it is, and what is the same for all actions of one play:

    @implements(level, UCBState)
    def _level(state: UCBState) -> float: ...

    @implements(score, UCBState)
    def _score(state: UCBState, context: Floats, action: int, level: float) -> float: ...

    implements(play, UCBState)(play_largest)

Where the score is a mean and a width around it, the file says the width alone:

    @implements(width, UCBTunedState)
    def _width(state: UCBTunedState, action: int, log_n: float) -> float: ...

    play_by_bound(UCBTunedState)
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from headstart.arrays import Bools, Floats
from headstart.kernels import State, implements, kernel, play, probabilities
from headstart.kernels.arrays import total
from headstart.kernels.dispatch import verb
from headstart.kernels.tally import Averages, Tallied
from headstart.parts import Readings

Level = TypeVar("Level")


@verb(has_default=True)
def level(state: State) -> float:
    """What the scores of one play share; nothing by default."""
    return 0.0


@verb()
def score(state: State, context: Floats, action: int, level: Level) -> float:
    """The score of an available action; infinite for one that comes first."""
    raise NotImplementedError


@verb()
def width(state: Tallied, action: int, log_n: float) -> float:
    """By how much an action's upper bound is above its mean, `log_n` being `log_plays`; infinite without plays."""
    raise NotImplementedError


@kernel
def largest_score(state: State, context: Floats, available: Bools, level: Level) -> int:
    """The available action with the largest score; ties go to the lowest index."""
    best = -1
    best_score = -np.inf
    for a in range(available.size):
        if available[a]:
            found = score(state, context, a, level)
            if best < 0 or found > best_score:
                best = a
                best_score = found
    return best


@kernel
def play_largest(state: State, context: Floats, available: Bools) -> int:
    """`play` of an oracle that takes the largest score."""
    return largest_score(state, context, available, level(state))


@kernel
def choose_surely(state: State, context: Floats, available: Bools, out: Floats) -> None:
    """`probabilities` of an oracle whose `play` draws nothing."""
    out[:] = 0.0
    out[play(state, context, available)] = 1.0


@kernel
def log_plays(state: Tallied) -> float:
    """ln n of all plays, 0 before the second: the level of most bounds."""
    return math.log(max(total(state.tally.counts), 1.0))


@kernel
def upper_bound(state: Tallied, context: Floats, action: int, level: float) -> float:
    """`score` of an oracle whose bounds are means and widths."""
    return state.tally.means[action] + width(state, action, level)


def play_by_bound(state: type) -> None:
    """States of this class are played by their largest upper bound: their `width` is all there is to say."""
    implements(level, state)(log_plays)
    implements(score, state)(upper_bound)
    implements(play, state)(play_largest)
    implements(probabilities, state, allocates=False)(choose_surely)


def read_bounds(state: Tallied) -> Readings:
    """Plays, means and mean -+ `width`."""
    log_n = log_plays(state)
    return read_widths(state.tally, np.array([width(state, a, log_n) for a in range(state.tally.counts.size)]))


def read_widths(tally: Averages, widths: Floats) -> Readings:
    """Plays, means and mean -+ these widths, (K,)."""
    counts = tally.counts.copy()
    means = np.where(counts > 0, tally.means, np.nan)
    centres = np.nan_to_num(means)
    return Readings(counts, means, centres - widths, centres + widths)
