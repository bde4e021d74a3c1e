"""Oracles that show what they were told of users in flight, for the tests of whatever tells them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats
from headstart.kernels import expect, implements, play, probabilities, release, take_action, update
from headstart.kernels.arrays import total
from headstart.kernels.tally import Tally, new_tally, take_tally, update_tally
from headstart.oracles.compiled import CompiledOracle


class Recorder:
    """Plain Python: plays action 0 and writes down what it is told, users by the first column of their context."""

    n_actions = 2

    def __init__(self) -> None:
        self.calls: list[tuple[str, float]] = []

    def play(self, context: Any, available: Any = None) -> int:
        self.calls.append(("play", float(context[0])))
        return 0

    def probabilities(self, context: Any, available: Any = None) -> Floats:
        return np.array([1.0, 0.0])

    def expect(self, context: Any, action: int) -> None:
        self.calls.append(("expect", float(context[0])))

    def release(self, context: Any, action: int) -> None:
        self.calls.append(("release", float(context[0])))

    def update(self, context: Any, action: int, outcome: float) -> None:
        self.calls.append(("update", float(context[0])))


class CrowdedState(NamedTuple):
    tally: Tally
    in_flight: Floats  # (K,)
    weights: Floats  # (K,) sums of the first columns of those in flight, so that their contexts matter


@implements(play, CrowdedState)
def _play(state: CrowdedState, context: Floats, available: Bools) -> int:
    n = 2.0 * total(state.in_flight) + total(state.tally.counts)
    return int(n + 7.0 * abs(total(state.weights))) % state.in_flight.size


@implements(probabilities, CrowdedState)
def _probabilities(state: CrowdedState, context: Floats, available: Bools, out: Floats) -> None:
    out[:] = 0.0
    out[_play(state, context, available)] = 1.0


@implements(expect, CrowdedState)
def _expect(state: CrowdedState, context: Floats, action: int) -> None:
    state.in_flight[action] += 1.0
    if context.size > 0:
        state.weights[action] += context[0]


@implements(release, CrowdedState)
def _release(state: CrowdedState, context: Floats, action: int) -> None:
    state.in_flight[action] -= 1.0
    if context.size > 0:
        state.weights[action] -= context[0]


implements(update, CrowdedState)(update_tally)


@implements(take_action, CrowdedState)
def _take_action(state: CrowdedState, other: CrowdedState, action: int) -> None:
    take_tally(state, other, action)
    state.in_flight[action], state.weights[action] = other.in_flight[action], other.weights[action]


class Crowded(CompiledOracle[CrowdedState]):
    """With kernels: which action it plays depends on how many of which users are in flight."""

    def __init__(self, n_actions: int, n_features: int = 0) -> None:
        super().__init__(
            n_actions, CrowdedState(new_tally(n_actions), np.zeros(n_actions), np.zeros(n_actions)), n_features
        )

    @property
    def in_flight(self) -> Floats:
        """Users in flight of each action, (K,)."""
        return self._state.in_flight.copy()
