"""Forwarding: kernels of a policy that leaves the choice, and what is in flight, to the one it wraps."""

from __future__ import annotations

from typing import Protocol

from headstart.arrays import Bools, Floats
from headstart.kernels import expect, play, probabilities, release
from headstart.kernels.dispatch import State


class HasPolicy(Protocol):
    """A state around another policy's."""

    @property
    def policy(self) -> State: ...


def play_inner(state: HasPolicy, context: Floats, available: Bools) -> int:
    """The action that the inner policy chooses."""
    return play(state.policy, context, available)


def fill_inner(state: HasPolicy, context: Floats, available: Bools, out: Floats) -> None:
    """The inner policy's chances."""
    probabilities(state.policy, context, available, out)


def expect_inner(state: HasPolicy, context: Floats, action: int) -> None:
    """The inner policy is told of a decision whose outcome is still to come."""
    expect(state.policy, context, action)


def release_inner(state: HasPolicy, context: Floats, action: int) -> None:
    """The inner policy is told that it need not wait any more."""
    release(state.policy, context, action)
