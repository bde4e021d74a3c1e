"""WarmStart: an oracle joined to an evaluator, by virtual plays (the paper's Algorithms 1 and 2)."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Literal, Self

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.checks import Available, check_context, check_saved
from headstart.errors import OptionError
from headstart.kernels import Entry
from headstart.logs.encoding import Encoding
from headstart.parts import (
    ContextLike,
    Evaluator,
    EvaluatorAbilities,
    Oracle,
    OracleAbilities,
    Saved,
    UserOutcomes,
    Wrapper,
    load_parts,
    missing_method,
    save_parts,
)
from headstart.parts.tables.chances import chances_of
from headstart.randomness import RNG, as_generator
from headstart.warmstart.virtual_plays import WarmStartState, offline_phase
from headstart.warmstart.virtual_users import Contexts, VirtualUsers

Schedule = Literal["each-round", "batch"]


class WarmStart(Wrapper):
    """An oracle that has first played against the log. Itself an oracle.

    Parameters
    ----------
    oracle, evaluator
        Any two objects with the methods of the protocols in `parts`. Both are used, not copied.
    contexts
        Where virtual users come from. None: the log's rows and the online contexts as they come. A matrix:
        a population that you name. An object with a `kernel_state` that draws contexts (a world's
        `population`), or a function of no arguments that returns one.
    schedule
        "each-round" is Algorithm 1: virtual plays before each online play, until the log has no answer. They are
        of actions that the log shows at all: one that it never shows is for users to tell, and would end them all.
        "batch" is Algorithm 2: the whole log once, action by action, before the first play.
    decide_on
        The columns that the oracle sees, by name or index; by default all. The evaluator sees them all:
        one may adjust for what one may not decide on.
    rng
        Draws the virtual users.

    Notes
    -----
    The offline phase runs once per learnt outcome, at the next `play` or `probabilities`, so that
    `probabilities` and the `play` that follows it speak of the same state.

    Raises
    ------
    OptionError
        If oracle and evaluator do not fit together, or the schedule is unknown.

    Examples
    --------
    >>> import headstart as hs
    >>> log = hs.Log(["text", "video", "text", "video"], [1, 0, 0, 1], propensities=[0.8, 0.2, 0.8, 0.5])
    >>> policy = hs.WarmStart(hs.UCB(2, beta=0.1), hs.IPSWeighting(log), rng=1)
    >>> action = policy.play(None)
    >>> policy.update(None, action, outcome=1.0)
    >>> policy.virtual_plays
    array([2, 1])
    """

    holds_log = True

    def __init__(
        self,
        oracle: Oracle,
        evaluator: Evaluator,
        contexts: Contexts = None,
        schedule: Schedule = "each-round",
        decide_on: Sequence[str | int] | None = None,
        rng: RNG = None,
    ) -> None:
        if schedule not in ("each-round", "batch"):
            raise OptionError(f"schedule must be 'each-round' or 'batch', got {schedule!r}")
        asked, told = OracleAbilities(oracle), EvaluatorAbilities(evaluator)
        _check_parts(asked, told)
        self.oracle, self.evaluator, self.schedule = oracle, evaluator, schedule
        low, high = asked.outcome_range
        self._low, self._high = float(low), float(high)
        self._users = VirtualUsers(contexts, oracle, evaluator, rng)
        n_columns = self._users.n_features
        self._columns = _as_columns(decide_on, evaluator, n_columns)
        needed = asked.n_features
        if needed == 0:  # context-free: there is nothing to hand over
            self._columns = self._columns[:0]
        elif needed and self._columns.size != needed:
            raise OptionError(
                f"the oracle decides on {needed} columns, but decide_on leaves {self._columns.size} of the log's"
            )
        # A permutation of all columns is a choice too.
        self._sees_all = self._columns.tolist() == list(range(n_columns))
        self._n_features = n_columns if self._columns.size or self._users.grows else 0
        self._context = np.zeros(n_columns)
        n_actions = oracle.n_actions
        self._answered = _find_answered(told, n_actions)
        self._virtual_plays = np.zeros(n_actions, dtype=np.int64)
        self._is_due = np.array([True])
        self._is_spent = False  # the log will never answer again: nothing is ever due
        self._phase = Entry(offline_phase, allocates=False, keeps_gil=False)  # it may take a second

    def with_evaluator(self, evaluator: Evaluator) -> Self:
        """The same warm start, parts shared, with another evaluator of the same log."""
        twin = copy(self)
        twin.evaluator = evaluator
        return twin

    @property
    def inner(self) -> Oracle:
        """The oracle."""
        return self.oracle

    @property
    def n_features(self) -> int:
        """How long a context `play` and `update` must be given; 0: none is looked at."""
        return self._n_features

    @property
    def virtual_plays(self) -> Integers:
        """Virtual plays so far per action, (K,): what the log was worth."""
        return self._virtual_plays.copy()

    def heard(self) -> UserOutcomes:
        """The outcomes that users brought; what they were on average is not told apart from the virtual ones."""
        counts = OracleAbilities(self.oracle).readings().counts - self._virtual_plays
        return UserOutcomes(counts, np.full(self.n_actions, np.nan))

    def log_says(self, context: ContextLike) -> tuple[Floats, Floats] | None:
        """The mean of each action by the evaluator and its standard error, (K,) each, over the log's users."""
        summary = EvaluatorAbilities(self.evaluator).summary
        return None if summary is None else (summary().means, summary().standard_errors)

    @property
    def kernel_state(self) -> WarmStartState | None:
        """The whole as one NamedTuple for the compiled loops, or None if a part has no kernels."""
        oracle = OracleAbilities(self.oracle).kernel_state
        if oracle is None:
            return None
        evaluator, users = EvaluatorAbilities(self.evaluator).kernel_state, self._users.kernel_state
        if evaluator is None or users is None:
            return None
        return WarmStartState(
            oracle,
            evaluator,
            users,
            self._columns,
            self._context,
            np.zeros(self._columns.size),
            self._answered,
            self._virtual_plays,
            self._is_due,
            self._low,
            self._high,
            self.schedule == "batch",
        )

    def reseed(self, rng: RNG) -> None:
        """New randomness for the oracle and the virtual users; what was learnt stays."""
        generator = as_generator(rng)
        super().reseed(generator)
        self._users.reseed(generator)

    def reserve(self, rounds: int) -> None:
        """Make room for this many online contexts: the compiled loops cannot grow an array."""
        self._users.reserve(rounds)

    def play(self, context: ContextLike = None, available: Available = None) -> int:
        """Run the virtual plays that are due, then let the oracle choose for this user."""
        self.settle()
        return super().play(context, available)

    def probabilities(self, context: ContextLike = None, available: Available = None) -> Floats:
        """The exact chance of each action in `play`."""
        self.settle()
        return super().probabilities(context, available)

    def batch_probabilities(self, contexts: Floats, available: Bools | None) -> Floats:
        """`probabilities` of many users at once, (n, K)."""
        self.settle()
        return chances_of(self.oracle, contexts[:, self._columns], available)

    def update(self, context: ContextLike, action: int, outcome: float) -> None:
        """Learn a real user's outcome."""
        user = self._as_user(context)  # before anything is learnt
        super().update(context, action, outcome)
        self._end_round(user)

    def end_round(self, context: ContextLike) -> None:
        """A user has come and gone whose outcome is not to be learnt: the next offline phase is due."""
        self._end_round(self._as_user(context))

    def get_state(self) -> Saved:
        """What oracle, evaluator and virtual users have come to, as arrays: the same future."""
        return {**save_parts(self._parts), "virtual_plays": self.virtual_plays, "is_due": self._is_due.copy()}

    def set_state(self, saved: Saved) -> None:
        """Take up a state from `get_state` of a warm start with the same settings and log."""
        check_saved(saved)
        plays = np.asarray(saved.get("virtual_plays"))
        if plays.shape != (self.n_actions,):
            raise OptionError(f"state needs virtual_plays of shape ({self.n_actions},), got shape {plays.shape}")
        load_parts(self._parts, saved)
        self._virtual_plays[:] = plays
        self._is_due[:] = saved["is_due"]
        self._is_spent = False

    @property
    def _parts(self) -> dict[str, object]:
        return {"oracle": self.oracle, "evaluator": self.evaluator, "contexts": self._users}

    def _as_user(self, context: ContextLike) -> Floats | None:
        if context is None or self.schedule == "batch" or not self._users.grows:
            return None
        return check_context(context, self._context.size)

    def _end_round(self, user: Floats | None) -> None:
        if self.schedule == "batch" or self._is_spent:
            return
        self._is_due[0] = True
        if user is not None and user.size and not self._is_exhausted():
            self._users.record(user)

    def _is_exhausted(self) -> bool:
        if not self._is_spent:
            self._is_spent = EvaluatorAbilities(self.evaluator).is_exhausted()
        return self._is_spent

    def seen(self, context: ContextLike) -> ContextLike:
        """What the oracle sees of a context: the columns of `decide_on`."""
        if context is None or self._sees_all:
            return context
        return check_context(context, self._context.size)[self._columns]

    def settle(self) -> None:
        """Make the virtual plays that are due: compiled where every part has kernels, otherwise the same in Python.

        `play` and `probabilities` do so themselves; call it where a state must not depend on who asked when.
        """
        if not self._is_due[0]:
            return
        if self._is_exhausted():
            self._is_due[0] = False
            return
        state = self.kernel_state
        if state is not None:
            self._phase(state)
            return
        self._is_due[0] = False
        actions = range(self.n_actions) if self.schedule == "batch" else [None]
        for fixed in actions:
            while True:
                context = self._users.draw()
                seen = self.seen(context)
                action = self._choose(seen) if fixed is None else fixed
                outcome = self._get_outcome(context, action)
                if outcome is None:
                    break
                self._learn(context, seen, action, outcome)

    def _choose(self, seen: ContextLike) -> int:
        return self.oracle.play(seen) if self._answered.all() else self.oracle.play(seen, self._answered)

    def _get_outcome(self, context: Floats, action: int) -> float | None:
        try:
            return self.evaluator.get_outcome(context, action)
        except (TypeError, ValueError, IndexError) as error:
            if context.size or EvaluatorAbilities(self.evaluator).n_features is not None:
                raise
            raise OptionError(
                f"{type(self.evaluator).__name__} raised {type(error).__name__} when asked about a context without "
                "columns. One that looks at contexts offers the rows that virtual users are drawn from, as "
                "`contexts`, or keeps its log as `log`; or give WarmStart its contexts"
            ) from error

    def _learn(self, context: Floats, seen: ContextLike, action: int, outcome: float) -> None:
        inside = min(max(outcome, self._low), self._high)
        varies, absorb = EvaluatorAbilities(self.evaluator).get_variance, OracleAbilities(self.oracle).absorb
        if varies is None or absorb is None:
            self.oracle.update(seen, action, inside)
        else:
            absorb(seen, action, inside, varies(context, action))
        self._virtual_plays[action] += 1

    def __repr__(self) -> str:
        return f"WarmStart({self.oracle!r}, {self.evaluator!r}, virtual plays {self._virtual_plays.tolist()})"


