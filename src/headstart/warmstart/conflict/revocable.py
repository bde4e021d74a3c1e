"""Revocable: a warm start whose virtual plays of an action can be taken back."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from copy import deepcopy
from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.checks import check_action
from headstart.errors import OptionError
from headstart.kernels import (
    expect,
    get_outcome,
    get_variance,
    implements,
    is_exhausted,
    is_implemented,
    play,
    probabilities,
    release,
    take_action,
    update,
    withdraw,
)
from headstart.parts import (
    ContextLike,
    Evaluator,
    EvaluatorAbilities,
    Oracle,
    OracleAbilities,
    Saved,
    State,
    Wrapper,
    load_parts,
    save_parts,
)
from headstart.randomness import RNG, as_generator
from headstart.warmstart.forwarding import fill_inner, play_inner
from headstart.warmstart.virtual_plays import WarmStartState
from headstart.warmstart.warmstart import WarmStart


class MaskedState(NamedTuple):
    evaluator: State
    is_withdrawn: Bools  # (K,)


@implements(get_outcome, MaskedState)
def _get_outcome(state: MaskedState, context: Floats, action: int) -> float:
    return np.nan if state.is_withdrawn[action] else get_outcome(state.evaluator, context, action)


@implements(get_variance, MaskedState)
def _get_variance(state: MaskedState, context: Floats, action: int) -> float:
    return get_variance(state.evaluator, context, action)


@implements(is_exhausted, MaskedState)
def _is_exhausted(state: MaskedState) -> bool:
    for a in range(state.is_withdrawn.size):
        if not state.is_withdrawn[a]:
            return is_exhausted(state.evaluator)
    return True


class Masked:
    """An evaluator that has no answer for the actions whose log is withdrawn."""

    def __init__(self, evaluator: Evaluator, n_actions: int) -> None:
        self.evaluator = evaluator
        self.is_withdrawn: Bools = np.zeros(n_actions, dtype=np.bool_)

    @property
    def kernel_state(self) -> MaskedState | None:
        """The state for the compiled loops, or None if the evaluator has no kernels."""
        inner = EvaluatorAbilities(self.evaluator).kernel_state
        return None if inner is None else MaskedState(inner, self.is_withdrawn)

    @property
    def n_features(self) -> int | None:
        """The columns of the contexts that the evaluator is asked about."""
        return EvaluatorAbilities(self.evaluator).n_features

    def get_outcome(self, context: ContextLike, action: int) -> float | None:
        """The evaluator's answer; None for an action whose log is withdrawn."""
        if self.is_withdrawn[check_action(action, self.is_withdrawn.size)]:
            return None
        return self.evaluator.get_outcome(context, action)

    @property
    def get_variance(self) -> Callable[[ContextLike, int], float] | None:
        """How much outcomes vary around the evaluator's answers, if those are averages."""
        return EvaluatorAbilities(self.evaluator).get_variance

    def is_exhausted(self) -> bool:
        """True once it will never answer again."""
        return bool(self.is_withdrawn.all()) or EvaluatorAbilities(self.evaluator).is_exhausted()

    def get_state(self) -> Saved:
        """The evaluator's state, and whose log is withdrawn."""
        return {**save_parts({"evaluator": self.evaluator}), "is_withdrawn": self.is_withdrawn.copy()}

    def set_state(self, saved: Saved) -> None:
        """Take up a state from `get_state`."""
        load_parts({"evaluator": self.evaluator}, saved)
        self.is_withdrawn[:] = saved["is_withdrawn"]


class RevocableState(NamedTuple):
    policy: WarmStartState  # with a masked evaluator
    online: State  # the same oracle, told of users alone


implements(play, RevocableState)(play_inner)
implements(probabilities, RevocableState)(fill_inner)


@implements(update, RevocableState)
def _update(state: RevocableState, context: Floats, action: int, outcome: float) -> None:
    update(state.policy, context, action, outcome)
    update(state.online, state.policy.seen, action, outcome)  # `seen` is what the line above chose of the context


@implements(expect, RevocableState)
def _expect(state: RevocableState, context: Floats, action: int) -> None:
    expect(state.policy, context, action)
    expect(state.online, state.policy.seen, action)


@implements(release, RevocableState)
def _release(state: RevocableState, context: Floats, action: int) -> None:
    release(state.policy, context, action)
    release(state.online, state.policy.seen, action)


@implements(withdraw, RevocableState)
def _withdraw(state: RevocableState, action: int) -> None:
    state.policy.evaluator.is_withdrawn[action] = True  # type: ignore[attr-defined]  # a MaskedState
    take_action(state.policy.oracle, state.online, action)


