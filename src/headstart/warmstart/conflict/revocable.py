"""Revocable: a warm start whose virtual plays of an action can be taken back."""

from __future__ import annotations

from copy import copy, deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Bools, Floats, Integers
from headstart.checks import Available, check_action
from headstart.errors import OptionError
from headstart.kernels import (
    get_outcome,
    get_variance,
    implements,
    is_exhausted,
    is_implemented,
    play,
    probabilities,
    take_action,
    update,
    withdraw,
)
from headstart.randomness import RNG, as_generator
from headstart.warmstart.warmstart import WarmStart


class MaskedState(NamedTuple):
    evaluator: Any
    is_withdrawn: Bools  # (K,)


@implements(get_outcome, MaskedState)
def _get_outcome(state: Any, context: Any, action: Any) -> Any:
    return np.nan if state.is_withdrawn[action] else get_outcome(state.evaluator, context, action)


@implements(get_variance, MaskedState)
def _get_variance(state: Any, context: Any, action: Any) -> Any:
    return get_variance(state.evaluator, context, action)


@implements(is_exhausted, MaskedState)
def _is_exhausted(state: Any) -> Any:
    for a in range(state.is_withdrawn.size):
        if not state.is_withdrawn[a]:
            return is_exhausted(state.evaluator)
    return True


class Masked:
    """An evaluator that has no answer for the actions whose log is withdrawn."""

    def __init__(self, evaluator: Any, n_actions: int) -> None:
        self.evaluator = evaluator
        self.is_withdrawn: Bools = np.zeros(n_actions, dtype=np.bool_)

    @property
    def kernel_state(self) -> Any:
        """The state for the compiled loops, or None if the evaluator has no kernels."""
        inner = getattr(self.evaluator, "kernel_state", None)
        return None if inner is None else MaskedState(inner, self.is_withdrawn)

    def get_outcome(self, context: Any, action: int) -> float | None:
        """The evaluator's answer; None for an action whose log is withdrawn."""
        if self.is_withdrawn[check_action(action, self.is_withdrawn.size)]:
            return None
        answer: float | None = self.evaluator.get_outcome(context, action)
        return answer

    def is_exhausted(self) -> bool:
        """True once it will never answer again."""
        told = getattr(self.evaluator, "is_exhausted", None)
        return bool(self.is_withdrawn.all()) or (told is not None and bool(told()))

    def __getattr__(self, name: str) -> Any:  # contexts, names and ranges are the evaluator's
        if name.startswith("__") or name == "evaluator":
            raise AttributeError(name)
        return getattr(self.evaluator, name)


class RevocableState(NamedTuple):
    policy: Any  # a warm start with a masked evaluator
    online: Any  # the same oracle, told of users alone


@implements(play, RevocableState)
def _play(state: Any, context: Any, available: Any) -> Any:
    return play(state.policy, context, available)


@implements(probabilities, RevocableState)
def _probabilities(state: Any, context: Any, available: Any, out: Any) -> None:
    probabilities(state.policy, context, available, out)


@implements(update, RevocableState)
def _update(state: Any, context: Any, action: Any, outcome: Any) -> None:
    update(state.policy, context, action, outcome)
    update(state.online, state.policy.seen, action, outcome)  # `seen` is what the line above chose of the context


@implements(withdraw, RevocableState)
def _withdraw(state: Any, action: Any) -> None:
    state.policy.evaluator.is_withdrawn[action] = True
    take_action(state.policy.oracle, state.online, action)


