"""Some of the actions for each user: a world that offers a few, drawn by lot, and policies that choose among them.

`simulate` has no availability. Here a user's context ends with a 0/1 column for each action, which says whether it is
offered; `Choosing` reads them, and the policy inside sees the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Integers, Words
from headstart.kernels import (
    draw_outcome,
    draw_user,
    expect,
    expected_outcomes,
    implements,
    kernel,
    play,
    release,
    update,
)
from headstart.kernels.dispatch import State
from headstart.kernels.random import draw_below
from headstart.parts import Oracle, Wrapper
from headstart.randomness import as_words
from headstart.simulation.simulate import MakePolicy, World
from headstart.worlds import DrawnWorld


class OfferedState(NamedTuple):
    world: State
    n_offered: int
    order: Integers  # (K,) the first `n_offered` are what the present user is offered
    user: Floats  # (d,)
    rng: Words  # (4,)


@implements(draw_user, OfferedState)
def _draw_user(state: OfferedState, out: Floats) -> None:
    d, k = state.user.size, state.order.size
    draw_user(state.world, state.user)
    for j in range(d):
        out[j] = state.user[j]
    for a in range(k):
        out[d + a] = 0.0
    for i in range(state.n_offered):
        j = i + draw_below(state.rng, k - i)
        state.order[i], state.order[j] = state.order[j], state.order[i]
        out[d + state.order[i]] = 1.0


@implements(draw_outcome, OfferedState)
def _draw_outcome(state: OfferedState, action: int) -> float:
    return draw_outcome(state.world, action)


@implements(expected_outcomes, OfferedState)
def _expected(state: OfferedState, out: Floats) -> None:
    """What is not offered is worth nothing to regret."""
    expected_outcomes(state.world, out)
    for i in range(state.n_offered, out.size):
        out[state.order[i]] = -np.inf


@dataclass(frozen=True)
class Offered:
    """Another world, each of whose users is offered `n_offered` actions, drawn by lot."""

    world: World
    n_offered: int

    def draw(self, rng: np.random.Generator) -> DrawnWorld:
        """The world, its users' contexts followed by what they are offered."""
        drawn = self.world.draw(rng)
        k, d = drawn.n_actions, drawn.n_features
        state = OfferedState(drawn.kernel_state, self.n_offered, np.arange(k), np.zeros(d), as_words(rng))
        return DrawnWorld(drawn.log, d + k, state)


class ChoosingState(NamedTuple):
    policy: State
    user: Floats  # (d,)
    is_offered: Bools  # (K,)


@kernel
def _read(state: ChoosingState, context: Floats) -> None:
    d = state.user.size
    for j in range(d):
        state.user[j] = context[j]
    for a in range(state.is_offered.size):
        state.is_offered[a] = context[d + a] > 0.5


@implements(play, ChoosingState)
def _play(state: ChoosingState, context: Floats, available: Bools) -> int:
    _read(state, context)
    return play(state.policy, state.user, state.is_offered)


@implements(update, ChoosingState)
def _update(state: ChoosingState, context: Floats, action: int, outcome: float) -> None:
    _read(state, context)
    update(state.policy, state.user, action, outcome)


@implements(expect, ChoosingState)
def _expect(state: ChoosingState, context: Floats, action: int) -> None:
    _read(state, context)
    expect(state.policy, state.user, action)


@implements(release, ChoosingState)
def _release(state: ChoosingState, context: Floats, action: int) -> None:
    _read(state, context)
    release(state.policy, state.user, action)


class Choosing(Wrapper):
    """A policy that is told with each context what it may choose from; for compiled loops alone."""

    def __init__(self, policy: Oracle, n_features: int) -> None:
        self._policy, self._d = policy, n_features

    @property
    def inner(self) -> Oracle:
        """The policy."""
        return self._policy

    @property
    def n_features(self) -> int:
        """Of the user, and a column for each action."""
        return self._d + self.n_actions

    def around(self, inner: State) -> ChoosingState:
        """The state of the whole around the policy's."""
        return ChoosingState(inner, np.zeros(self._d), np.zeros(self.n_actions, dtype=np.bool_))


def choosing(make: MakePolicy) -> MakePolicy:
    """The same policy, choosing among what is offered."""

    def made(world: Any, log: Any, rng: np.random.Generator) -> Oracle:
        return Choosing(make(world, log, rng), log.n_features)

    return made