class Revocable(Wrapper):
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
        self.policy = policy.with_evaluator(Masked(policy.evaluator, policy.n_actions))
        self._rng = as_generator(rng)
        self._online: Oracle | None = None
        self._users: list[tuple[Floats | None, int, float]] = []
        self._in_flight: list[tuple[Floats | None, int]] = []
        if keeps_actions_apart(policy.oracle):
            self._online = deepcopy(policy.oracle)
        else:
            self._fresh = deepcopy(self.policy)

    @property
    def inner(self) -> WarmStart:
        """The warm start."""
        return self.policy

    def around(self, inner: State) -> RevocableState | None:
        """The state of the whole; None if the oracle cannot forget in place."""
        assert isinstance(inner, WarmStartState)
        return None if self._online is None else RevocableState(inner, _kernels_of(self._online))

    @property
    def oracle(self) -> Oracle:
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

    def update(self, context: ContextLike, action: int, outcome: float) -> None:
        """Learn a real user's outcome."""
        super().update(context, action, outcome)
        if self._online is not None:
            self._online.update(self.policy.seen(context), action, outcome)
        else:
            self._users.append((_keep(context), int(action), float(outcome)))

    def expect(self, context: ContextLike, action: int) -> None:
        """A decision was made whose outcome is still to come; a new beginning has to know of it too."""
        super().expect(context, action)
        if self._online is not None:
            OracleAbilities(self._online).expect(self.policy.seen(context), action)
        elif self.waits:
            insort(self._in_flight, (_keep(context), int(action)), key=_order)  # equal flights are equal lists

    def release(self, context: ContextLike, action: int) -> None:
        """An expected decision is in flight no more."""
        super().release(context, action)
        if self._online is not None:
            OracleAbilities(self._online).release(self.policy.seen(context), action)
            return
        released = _order((_keep(context), int(action)))
        i = bisect_left(self._in_flight, released, key=_order)
        if i < len(self._in_flight) and _order(self._in_flight[i]) == released:
            del self._in_flight[i]

    @property
    def withdraw(self) -> Callable[[int], None]:
        """withdraw(action): forget what the log said of an action, for good; what users did stays."""
        return self._withdraw

    def _withdraw(self, action: int) -> None:
        index = check_action(action, self.n_actions)
        if self._online is not None:
            self._masked.is_withdrawn[index] = True
            take_action(_kernels_of(self.policy.oracle), _kernels_of(self._online), index)
            return
        withdrawn = self.is_withdrawn
        withdrawn[index] = True
        self.policy = deepcopy(self._fresh)
        self.policy.reseed(self._rng)
        self._masked.is_withdrawn[:] = withdrawn
        for user in self._users:
            self.policy.update(*user)
        for waiting in self._in_flight:
            self.policy.expect(*waiting)

    def get_state(self) -> Saved:
        """The warm start, and its twin or what a new beginning would be made of."""
        saved = {**save_parts(self._parts), "rng": self._rng.bit_generator.state}
        if self._online is None:
            saved["users"] = [list(user) for user in self._users]
            saved["in_flight"] = [list(waiting) for waiting in self._in_flight]
        return saved

    def set_state(self, saved: Saved) -> None:
        """Take up a state from `get_state` of a policy made in the same way: it has the same future."""
        load_parts(self._parts, saved)
        self._rng.bit_generator.state = saved["rng"]
        if self._online is None:
            self._users = [(context, int(action), float(outcome)) for context, action, outcome in saved["users"]]
            self._in_flight = [(context, int(action)) for context, action in saved.get("in_flight", [])]

    @property
    def _parts(self) -> dict[str, object]:
        other = {"fresh": self._fresh} if self._online is None else {"online": self._online}
        return {"policy": self.policy, **other}

    def __repr__(self) -> str:
        return f"Revocable({self.policy!r})"


def keeps_actions_apart(oracle: Oracle) -> bool:
    """Whether what the oracle knows of one action can be replaced without touching the others."""
    state = OracleAbilities(oracle).kernel_state
    return state is not None and is_implemented(take_action, type(state))


def _keep(context: ContextLike) -> Floats | None:
    return None if context is None else np.array(context, dtype=np.float64)


def _order(waiting: tuple[Floats | None, int]) -> tuple[int, bytes]:
    context, action = waiting
    return action, b"" if context is None else context.tobytes()


def _kernels_of(oracle: Oracle) -> State:
    state = OracleAbilities(oracle).kernel_state
    assert state is not None  # it keeps actions apart by a verb of its state
    return state
