"""Guarded: a policy that withdraws the log of an action when its users contradict it."""

from __future__ import annotations

from typing import NamedTuple

from headstart.arrays import Floats
from headstart.checks import NO_CONTEXT, check_context, check_saved
from headstart.errors import OptionError
from headstart.estimates.summary import Summary
from headstart.kernels import (
    Entry,
    expect,
    implements,
    is_implemented,
    play,
    probabilities,
    release,
    update,
    withdraw,
)
from headstart.kernels.states import copy_state, load_state, save_state
from headstart.logs.log import Log
from headstart.parts import (
    ContextLike,
    EvaluatorAbilities,
    Oracle,
    OracleAbilities,
    Saved,
    State,
    Wrapper,
    load_parts,
    save_parts,
)
from headstart.randomness import RNG
from headstart.warmstart.conflict.conflicts import Conflict, Watching, read_conflicts, see, see_user
from headstart.warmstart.conflict.linear_watch import new_linear_watch
from headstart.warmstart.conflict.revocable import Revocable
from headstart.warmstart.conflict.watch import new_watch
from headstart.warmstart.forwarding import expect_inner, fill_inner, play_inner, release_inner
from headstart.warmstart.warmstart import WarmStart


class GuardedState(NamedTuple):
    policy: State
    watch: Watching


implements(play, GuardedState)(play_inner)
implements(probabilities, GuardedState)(fill_inner)
implements(expect, GuardedState)(expect_inner)
implements(release, GuardedState)(release_inner)


@implements(update, GuardedState)
def _update(state: GuardedState, context: Floats, action: int, outcome: float) -> None:
    update(state.policy, context, action, outcome)
    if see(state.watch, context, action, outcome):
        withdraw(state.policy, action)


class Guarded(Wrapper):
    """A policy with a conflict test: once the users of an action contradict its log, the log of that action is out.

    Parameters
    ----------
    policy
        A WarmStart that has not begun, or an oracle that can `withdraw(action)` (MinUCB, `start`'s, ...).
    summary
        What the log knows of each action; by default that of the WarmStart's evaluator, or the policy's own
        (`start`). For policies that decide without contexts.
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

    Raises
    ------
    OptionError
        If both a summary and a log are given, or neither where one is needed; if they do not fit the policy; or if
        the policy cannot withdraw its log.

    Examples
    --------
    >>> import headstart as hs
    >>> log = hs.Log(["text", "video", "text", "video"], [1, 0, 0, 1], propensities=[0.8, 0.2, 0.8, 0.5])
    >>> policy = hs.WarmStart(hs.ThompsonBeta(2, rng=1), hs.IPSWeighting(log), rng=1)
    >>> guarded = hs.Guarded(policy, hs.IPSWeighting(log).summary())
    >>> guarded.n_actions
    2
    """

    def __init__(
        self,
        policy: Oracle,
        summary: Summary | None = None,
        level: float = 0.05,
        effect: float = 0.0625,
        rng: RNG = 0,
        log: Log | None = None,
    ) -> None:
        if log is None:
            told = _check_summary(summary, policy)
            self._watch: Watching = new_watch(told, level, effect)
            known, what = told.n_actions, "summary"
        else:
            if summary is not None:
                raise OptionError("Guarded compares users with a summary or with a log: give one of them")
            self._watch = new_linear_watch(_check_log(log, policy), level, effect)
            known, what = log.n_actions, "log"
        self._see = Entry(see_user, allocates=False)
        if known != policy.n_actions:
            raise OptionError(f"{what} must be of {policy.n_actions} actions, got {known}")
        self.policy = Revocable(policy, rng) if isinstance(policy, WarmStart) else policy
        if OracleAbilities(self.policy).withdraw is None:
            raise OptionError(f"{type(policy).__name__} cannot withdraw a log: give a WarmStart or a MinUCB")
        self._n_features = super().n_features if log is None else log.n_features

    @property
    def inner(self) -> Oracle:
        """The policy that is guarded."""
        return self.policy

    @property
    def n_features(self) -> int:
        """How long a context `play` and `update` must be given; 0: none is looked at."""
        return self._n_features

    def around(self, inner: State) -> GuardedState | None:
        """The state of the whole; None if the policy cannot withdraw a log in compiled loops."""
        return GuardedState(inner, self._watch) if is_implemented(withdraw, type(inner)) else None

    @property
    def withdrawals(self) -> list[Conflict]:
        """The logs withdrawn so far, the oldest first; each has its round, action and `reason`."""
        return read_conflicts(self._watch)

    def update(self, context: ContextLike, action: int, outcome: float) -> None:
        """Learn a user's outcome, and withdraw the action's log if it is in conflict with it."""
        user = self._as_user(context)
        super().update(context, action, outcome)  # the policy refuses what is no action or outcome
        if self._see(self._watch, user, int(action), float(outcome)):
            forget = OracleAbilities(self.policy).withdraw
            assert forget is not None  # checked when it was made
            forget(int(action))

    def rehearse(self, context: ContextLike, action: int, outcome: float) -> None:
        """Let a copy of the test see a user."""
        self._see(copy_state(self._watch), self._as_user(context), action, outcome)

    def _as_user(self, context: ContextLike) -> Floats:
        return check_context(context, self.n_features) if self._watch.is_predicted else NO_CONTEXT

    def get_state(self) -> Saved:
        """The policy's state, and what the test has seen."""
        return {**save_parts({"policy": self.policy}), "watch": save_state(self._watch)}

    def set_state(self, saved: Saved) -> None:
        """Take up a state from `get_state` of a guard made in the same way: it has the same future."""
        check_saved(saved)
        watch = load_state(self._watch, saved.get("watch", {}))
        load_parts({"policy": self.policy}, saved)
        self._watch = watch

    def __repr__(self) -> str:
        return f"Guarded({self.policy!r}, withdrawn {[conflict.action for conflict in self.withdrawals]})"


def _check_log(log: Log, policy: Oracle) -> Log:
    if not isinstance(log, Log):
        raise OptionError(f"log must be a Log, rows in memory, got {type(log).__name__}")
    if log.n_features == 0:
        raise OptionError("log must have contexts, to predict outcomes from: Log(..., contexts=...)")
    needed = OracleAbilities(policy).n_features or 0
    if needed not in (0, log.n_features):
        raise OptionError(f"the policy is given contexts of {needed} columns, the log has {log.n_features}")
    return log


def _check_summary(summary: Summary | None, policy: Oracle) -> Summary:
    """The summary given, or the policy's own; it can only judge a policy that shows actions to all users alike."""
    decider = policy.oracle if isinstance(policy, WarmStart) else policy
    if OracleAbilities(decider).n_features:
        raise OptionError(
            "a summary is of all users, and this policy decides on contexts: give Guarded the rows, "
            "log=Log(...) with contexts, or use a guard of its own kind (MinLinUCB, LinKnowledgeGradient)"
        )
    if summary is not None:
        return summary
    if isinstance(policy, WarmStart):
        ask = EvaluatorAbilities(policy.evaluator).summary
        told = None if ask is None else ask()
    else:
        told = OracleAbilities(policy).summary
    if told is None:
        raise OptionError("Guarded needs a summary of the log: give summary=evaluator.summary()")
    return told
