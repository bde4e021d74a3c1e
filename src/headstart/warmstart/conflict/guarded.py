"""Guarded: a policy that withdraws the log of an action when its users contradict it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from headstart.arrays import Floats
from headstart.checks import NO_CONTEXT, Available, check_context
from headstart.errors import OptionError
from headstart.estimates.summary import Summary
from headstart.kernels import Entry, implements, is_implemented, play, probabilities, update, withdraw
from headstart.logs.log import Log
from headstart.randomness import RNG
from headstart.warmstart.conflict.linear_watch import LinWatchState, new_linear_watch
from headstart.warmstart.conflict.linear_watch import see as see_user
from headstart.warmstart.conflict.revocable import Revocable
from headstart.warmstart.conflict.watch import Conflict, WatchState, new_watch, read_conflicts, see
from headstart.warmstart.warmstart import WarmStart


class GuardedState(NamedTuple):
    policy: Any
    watch: WatchState


class LinGuardedState(NamedTuple):
    policy: Any
    watch: LinWatchState


@implements(play, GuardedState, LinGuardedState)
def _play(state: Any, context: Any, available: Any) -> Any:
    return play(state.policy, context, available)


@implements(probabilities, GuardedState, LinGuardedState)
def _probabilities(state: Any, context: Any, available: Any, out: Any) -> None:
    probabilities(state.policy, context, available, out)


@implements(update, GuardedState)
def _update(state: Any, context: Any, action: Any, outcome: Any) -> None:
    update(state.policy, context, action, outcome)
    if see(state.watch, action, outcome):
        withdraw(state.policy, action)


@implements(update, LinGuardedState)
def _update_by_context(state: Any, context: Any, action: Any, outcome: Any) -> None:
    update(state.policy, context, action, outcome)
    if see_user(state.watch, context, action, outcome):
        withdraw(state.policy, action)


def _see(watch: Any, context: Any, action: Any, outcome: Any) -> Any:
    return see(watch, action, outcome)


def _see_user(watch: Any, context: Any, action: Any, outcome: Any) -> Any:
    return see_user(watch, context, action, outcome)


class Guarded:
    """A policy with a conflict test: once the users of an action contradict its log, the log of that action is out.

    Parameters
    ----------
    policy
        A WarmStart that has not begun, or an oracle that can `withdraw(action)` (MinUCB, ...).
    summary
        What the log knows of each action; by default the WarmStart's evaluator's own. For policies that decide
        without contexts.
    log
        A Log with contexts, instead of a summary: users are compared with what its rows predict for their contexts
        (LinConflictWatch, with its assumptions). A policy that decides on contexts needs it, as it shows an action to
        users it chose, whose mean is not that of all; `update` must then be given contexts of all the log's columns.
    level, effect
        The chance of a false alarm, ever, for any action; the variance of the conflict looked for (ConflictWatch).
    rng
        Randomness after a new beginning, for oracles that need one (Revocable).

    Notes
    -----
    A test sees only what is played. A log that makes the best action look bad keeps it from being played; give
    the oracle some forced plays (`MinUCB(forced=...)`), or one that explores on its own (Thompson sampling).
    """

    def __init__(
        self,
        policy: Any,
        summary: Summary | None = None,
        level: float = 0.05,
        effect: float = 0.0625,
        rng: RNG = 0,
        log: Log | None = None,
    ) -> None:
        self._watch: Any
        if log is not None:
            if summary is not None:
                raise OptionError("Guarded compares users with a summary or with a log: give one of them")
            self._watch = new_linear_watch(_check_log(log, policy), level, effect)
            known = log.n_actions
        else:
            decider = policy.oracle if isinstance(policy, WarmStart) else policy
            if getattr(decider, "n_features", 0):
                raise OptionError(
                    "a summary is of all users, and this policy decides on contexts: give Guarded the rows, "
                    "log=Log(...) with contexts, or use a guard of its own kind (MinLinUCB, LinKnowledgeGradient)"
                )
            told = _summary_of(policy) if summary is None else summary
            self._watch = new_watch(told, level, effect)
            known = told.n_actions
        if known != policy.n_actions:
            what = "summary" if log is None else "log"
            raise OptionError(f"{what} must be of {policy.n_actions} actions, got {known}")
        self.policy = Revocable(policy, rng) if isinstance(policy, WarmStart) else policy
        if not callable(getattr(self.policy, "withdraw", None)):
            raise OptionError(f"{type(policy).__name__} cannot withdraw a log: give a WarmStart or a MinUCB")
        self.n_actions: int = policy.n_actions
        self.n_features: int = getattr(policy, "n_features", 0) if log is None else log.n_features
        self.outcome_range: tuple[float, float] = getattr(policy, "outcome_range", (-math.inf, math.inf))
        self._see = Entry(_see if log is None else _see_user, allocates=False)

    @property
    def kernel_state(self) -> Any:
        """The state for the compiled loops, or None if the policy has no kernels or cannot withdraw in them."""
        inner = getattr(self.policy, "kernel_state", None)
        if inner is None or not is_implemented(withdraw, type(inner)):
            return None
        made = LinGuardedState if self._watch.is_predicted else GuardedState
        return made(inner, self._watch)

    @property
    def withdrawals(self) -> list[Conflict]:
        """The logs withdrawn so far, the oldest first; each has its round, action and `reason`."""
        return read_conflicts(self._watch)

    def play(self, context: ArrayLike | None = None, available: Available = None) -> int:
        """The policy's choice."""
        action: int = self.policy.play(context, available)
        return action

    def probabilities(self, context: ArrayLike | None = None, available: Available = None) -> Floats:
        """The exact chance of each action in `play`."""
        chances: Floats = self.policy.probabilities(context, available)
        return chances

    def update(self, context: ArrayLike | None, action: int, outcome: float) -> None:
        """Learn a user's outcome, and withdraw the action's log if it is in conflict with it."""
        user = check_context(context, self.n_features) if self._watch.is_predicted else NO_CONTEXT
        self.policy.update(context, action, outcome)  # it refuses what is no action or outcome
        if self._see(self._watch, user, int(action), float(outcome)):
            self.policy.withdraw(int(action))

    def readings(self) -> Any:
        """The policy's readings."""
        return self.policy.readings()

    def reseed(self, rng: RNG) -> None:
        """New randomness; what was learnt stays."""
        if hasattr(self.policy, "reseed"):
            self.policy.reseed(rng)

    def reserve(self, rounds: int) -> None:
        """Make room for this many online contexts."""
        if hasattr(self.policy, "reserve"):
            self.policy.reserve(rounds)

    def __repr__(self) -> str:
        return f"Guarded({self.policy!r}, withdrawn {[conflict.action for conflict in self.withdrawals]})"


def _check_log(log: Any, policy: Any) -> Log:
    if not isinstance(log, Log):
        raise OptionError(f"log must be a Log, rows in memory, got {type(log).__name__}")
    if log.n_features == 0:
        raise OptionError("log must have contexts, to predict outcomes from: Log(..., contexts=...)")
    needed = getattr(policy, "n_features", 0)
    if needed not in (0, log.n_features):
        raise OptionError(f"the policy is given contexts of {needed} columns, the log has {log.n_features}")
    return log


def _summary_of(policy: Any) -> Summary:
    told = getattr(getattr(policy, "evaluator", None), "summary", None)
    if told is None:
        raise OptionError("Guarded needs a summary of the log: give summary=evaluator.summary()")
    summary: Summary = told()
    return summary
