"""UCB-Tuned: UCB1 with the observed variance in its width (Auer, Cesa-Bianchi and Fischer 2002, section 4)."""

from __future__ import annotations

import math
from typing import NamedTuple

from headstart.checks import check_n_actions, check_number
from headstart.kernels import absorb, implements, take_action, update
from headstart.kernels.moments import Moments, absorb_moments, new_moments, take_moments, update_moments
from headstart.oracles.compiled import CompiledOracle
from headstart.oracles.scores import play_by_bound, read_bounds, width
from headstart.parts import Readings


class UCBTunedState(NamedTuple):
    tally: Moments
    scale: float


@implements(width, UCBTunedState)
def _width(state: UCBTunedState, action: int, log_n: float) -> float:
    n = state.tally.counts[action]
    if n == 0.0:
        return math.inf
    share = log_n / n
    square = state.scale * state.scale
    variance = state.tally.squares[action] / n + square * math.sqrt(2.0 * share)
    return math.sqrt(share * min(0.25 * square, variance))


play_by_bound(UCBTunedState)
implements(update, UCBTunedState)(update_moments)
implements(absorb, UCBTunedState)(absorb_moments)
implements(take_action, UCBTunedState)(take_moments)


class UCBTuned(CompiledOracle[UCBTunedState]):
    """Play the largest mean + sqrt(ln n / n_a min(scale^2 / 4, v_a)); deterministic, ties to the lowest index.

    v_a is the variance seen so far plus scale^2 sqrt(2 ln n / n_a) for its uncertainty, `scale` the length of the
    interval that outcomes lie in, whose variance is at most scale^2 / 4. No regret bound is known. Much better
    than UCB1 for outcomes that keep to the interval, and not safe for those that leave it (METHODS.md).

    Parameters
    ----------
    n_actions
        How many actions there are: 0 .. n_actions - 1.
    scale
        The length of the interval that outcomes lie in.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> oracle = hs.UCBTuned(2)
    >>> oracle.update(None, action=0, outcome=1.0)
    >>> oracle.update(None, action=1, outcome=0.0)
    >>> oracle.play(None)
    0
    """

    def __init__(self, n_actions: int, scale: float = 1.0) -> None:
        n = check_n_actions(n_actions)
        super().__init__(n, UCBTunedState(new_moments(n), check_number("scale", scale, low=1e-12)))

    def readings(self) -> Readings:
        """Plays, means and mean -+ the confidence width."""
        return read_bounds(self._state)
