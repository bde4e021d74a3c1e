"""WarmStart: an oracle joined to an evaluator, by virtual plays (the paper's Algorithms 1 and 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats, Integers
from headstart.checks import Available, check_context
from headstart.errors import ContextError, OptionError
from headstart.kernels import Entry, draw_context, record_context
from headstart.logs.encoding import Encoding
from headstart.parts import Evaluator, Oracle
from headstart.randomness import RNG, as_generator
from headstart.warmstart.contexts import LogContexts, Population
from headstart.warmstart.virtual_plays import WarmStartState, offline_phase

Schedule = Literal["each-round", "batch"]


class WarmStart:
    """An oracle that has first played against the log. Itself an oracle.

    Parameters
    ----------
    oracle, evaluator
        Any two objects with the methods of the protocols in parts.py. Both are used, not copied.
    contexts
        Where virtual users come from. None: the log's rows and the online contexts as they come. A matrix:
        a population that you name. An object with a `kernel_state` that draws contexts (a world's
        `population`), or a function of no arguments that returns one.
    schedule
        "each-round" is Algorithm 1: virtual plays before each online play, until the log has no answer.
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
    """

    def __init__(
        self,
        oracle: Oracle,
        evaluator: Evaluator,
        contexts: Any = None,
        schedule: Schedule = "each-round",
        decide_on: Sequence[str | int] | None = None,
        rng: RNG = None,
    ) -> None:
        if schedule not in ("each-round", "batch"):
            raise OptionError(f"schedule must be 'each-round' or 'batch', got {schedule!r}")
        for part, method in ((oracle, "play"), (oracle, "update"), (evaluator, "get_outcome")):
            if not callable(getattr(part, method, None)):
                raise OptionError(f"{type(part).__name__} has no {method}: WarmStart(oracle, evaluator, ...)")
        known = getattr(evaluator, "n_actions", oracle.n_actions)
        if known != oracle.n_actions:
            raise OptionError(f"the oracle has {oracle.n_actions} actions, the evaluator {known}")
        self.outcome_range = _check_ranges(oracle, evaluator)
        self._low, self._high = self.outcome_range
        self.oracle, self.evaluator, self.schedule = oracle, evaluator, schedule
        self.n_actions = oracle.n_actions
        self._source, n_features = _as_source(contexts, oracle, evaluator, rng)
        everything = range(n_features)
        self._columns = _encoding_of(evaluator, n_features).columns_of(everything if decide_on is None else decide_on)
        needed = getattr(oracle, "n_features", None)
        if needed == 0:  # context-free: there is nothing to hand over
            self._columns = self._columns[:0]
        elif needed and self._columns.size != needed:
            raise OptionError(
                f"the oracle decides on {needed} columns, but decide_on leaves {self._columns.size} of the log's"
            )
        # A permutation of all columns is a choice too.
        self._sees_all = np.array_equal(self._columns, np.arange(n_features))
        # How long a context `play` and `update` must be given; 0: none is looked at.
        self.n_features = n_features if self._columns.size or isinstance(self._source, LogContexts) else 0
        self._context = np.zeros(n_features)
        self._everything = np.ones(self.n_actions, dtype=np.bool_)
        self._virtual_plays = np.zeros(self.n_actions, dtype=np.int64)
        self._is_due = np.ones(1, dtype=np.bool_)
        self._is_spent = False  # the log will never answer again: nothing is ever due
        self._phase = Entry(offline_phase, allocates=False, keeps_gil=False)  # it may take a second
        self._draw = Entry(_draw_context, allocates=False)

    @property
    def virtual_plays(self) -> Integers:
        """Virtual plays so far per action, (K,): what the log was worth."""
        return self._virtual_plays.copy()

    @property
    def kernel_state(self) -> Any:
        """The whole as one NamedTuple for the compiled loops, or None if a part has no kernels."""
        oracle, evaluator, source = (
            getattr(part, "kernel_state", None) for part in (self.oracle, self.evaluator, self._source)
        )
        if oracle is None or evaluator is None or source is None:
            return None
        return WarmStartState(
            oracle,
            evaluator,
            source,
            self._columns,
            self._context,
            np.zeros(self._columns.size),
            self._everything,
            self._virtual_plays,
            self._is_due,
            self._low,
            self._high,
            self.schedule == "batch",
        )

    def reseed(self, rng: RNG) -> None:
        """New randomness for the oracle and the virtual users; what was learnt stays."""
        generator = as_generator(rng)
        for part in (self.oracle, self._source):
            if hasattr(part, "reseed"):
                part.reseed(generator)

    def reserve(self, rounds: int) -> None:
        """Make room for this many online contexts: the compiled loops cannot grow an array."""
        if isinstance(self._source, LogContexts):
            self._source.reserve(rounds)

    def play(self, context: ArrayLike | None = None, available: Available = None) -> int:
        """Run the virtual plays that are due, then let the oracle choose for this user."""
        self.settle()
        return self.oracle.play(self.decided(context), available)

    def probabilities(self, context: ArrayLike | None = None, available: Available = None) -> Floats:
        """The exact chance of each action in `play`."""
        self.settle()
        return self.oracle.probabilities(self.decided(context), available)

    def update(self, context: ArrayLike | None, action: int, outcome: float) -> None:
        """Learn a real user's outcome."""
        user = self._as_user(context)  # before anything is learnt
        self.oracle.update(self.decided(context), action, outcome)
        self._end_round(user)

    def end_round(self, context: ArrayLike | None) -> None:
        """A user has come and gone whose outcome is not to be learnt: the next offline phase is due."""
        self._end_round(self._as_user(context))

    def _as_user(self, context: ArrayLike | None) -> Floats | None:
        if context is None or self.schedule == "batch" or not isinstance(self._source, LogContexts):
            return None
        return check_context(context, self._context.size)

    def _end_round(self, user: Floats | None) -> None:
        if self.schedule == "batch" or self._is_spent:
            return
        self._is_due[0] = True
        if user is not None and user.size and not self._is_exhausted():
            self._source.reserve(1)
            record_context(self._source.kernel_state, user)

    def readings(self) -> Any:
        """The oracle's readings."""
        return self.oracle.readings()  # type: ignore[attr-defined]

    def _is_exhausted(self) -> bool:
        if not self._is_spent:
            self._is_spent = _says_exhausted(self.evaluator)
        return self._is_spent

    def decided(self, context: ArrayLike | None) -> ArrayLike | None:
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
                context = self._draw_context()
                seen = self.decided(context)
                action = self.oracle.play(seen) if fixed is None else fixed
                outcome = self.evaluator.get_outcome(context, action)
                if outcome is None:
                    break
                self._learn(context, seen, action, outcome)

    def _learn(self, context: Any, seen: Any, action: int, outcome: float) -> None:
        inside = min(max(outcome, self._low), self._high)
        varies, absorb = getattr(self.evaluator, "get_variance", None), getattr(self.oracle, "absorb", None)
        if varies is None or absorb is None:
            self.oracle.update(seen, action, inside)
        else:
            absorb(seen, action, inside, varies(context, action))
        self._virtual_plays[action] += 1

    def _draw_context(self) -> Floats:
        state = getattr(self._source, "kernel_state", None)
        if state is None:
            return check_context(self._source(), self._context.size)
        self._draw(state, self._context)
        return self._context.copy()

    def __repr__(self) -> str:
        return f"WarmStart({self.oracle!r}, {self.evaluator!r}, virtual plays {self._virtual_plays.tolist()})"


