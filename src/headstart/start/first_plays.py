"""First plays: a few users for every action while the log has its say.

A log that makes the best action look bad is only found out by playing that action, and a prior that believes the log
waits long for it. So until every action has two outcomes of users, one user in four is shown one that has not. It costs
little where the log is right and brings the conflict to light where it is not (METHODS.md has the figures); and where
outcomes come late, three users in four are still served by what the log knows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.checks import NO_CONTEXT, Available, check_available
from headstart.kernels import Entry, implements, kernel, play, probabilities, update
from headstart.kernels.random import draw_uniform
from headstart.randomness import RNG, as_generator, as_words

CHANCE = 0.25


class FirstPlaysState(NamedTuple):
    oracle: Any
    left: NDArray[np.int64]  # (K,) outcomes that an action still lacks
    rng: NDArray[np.uint64]  # (4,)


@kernel
def _count(left: Any, available: Any) -> int:
    n = 0
    for a in range(available.size):
        if available[a] and left[a] > 0:
            n += 1
    return n


@implements(play, FirstPlaysState)
def _play(state: Any, context: Any, available: Any) -> Any:
    n = _count(state.left, available)
    if n > 0:
        drawn = draw_uniform(state.rng)
        if drawn < CHANCE:
            skip = int(drawn / CHANCE * n)
            for a in range(available.size):
                if available[a] and state.left[a] > 0:
                    if skip == 0:
                        return a
                    skip -= 1
    return play(state.oracle, context, available)


@implements(update, FirstPlaysState)
def _update(state: Any, context: Any, action: Any, outcome: Any) -> None:
    if state.left[action] > 0:
        state.left[action] -= 1
    update(state.oracle, context, action, outcome)


@implements(probabilities, FirstPlaysState)
def _probabilities(state: Any, context: Any, available: Any, out: Any) -> None:
    probabilities(state.oracle, context, available, out)
    n = _count(state.left, available)
    if n > 0:
        for a in range(available.size):
            out[a] *= 1.0 - CHANCE
            if available[a] and state.left[a] > 0:
                out[a] += CHANCE / n


def _choose(state: Any, context: Any, available: Any) -> Any:
    return play(state, context, available)


class FirstPlays:
    """A context-free oracle, but with chance 1/4 an action that lacks outcomes, as long as there is one."""

    n_features = 0

    def __init__(self, oracle: Any, plays: int = 2, rng: RNG = None) -> None:
        self.oracle, self.n_actions = oracle, oracle.n_actions
        self._left = np.full(oracle.n_actions, plays, dtype=np.int64)
        self._rng = as_words(rng)
        self._choose = Entry(_choose, allocates=False)

    @property
    def kernel_state(self) -> FirstPlaysState:
        """The state for the compiled loops."""
        return FirstPlaysState(self.oracle.kernel_state, self._left, self._rng)

    @property
    def left(self) -> NDArray[np.int64]:
        """Outcomes that each action still lacks, (K,)."""
        return self._left.copy()

    def play(self, context: ArrayLike | None = None, available: Available = None) -> int:
        """A first play, or the oracle's choice."""
        return int(self._choose(self.kernel_state, NO_CONTEXT, self._mask(available)))

    def update(self, context: ArrayLike | None, action: int, outcome: float) -> None:
        """Learn what came of it."""
        self.oracle.update(context, action, outcome)  # it checks: a rejected outcome changes nothing
        self._left[action] = max(self._left[action] - 1, 0)

    def probabilities(
        self, context: ArrayLike | None = None, available: Available = None
    ) -> NDArray[np.float64]:
        """The exact chance of each action in `play`."""
        chances: NDArray[np.float64] = self.oracle.probabilities(context, available)
        first = self._mask(available) & (self._left > 0)
        return (1.0 - CHANCE) * chances + CHANCE * first / first.sum() if first.any() else chances

    def readings(self) -> Any:
        """The oracle's readings."""
        return self.oracle.readings()

    def get_state(self) -> dict[str, NDArray[Any]]:
        """The oracle's state, the outcomes lacking and the state of the randomness."""
        return {**self.oracle.get_state(), "first_plays_left": self.left, "first_plays_rng": self._rng.copy()}

    def set_state(self, saved: dict[str, NDArray[Any]]) -> None:
        """Take up a state from `get_state`."""
        inner = {name: value for name, value in saved.items() if not name.startswith("first_plays_")}
        self.oracle.set_state(inner)
        self._left[:] = saved["first_plays_left"]
        self._rng = np.array(saved["first_plays_rng"], dtype=np.uint64)

    def reseed(self, rng: RNG) -> None:
        """New randomness; what was learnt stays."""
        generator = as_generator(rng)
        self.oracle.reseed(generator)
        self._rng = as_words(generator)

    def _mask(self, available: Available) -> NDArray[np.bool_]:
        if available is None:
            return np.ones(self.n_actions, dtype=np.bool_)
        return check_available(available, self.n_actions)

    def __repr__(self) -> str:
        return f"FirstPlays({self.oracle!r}, outcomes lacking {self._left.tolist()})"
