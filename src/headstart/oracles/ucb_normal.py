"""UCB for normal outcomes of unknown mean and variance (Cowan, Honda and Katehakis 2018)."""

from __future__ import annotations

import math
from typing import NamedTuple

from headstart.checks import check_n_actions
from headstart.kernels import absorb, implements, take_action, update
from headstart.kernels.moments import Moments, absorb_moments, new_moments, take_moments, update_moments
from headstart.kernels.widths import normal_width
from headstart.oracles.compiled import CompiledOracle
from headstart.oracles.scores import play_by_bound, read_bounds, width
from headstart.parts import Readings


class UCBNormalState(NamedTuple):
    tally: Moments


@implements(width, UCBNormalState)
def _width(state: UCBNormalState, action: int, log_n: float) -> float:
    n = state.tally.counts[action]
    return normal_width(log_n, n, state.tally.squares[action] / n) if n > 0.0 else math.inf


play_by_bound(UCBNormalState)
implements(update, UCBNormalState)(update_moments)
implements(absorb, UCBNormalState)(absorb_moments)
implements(take_action, UCBNormalState)(take_moments)


class UCBNormal(CompiledOracle[UCBNormalState]):
    """Play the largest mean + s sqrt(n^(2 / (n_a - 2)) - 1); deterministic, ties to the lowest index.

    s is the standard deviation seen so far, so outcomes may have any scale; n counts every play. Asymptotically
    optimal for normal outcomes. Every action is played three times first; virtual plays count. It is not for outcomes
    that may all be equal for long, such as rare successes: a spread of 0 ends exploration. KLUCB is.

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
    >>> oracle = hs.UCBNormal(2)
    >>> for action in (0, 0, 0, 1, 1, 1):
    ...     oracle.update(None, action, outcome=float(action))
    >>> oracle.play(None)
    1
    """

    def __init__(self, n_actions: int) -> None:
        n = check_n_actions(n_actions)
        super().__init__(n, UCBNormalState(new_moments(n)))

    def readings(self) -> Readings:
        """Plays, means and mean -+ the confidence width."""
        return read_bounds(self._state)