def _draw_context(state: Any, out: Any) -> None:
    draw_context(state, out)


def _says_exhausted(evaluator: Any) -> bool:
    told = getattr(evaluator, "is_exhausted", None)
    return bool(told()) if told is not None else False


def _check_ranges(oracle: Any, evaluator: Any) -> tuple[float, float]:
    """The range of outcomes that the oracle takes; the log's must lie in it."""
    low, high = getattr(oracle, "outcome_range", (-math.inf, math.inf))
    least, most = getattr(evaluator, "outcome_range", (low, high))
    if least < low or most > high:
        raise OptionError(
            f"{type(oracle).__name__} takes outcomes in [{low:g}, {high:g}], the log's are in [{least:g}, {most:g}]: "
            "rescale them, or choose another oracle"
        )
    return float(low), float(high)


def _as_source(contexts: Any, oracle: Any, evaluator: Any, rng: RNG) -> tuple[Any, int]:
    if contexts is None:
        needed = getattr(oracle, "n_features", 0)
        known = _count_columns(evaluator)
        n_columns = needed if known is None else known
        is_free = needed == 0 and (n_columns == 0 or not getattr(evaluator, "needs_context", True))
        if is_free or _says_exhausted(evaluator):  # no virtual user's context will ever be looked at
            return Population(np.zeros((1, n_columns)), rng=rng), n_columns
        logged: Any = getattr(evaluator, "contexts", ())
        if len(logged) == 0:
            raise OptionError("the evaluator has no rows to draw virtual users from: give WarmStart its contexts")
        return LogContexts(logged, rng=rng), n_columns
    if callable(contexts) and not hasattr(contexts, "kernel_state"):
        return contexts, len(np.asarray(contexts()).reshape(-1))
    if hasattr(contexts, "kernel_state"):
        return contexts, contexts.n_features
    source = Population(contexts, rng=rng)
    n_features = source.kernel_state.population.shape[1]
    known = _count_columns(evaluator)
    if known is not None and known != n_features:
        raise ContextError(f"contexts must have the log's {known} columns, got {n_features}")
    return source, n_features


def _count_columns(evaluator: Any) -> int | None:
    """How many columns the evaluator's log has, if it knows. Rows are asked for last: a table has to fetch them."""
    if hasattr(evaluator, "n_features"):
        return int(evaluator.n_features)
    logged = getattr(evaluator, "contexts", None)
    return None if logged is None else int(logged.shape[1])


def _encoding_of(evaluator: Any, n_features: int) -> Encoding:
    """How the log's columns are called; a part that does not say has columns without names."""
    told: Encoding | None = getattr(evaluator, "encoding", None)
    if told is not None:
        return told
    return Encoding.of_numbers(getattr(evaluator, "context_names", None) or [f"x{j}" for j in range(n_features)])
