"""UCB1: play the action whose upper confidence bound is largest (BanditOracle 1; Auer et al. 2002)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.checks import check_n_actions, check_number
from headstart.kernels import implements, play, probabilities, take_action, update
from headstart.kernels.tally import Tally, new_tally, take_tally, update_tally
from headstart.oracles.compiled import CompiledOracle
from headstart.oracles.scores import choose_surely, level, log_plays, play_largest, read_widths, score
from headstart.parts import Readings


class UCBState(NamedTuple):
    tally: Tally
    beta: float


@implements(level, UCBState)
def _level(state: UCBState) -> float:
    return state.beta * math.sqrt(2.0 * log_plays(state))


@implements(score, UCBState)
def _score(state: UCBState, context: Floats, action: int, level: float) -> float:
    n = state.tally.counts[action]
    return state.tally.means[action] + level / math.sqrt(n) if n > 0.0 else math.inf


implements(play, UCBState)(play_largest)
implements(probabilities, UCBState, allocates=False)(choose_surely)


implements(update, UCBState)(update_tally)
implements(take_action, UCBState)(take_tally)


class UCB(CompiledOracle[UCBState]):
    """Upper confidence bounds: mean + beta sqrt(2 ln n / n_a).

    Deterministic. n counts every play, virtual and online; an action never played comes first; ties go to
    the lowest index. The bound's regret guarantee assumes outcomes in [0, 1]; with beta = 1 its width is
    the worst that such outcomes can need, so a smaller beta often decides better (METHODS.md).

    Parameters
    ----------
    n_actions
        How many actions there are: 0 .. n_actions - 1.
    beta
        How wide the bounds are; 0 never explores, 1 is the width of the theory.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> oracle = hs.UCB(2, beta=0.5)
    >>> oracle.play(None)
    0
    >>> oracle.update(None, action=0, outcome=1.0)
    >>> oracle.play(None)
    1
    >>> oracle.probabilities(None)
    array([0., 1.])
    """

    def __init__(self, n_actions: int, beta: float = 1.0) -> None:
        n = check_n_actions(n_actions)
        super().__init__(n, UCBState(new_tally(n), check_number("beta", beta, low=0.0)))

    @property
    def beta(self) -> float:
        """The factor of the confidence width."""
        return float(self._state.beta)

    def readings(self) -> Readings:
        """Plays, means and mean -+ the confidence width; an action never played has infinite bounds."""
        counts = self._state.tally.counts
        n = counts.sum()
        width = self.beta * np.sqrt(2.0 * math.log(max(n, 1.0)) / np.maximum(counts, 1.0))
        width[counts == 0] = np.inf
        return read_widths(self._state.tally, width)
