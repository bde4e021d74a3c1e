"""Discounted UCB: outcomes count less as they get old, for worlds that drift (Garivier and Moulines 2011)."""

from __future__ import annotations

from typing import NamedTuple

from headstart.arrays import Floats
from headstart.checks import check_n_actions, check_number
from headstart.kernels import absorb, implements, update
from headstart.kernels.tally import Tally, age_tally, new_tally, update_tally
from headstart.kernels.widths import worst_bonus
from headstart.oracles.compiled import CompiledOracle
from headstart.oracles.scores import play_by_bound, read_bounds, width
from headstart.parts import Readings


class DiscountedUCBState(NamedTuple):
    tally: Tally  # discounted
    gamma: float  # what a user's coming leaves of all that came before
    beta: float


@implements(width, DiscountedUCBState)
def _width(state: DiscountedUCBState, action: int, log_n: float) -> float:
    return worst_bonus(state.beta, log_n, state.tally.counts[action])


play_by_bound(DiscountedUCBState)


@implements(update, DiscountedUCBState)
def _update(state: DiscountedUCBState, context: Floats, action: int, outcome: float) -> None:
    age_tally(state.tally, state.gamma)
    update_tally(state, context, action, outcome)


@implements(absorb, DiscountedUCBState)
def _absorb(state: DiscountedUCBState, context: Floats, action: int, outcome: float, variance: float) -> None:
    update_tally(state, context, action, outcome)  # a virtual play takes no time: nothing gets older by it


class DiscountedUCB(CompiledOracle[DiscountedUCBState]):
    """Play the largest mean + beta sqrt(2 ln n / n_a), all counted with weights that halve every `half_life` users.

    Garivier and Moulines' 2 B sqrt(xi ln n / n_a) with B = 1 and xi = 1/2 is beta = 1. It remembers about
    1.44 half_life users, so it never stops exploring: regret grows with the rounds, slowly, where UCB's may grow at
    once when the best action changes. Virtual plays take no time: the log ages with the users, not with its size.

    Parameters
    ----------
    n_actions
        How many actions there are: 0 .. n_actions - 1.
    half_life
        Users after which an outcome counts half; at least 1.
    beta
        How wide the bounds are; 0 never explores, 1 is the width of the theory.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> oracle = hs.DiscountedUCB(2, half_life=100)
    >>> oracle.update(None, action=0, outcome=1.0)
    >>> oracle.update(None, action=1, outcome=0.0)
    >>> oracle.play(None)
    0
    """

    def __init__(self, n_actions: int, half_life: float, beta: float = 1.0) -> None:
        n = check_n_actions(n_actions)
        gamma = 0.5 ** (1.0 / check_number("half_life", half_life, low=1.0))
        super().__init__(n, DiscountedUCBState(new_tally(n), gamma, check_number("beta", beta, low=0.0)))

    def readings(self) -> Readings:
        """Discounted plays, their means, and mean -+ the confidence width."""
        return read_bounds(self._state)
