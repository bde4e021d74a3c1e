"""Turning: after so many users the actions change places, once and for good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.checks import check_whole
from headstart.kernels import draw_outcome, draw_user, expected_outcomes, implements, kernel
from headstart.kernels.dispatch import State
from headstart.simulation.simulate import World
from headstart.worlds.drawn import DrawnWorld


class TurningState(NamedTuple):
    world: State
    after: int
    n_actions: int
    users: Integers  # (1,) that have come


@kernel
def _has_turned(state: TurningState) -> bool:
    return state.users[0] > state.after


@implements(draw_user, TurningState)
def _draw_user(state: TurningState, out: Floats) -> None:
    state.users[0] += 1
    draw_user(state.world, out)


@implements(draw_outcome, TurningState)
def _draw_outcome(state: TurningState, action: int) -> float:
    return draw_outcome(state.world, (action + 1) % state.n_actions if _has_turned(state) else action)


@implements(expected_outcomes, TurningState)
def _expected(state: TurningState, out: Floats) -> None:
    expected_outcomes(state.world, out)
    if _has_turned(state):
        first = out[0]
        for a in range(out.size - 1):
            out[a] = out[a + 1]
        out[out.size - 1] = first


@dataclass(frozen=True)
class Turning:
    """Another world in which, once `after` users have come, action a does what a + 1 did, and the last what 0 did.

    The log is of the time before. Regret is against the best action of the moment.
    """

    world: World
    after: int

    def __post_init__(self) -> None:
        check_whole("after", self.after, low=0)

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """The world, to turn when its time comes."""
        drawn = self.world.draw(rng)
        state = TurningState(drawn.kernel_state, self.after, drawn.n_actions, np.zeros(1, dtype=np.int64))
        return DrawnWorld(drawn.log, drawn.n_features, state, getattr(drawn, "population", None))
