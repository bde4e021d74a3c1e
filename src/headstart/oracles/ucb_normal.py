"""UCB for normal outcomes of unknown mean and variance (Cowan, Honda and Katehakis 2018)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.checks import check_n_actions
from headstart.kernels import absorb, implements, kernel, play, probabilities, take_action, update
from headstart.kernels.moments import Moments, absorb_moments, new_moments, take_moments, update_moments
from headstart.kernels.widths import normal_width
from headstart.oracles.compiled import CompiledOracle
from headstart.oracles.scores import choose_surely, level, log_plays, play_largest, read_widths, score
from headstart.parts import Readings


class UCBNormalState(NamedTuple):
    tally: Moments


@kernel
def _width(state: UCBNormalState, action: int, log_n: float) -> float:
    n = state.tally.counts[action]
    return normal_width(log_n, n, state.tally.squares[action] / n) if n > 0.0 else math.inf


@implements(score, UCBNormalState)
def _score(state: UCBNormalState, context: Floats, action: int, level: float) -> float:
    return state.tally.means[action] + _width(state, action, level)


implements(level, UCBNormalState)(log_plays)
implements(play, UCBNormalState)(play_largest)
implements(probabilities, UCBNormalState)(choose_surely)


implements(update, UCBNormalState)(update_moments)
implements(absorb, UCBNormalState)(absorb_moments)
implements(take_action, UCBNormalState)(take_moments)


class UCBNormal(CompiledOracle[UCBNormalState]):
    """Play the largest mean + s sqrt(n^(2 / (n_a - 2)) - 1); deterministic, ties to the lowest index.

    s is the standard deviation seen so far, so outcomes may have any scale; n counts every play. Asymptotically
    optimal for normal outcomes. Every action is played three times first; virtual plays count. It is not for outcomes
    that may all be equal for long, such as rare successes: a spread of 0 ends exploration. KLUCB is.
    """

    def __init__(self, n_actions: int) -> None:
        n = check_n_actions(n_actions)
        super().__init__(n, UCBNormalState(new_moments(n)))

    def readings(self) -> Readings:
        """Plays, means and mean -+ the confidence width."""
        log_n = log_plays(self._state)
        return read_widths(
            self._state.tally, np.array([_width(self._state, a, log_n) for a in range(self.n_actions)])
        )
