"""Moving: the level of all actions' outcomes moves while users come: a season, a trend, a price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats, Integers
from headstart.errors import OptionError
from headstart.kernels import draw_outcome, draw_user, expected_outcomes, implements, kernel
from headstart.kernels.dispatch import State
from headstart.simulation.simulate import World
from headstart.worlds.drawn import DrawnWorld, freeze


class MovingState(NamedTuple):
    world: State
    levels: Floats  # (n,) of the users in turn; the last is that of all who follow
    users: Integers  # (1,) that have come


@kernel
def _level(state: MovingState) -> float:
    return state.levels[min(max(state.users[0] - 1, 0), state.levels.size - 1)]


@implements(draw_user, MovingState)
def _draw_user(state: MovingState, out: Floats) -> None:
    state.users[0] += 1
    draw_user(state.world, out)


@implements(draw_outcome, MovingState)
def _draw_outcome(state: MovingState, action: int) -> float:
    return draw_outcome(state.world, action) + _level(state)


@implements(expected_outcomes, MovingState)
def _expected(state: MovingState, out: Floats) -> None:
    expected_outcomes(state.world, out)
    for a in range(out.size):
        out[a] += _level(state)


@dataclass(frozen=True)
class Moving:
    """Another world, each of whose users' outcomes has a level added to it, the same for all actions.

    Regret is not changed by it; what is learnt of actions at different times is. The log is of the time before.

    Parameters
    ----------
    world
        Any world whose outcomes are not 0/1.
    levels
        (n,): what is added for each of the first n users; the last one for all who follow.
    """

    world: World
    levels: ArrayLike

    def __post_init__(self) -> None:
        levels = np.asarray(self.levels, dtype=np.float64)
        if levels.ndim != 1 or not levels.size or not np.isfinite(levels).all():
            raise OptionError("levels must be finite numbers, one a user, at least one")

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """The world, its users' levels moving."""
        drawn = self.world.draw(rng)
        levels = freeze(np.array(self.levels, dtype=np.float64))
        state = MovingState(drawn.kernel_state, levels, np.zeros(1, dtype=np.int64))
        return DrawnWorld(drawn.log, drawn.n_features, state, getattr(drawn, "population", None))