class Revocable:
    """A warm start that can forget what the log said of an action. Itself an oracle.

    Beside the warm-started oracle runs its twin, which learns from users alone and never plays; to withdraw an action
    is to take the twin's knowledge of it. That needs an oracle that knows each action by itself and says so with the
    verb `take_action` (UCB, Thompson sampling, ...). For any other (Exp3, a forest) every user is remembered, and to
    withdraw is to begin again without that action's log and learn the users anew: memory O(users).

    Parameters
    ----------
    policy
        A WarmStart that has not begun its virtual plays.
    rng
        Randomness of the oracle after a new beginning.
    """

    def __init__(self, policy: WarmStart, rng: RNG = 0) -> None:
        if not isinstance(policy, WarmStart):
            raise OptionError(f"policy must be a WarmStart, got {type(policy).__name__}")
        if policy.virtual_plays.any():
            raise OptionError("policy has already learnt from the log: give a WarmStart that has not begun")
        self.policy = copy(policy)
        self.policy.evaluator = Masked(policy.evaluator, policy.n_actions)
        self.n_actions, self.n_features = policy.n_actions, policy.n_features
        self.outcome_range = policy.outcome_range
        self._rng = as_generator(rng)
        self._online: Any = None
        self._fresh: Any = None
        self._users: list[tuple[Any, int, float]] = []
        if keeps_actions_apart(policy.oracle):
            self._online = deepcopy(policy.oracle)
        else:
            self._fresh = deepcopy(self.policy)

    @property
    def kernel_state(self) -> Any:
        """The state for the compiled loops, or None if a part has no kernels or cannot forget in place."""
        inner = self.policy.kernel_state
        return None if inner is None or self._online is None else RevocableState(inner, self._online.kernel_state)

    @property
    def oracle(self) -> Any:
        """The warm-started oracle."""
        return self.policy.oracle

    @property
    def is_withdrawn(self) -> Bools:
        """Whose log is withdrawn, (K,)."""
        return self._masked.is_withdrawn.copy()

    @property
    def virtual_plays(self) -> Integers:
        """Virtual plays that still count, per action, (K,)."""
        return np.where(self._masked.is_withdrawn, 0, self.policy.virtual_plays)

    @property
    def _masked(self) -> Masked:
        masked = self.policy.evaluator
        assert isinstance(masked, Masked)
        return masked

    def play(self, context: ArrayLike | None = None, available: Available = None) -> int:
        """The warm start's choice."""
        return self.policy.play(context, available)

    def probabilities(self, context: ArrayLike | None = None, available: Available = None) -> Floats:
        """The exact chance of each action in `play`."""
        return self.policy.probabilities(context, available)

    def update(self, context: ArrayLike | None, action: int, outcome: float) -> None:
        """Learn a real user's outcome."""
        self.policy.update(context, action, outcome)
        if self._online is not None:
            self._online.update(self.policy.decided(context), action, outcome)
        else:
            self._users.append((None if context is None else np.array(context, dtype=np.float64), action, outcome))

    def withdraw(self, action: int) -> None:
        """Forget what the log said of an action, for good; what users did stays."""
        index = check_action(action, self.n_actions)
        if self._online is not None:
            self._masked.is_withdrawn[index] = True
            take_action(self.policy.oracle.kernel_state, self._online.kernel_state, index)  # type: ignore[attr-defined]
            return
        withdrawn = self._masked.is_withdrawn.copy()
        withdrawn[index] = True
        self.policy = deepcopy(self._fresh)
        self.policy.reseed(self._rng)
        self._masked.is_withdrawn[:] = withdrawn
        for user in self._users:
            self.policy.update(*user)

    def readings(self) -> Any:
        """The oracle's readings."""
        return self.policy.readings()

    def reseed(self, rng: RNG) -> None:
        """New randomness for the oracle and the virtual users; what was learnt stays."""
        self.policy.reseed(rng)

    def reserve(self, rounds: int) -> None:
        """Make room for this many online contexts."""
        self.policy.reserve(rounds)

    def __repr__(self) -> str:
        return f"Revocable({self.policy!r})"


def keeps_actions_apart(oracle: Any) -> bool:
    """Whether what the oracle knows of one action can be replaced without touching the others."""
    state = getattr(oracle, "kernel_state", None)
    return state is not None and is_implemented(take_action, type(state))
