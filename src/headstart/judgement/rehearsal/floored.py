"""Floored: a policy that gives a share of its users to all actions alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Words
from headstart.checks import Available, check_available, check_number, check_saved
from headstart.kernels import Entry, expect, implements, play, probabilities, release, update
from headstart.kernels.choice import count_available, draw_available
from headstart.kernels.random import draw_uniform
from headstart.parts import ContextLike, Oracle, Saved, State, Wrapper, load_parts, save_parts
from headstart.randomness import RNG, as_generator, as_words
from headstart.warmstart.forwarding import expect_inner, release_inner


class FlooredState(NamedTuple):
    policy: State
    floor: float
    rng: Words  # (4,)


@implements(play, FlooredState)
def _play(state: FlooredState, context: Floats, available: Bools) -> int:
    if draw_uniform(state.rng) < state.floor:
        return draw_available(draw_uniform(state.rng), available)
    return play(state.policy, context, available)


@implements(update, FlooredState)
def _update(state: FlooredState, context: Floats, action: int, outcome: float) -> None:
    update(state.policy, context, action, outcome)


@implements(probabilities, FlooredState)
def _probabilities(state: FlooredState, context: Floats, available: Bools, out: Floats) -> None:
    probabilities(state.policy, context, available, out)
    even = state.floor / count_available(available)
    for a in range(available.size):
        out[a] = (1.0 - state.floor) * out[a] + (even if available[a] else 0.0)


implements(expect, FlooredState)(expect_inner)
implements(release, FlooredState)(release_inner)


def _draw(words: Words) -> float:
    return draw_uniform(words)


class Floored(Wrapper):
    """With chance `floor` any available action, each alike; otherwise what the policy plays. It learns of both."""

    def __init__(self, policy: Oracle, floor: float, rng: RNG = None) -> None:
        self._policy, self._floor = policy, check_number("floor", floor, 0.0, 1.0)
        self._words, self._draw = as_words(rng), Entry(_draw, allocates=False)

    @property
    def inner(self) -> Oracle:
        """The policy that has the other users."""
        return self._policy

    def around(self, inner: State) -> FlooredState:
        """The state of the whole around the policy's."""
        return FlooredState(inner, self._floor, self._words)

    def play(self, context: ContextLike = None, available: Available = None) -> int:
        """An available action for this user."""
        if self._draw(self._words) < self._floor:
            return draw_available(self._draw(self._words), self._mask(available))
        return self._policy.play(context, available)

    def probabilities(self, context: ContextLike = None, available: Available = None) -> Floats:
        """The exact chance of each action in `play`."""
        mask = self._mask(available)
        mixed: Floats = (1.0 - self._floor) * self._policy.probabilities(context, available)
        mixed += mask * (self._floor / mask.sum())
        return mixed

    def reseed(self, rng: RNG) -> None:
        """New randomness; what was learnt stays."""
        generator = as_generator(rng)
        super().reseed(generator)
        self._words[:] = as_words(generator)

    def get_state(self) -> Saved:
        """The policy's state, and that of the randomness."""
        return {**save_parts({"policy": self._policy}), "words": self._words.copy()}

    def set_state(self, saved: Saved) -> None:
        """Take up a state from `get_state` of the same policy and floor: it has the same future."""
        check_saved(saved)
        load_parts({"policy": self._policy}, saved)
        self._words[:] = saved["words"]

    def _mask(self, available: Available) -> Bools:
        if available is None:
            return np.ones(self.n_actions, dtype=np.bool_)
        return check_available(available, self.n_actions)

    def __repr__(self) -> str:
        return f"Floored({self._policy!r}, floor={self._floor:g})"
