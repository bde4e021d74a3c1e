"""What every oracle with kernels shares: the walk from a checked call to the compiled state and back.

A base class, where the rest of the package has protocols: two dozen oracles would otherwise repeat the same lines of
checking, binding and saving. A user's oracle needs none of it: anything with `play`, `update` and `probabilities` is
an oracle.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart import kernels
from headstart.arrays import Bools, Floats
from headstart.checks import (
    NO_CONTEXT,
    Available,
    check_action,
    check_available,
    check_context,
    check_number,
    check_outcome,
    every,
)
from headstart.kernels.states import SavedArrays, copy_state, load_state, reseed_state, save_state
from headstart.kernels.tally import Tallied
from headstart.parts import Readings
from headstart.parts.policy import Policy
from headstart.randomness import RNG

S = TypeVar("S", bound=Tallied)


def _play(state: kernels.State, context: Floats, available: Bools) -> int:
    return kernels.play(state, context, available)


def _update(state: kernels.State, context: Floats, action: int, outcome: float) -> None:
    kernels.update(state, context, action, outcome)


def _absorb(state: kernels.State, context: Floats, action: int, outcome: float, variance: float) -> None:
    kernels.absorb(state, context, action, outcome, variance)


def _probabilities(state: kernels.State, context: Floats, available: Bools, out: Floats) -> None:
    kernels.probabilities(state, context, available, out)


def _expect(state: kernels.State, context: Floats, action: int) -> None:
    kernels.expect(state, context, action)


def _release(state: kernels.State, context: Floats, action: int) -> None:
    kernels.release(state, context, action)


class CompiledOracle(Policy, ABC, Generic[S]):
    """An oracle whose arithmetic is kernels over `kernel_state`.

    A subclass builds the state, and may narrow `_check_outcome`; everything else is here.
    """

    n_actions: int
    n_features: int  # 0: context-free, any context is accepted and ignored
    outcome_range: tuple[float, float] = (-math.inf, math.inf)  # outcomes outside are rejected

    @abstractmethod  # a subclass builds its state; this one is no oracle by itself
    def __init__(self, n_actions: int, state: S, n_features: int = 0) -> None:
        self.n_actions = n_actions
        self.n_features = n_features
        self._n_seen = n_features  # the length of the context that the kernels see
        self._all = every(n_actions)
        self._state = state
        # Bound when first asked for: a simulator's loop takes kernel_state and never asks.
        self._play: Callable[..., int] | None = None
        self._update: Callable[..., object] | None = None
        self._probabilities: Callable[..., None] | None = None
        self._absorb: Callable[..., None] | None = None
        self._expect: Callable[..., None] | None = None
        self._release: Callable[..., None] | None = None

    @property
    def kernel_state(self) -> S | None:
        """The state that the compiled loops work on; it is live, not a copy. None: the plain loop is the way."""
        return self._state

    def play(self, context: ArrayLike | None = None, available: Available = None) -> int:
        """Choose an action for this context among the available ones (all by default)."""
        seen = check_context(context, self._n_seen) if self._n_seen else NO_CONTEXT
        mask = self._all if available is None else check_available(available, self.n_actions)
        if self._play is None:
            self._play = kernels.entry(_play, self._state, seen, mask, allocates=False)
        return self._play(self._state, seen, mask)

    def update(self, context: ArrayLike | None, action: int, outcome: float) -> None:
        """Learn that `action` under `context` had `outcome`; outcomes may come late and in any order."""
        seen = check_context(context, self._n_seen) if self._n_seen else NO_CONTEXT
        index, number = check_action(action, self.n_actions), self._check_outcome(outcome)
        if self._update is None:
            self._update = kernels.entry(_update, self._state, seen, index, number, allocates=False)
        self._update(self._state, seen, index, number)

    def absorb(self, context: ArrayLike | None, action: int, outcome: float, variance: float) -> None:
        """Learn a virtual outcome, an average of outcomes that vary by `variance` around it.

        An oracle that estimates no variances takes it for an outcome.
        """
        if not kernels.is_implemented(kernels.absorb, type(self._state)):
            self.update(context, action, outcome)
            return
        seen = check_context(context, self._n_seen) if self._n_seen else NO_CONTEXT
        index, number = check_action(action, self.n_actions), self._check_outcome(outcome)
        around = check_number("variance", variance, low=0.0)
        if self._absorb is None:
            self._absorb = kernels.entry(_absorb, self._state, seen, index, number, around, allocates=False)
        self._absorb(self._state, seen, index, number, around)

    def probabilities(self, context: ArrayLike | None = None, available: Available = None) -> Floats:
        """The exact chance of each action in `play`, 0 for those not available."""
        seen = check_context(context, self._n_seen) if self._n_seen else NO_CONTEXT
        mask = self._all if available is None else check_available(available, self.n_actions)
        out = np.zeros(self.n_actions)
        if self._probabilities is None:
            allocates = kernels.may_allocate(kernels.probabilities, type(self._state))
            self._probabilities = kernels.entry(_probabilities, self._state, seen, mask, out, allocates=allocates)
        self._probabilities(self._state, seen, mask, out)
        return out

    @property
    def waits(self) -> bool:
        """Whether it matters to the oracle what is in flight."""
        return kernels.is_implemented(kernels.expect, type(self._state))

    def expect(self, context: ArrayLike | None, action: int) -> None:
        """A decision was made whose outcome is still to come; nothing to an oracle that weighs no learning."""
        self._expect = self._tell(kernels.expect, _expect, self._expect, context, action)

    def release(self, context: ArrayLike | None, action: int) -> None:
        """An expected decision is in flight no more: its outcome has come (`update` is next) or never will."""
        self._release = self._tell(kernels.release, _release, self._release, context, action)

    def _tell(
        self,
        verb: Callable[..., None],
        calls: Callable[..., None],
        bound: Callable[..., None] | None,
        context: ArrayLike | None,
        action: int,
    ) -> Callable[..., None] | None:
        """Check a decision and let the verb have it; returns the verb bound to this state, once there is one."""
        seen = check_context(context, self._n_seen) if self._n_seen else NO_CONTEXT
        index = check_action(action, self.n_actions)
        if not kernels.is_implemented(verb, type(self._state)):
            return None
        if bound is None:
            bound = kernels.entry(calls, self._state, seen, index, allocates=False)
        bound(self._state, seen, index)
        return bound

    def readings(self) -> Readings:
        """Plays, means and the algorithm's own bounds per action."""
        counts, means = self._state.tally.counts, self._state.tally.means
        nothing = np.full(self.n_actions, np.nan)
        return Readings(counts.copy(), np.where(counts > 0, means, np.nan), nothing, nothing.copy())

    def get_state(self) -> dict[str, NDArray[np.generic]]:
        """Everything the oracle has learnt and the state of its randomness, as arrays."""
        return save_state(self._state)

    def set_state(self, saved: SavedArrays) -> None:
        """Take up a state from `get_state` of an oracle with the same settings: it has the same future."""
        self._state = load_state(self._state, saved)

    def reseed(self, rng: RNG) -> None:
        """New randomness; what was learnt stays."""
        self._state = reseed_state(self._state, rng)

    def _check_outcome(self, outcome: float) -> float:
        return check_outcome(outcome)

    def __getstate__(self) -> dict[str, object]:
        unbound = ("_play", "_update", "_probabilities", "_absorb", "_expect", "_release")
        return {**self.__dict__, **dict.fromkeys(unbound)}

    def copy(self) -> Self:
        """An independent oracle with the same state and the same future."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._state = copy_state(self._state)
        return twin

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_actions={self.n_actions}, plays={int(self.readings().counts.sum())})"