def _check_parts(asked: OracleAbilities, told: EvaluatorAbilities) -> None:
    """Both are what they should be, and speak of the same actions and outcomes."""
    oracle: Oracle = asked.part
    for part, methods in ((oracle, ("play", "update")), (told.part, ("get_outcome",))):
        lacking = missing_method(part, *methods)
        if lacking is not None:
            raise OptionError(f"{type(part).__name__} has no {lacking}: WarmStart(oracle, evaluator, ...)")
    known = told.n_actions
    if known not in (None, oracle.n_actions):
        raise OptionError(f"the oracle has {oracle.n_actions} actions, the evaluator {known}")
    low, high = asked.outcome_range
    least, most = told.outcome_range or (low, high)
    if least < low or most > high:
        raise OptionError(
            f"{type(oracle).__name__} takes outcomes in [{low:g}, {high:g}], the log's are in [{least:g}, {most:g}]: "
            "rescale them, or choose another oracle"
        )


def _find_answered(told: EvaluatorAbilities, n_actions: int) -> Bools:
    """The actions of virtual plays, (K,): those that the log can ever answer for; all, if there are none."""
    known = told.answerable
    return np.array(known) if known is not None and any(known.tolist()) else np.ones(n_actions, dtype=np.bool_)


def _as_columns(decide_on: Sequence[str | int] | None, evaluator: Evaluator, n_columns: int) -> Integers:
    """The columns that the oracle sees. Those of an evaluator that gives them no names are x0, x1, ..."""
    if decide_on is None:
        return np.arange(n_columns)
    encoding = EvaluatorAbilities(evaluator).encoding
    if encoding is None:
        encoding = Encoding.of_numbers(f"x{j}" for j in range(n_columns))
    return encoding.columns_of(decide_on)
