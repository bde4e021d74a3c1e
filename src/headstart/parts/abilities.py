"""What a part may offer beyond its contract, each ability with what its absence means. Parts are asked here alone.

An attribute is asked for when it is wanted and not before: a table has to be scanned for some of them, and the state
of a part that grows is another one after each growth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Generic, TypeGuard, TypeVar

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.checks import Available
from headstart.errors import CannotBeSaved, OptionError
from headstart.estimates.summary import Summary
from headstart.logs.encoding import Encoding
from headstart.logs.log import Log
from headstart.parts.contracts import ContextLike, Evaluator, Oracle, Readings, Saved, State, UserOutcomes, Weighing
from headstart.randomness import RNG

_T = TypeVar("_T")
_Part = TypeVar("_Part")


def _ask(part: object, ability: str, default: _T) -> _T:
    return getattr(part, ability, default)


def missing_method(part: object, *methods: str) -> str | None:
    """The first of these methods that the part does not have; None if it has them all."""
    for method in methods:
        if not callable(getattr(part, method, None)):
            return method
    return None


def is_oracle(thing: object) -> TypeGuard[Oracle]:
    """Whether this is an oracle, and not a function that makes one."""
    return not isinstance(thing, type) and missing_method(thing, "play") is None


@dataclass(eq=False)  # not frozen, which doubles what it costs to make one: a simulator asks parts by the thousand
class Abilities(Generic[_Part]):
    """What an oracle, an evaluator and a source of contexts may all offer."""

    part: _Part

    @property
    def kernel_state(self) -> State | None:
        """The state that compiled loops work on; None: the part goes through the plain loop."""
        return _ask(self.part, "kernel_state", None)

    @property
    def n_features(self) -> int | None:
        """The length of a context, 0 where none is looked at; None: the part does not say."""
        return _ask(self.part, "n_features", None)

    def reseed(self, rng: RNG) -> None:
        """New randomness, for a part that has some; what was learnt stays."""
        reseed: Callable[[RNG], None] | None = _ask(self.part, "reseed", None)
        if reseed is not None:
            reseed(rng)

    @property
    def can_be_reseeded(self) -> bool:
        """Whether the part itself has `reseed`."""
        return missing_method(self.part, "reseed") is None

    def reserve(self, rounds: int) -> None:
        """Make room for this many rounds in a part that keeps contexts: compiled loops cannot grow an array."""
        reserve: Callable[[int], None] | None = _ask(self.part, "reserve", None)
        if reserve is not None:
            reserve(rounds)

    def get_state(self) -> Saved:
        """What was learnt and the state of the randomness, as arrays and plain values."""
        get_state: Callable[[], Saved] | None = _ask(self.part, "get_state", None)
        if get_state is None or missing_method(self.part, "set_state") is not None:
            raise CannotBeSaved(f"{type(self.part).__name__} cannot be saved: it has no get_state and set_state")
        return get_state()

    def try_get_state(self) -> Saved | None:
        """`get_state`; None for a part that cannot be saved, or holds one that cannot."""
        try:
            return self.get_state()
        except CannotBeSaved:
            return None

    def set_state(self, saved: Saved) -> None:
        """Take up a state from `get_state` of a part with the same settings: it has the same future."""
        set_state: Callable[[Saved], None] | None = _ask(self.part, "set_state", None)
        if set_state is None:
            raise CannotBeSaved(f"{type(self.part).__name__} cannot be restored: it has no set_state")
        set_state(saved)


def save_parts(parts: Mapping[str, object]) -> Saved:
    """The states of several parts, by their names in the whole."""
    return {name: Abilities(part).get_state() for name, part in parts.items()}


def load_parts(parts: Mapping[str, object], saved: Saved) -> None:
    """Take up states from `save_parts`; where one does not fit, none is taken up."""
    before = save_parts(parts)
    try:
        for name, part in parts.items():
            if name not in saved:
                raise OptionError(f"state needs {name}, got nothing")
            Abilities(part).set_state(saved[name])
    except BaseException:
        for name, part in parts.items():
            Abilities(part).set_state(before[name])
        raise


@dataclass(eq=False)
class OracleAbilities(Abilities[Oracle]):
    """What an oracle may offer beyond `play`, `update` and `probabilities`."""

    @property
    def outcome_range(self) -> tuple[float, float]:
        """The smallest and the largest outcome that it takes."""
        return _ask(self.part, "outcome_range", (-math.inf, math.inf))

    @property
    def absorb(self) -> Callable[[ContextLike, int, float, float], None] | None:
        """absorb(context, action, outcome, variance): learn a virtual outcome that is an average of outcomes with
        this variance. None: a virtual outcome is an outcome like any other."""
        return _ask(self.part, "absorb", None)

    @property
    def waits(self) -> bool:
        """Whether it matters to the oracle what is in flight: whether `expect` does anything."""
        return _ask(self.part, "waits", missing_method(self.part, "expect") is None)

    def expect(self, context: ContextLike, action: int) -> None:
        """A decision was made whose outcome is still to come. To an oracle without `expect` that is nothing."""
        expect: Callable[[ContextLike, int], None] | None = _ask(self.part, "expect", None)
        if expect is not None:
            expect(context, action)

    def release(self, context: ContextLike, action: int) -> None:
        """An expected decision is in flight no more: its outcome has come (`update` is next) or never will."""
        release: Callable[[ContextLike, int], None] | None = _ask(self.part, "release", None)
        if release is not None:
            release(context, action)

    @property
    def withdraw(self) -> Callable[[int], None] | None:
        """withdraw(action): forget what the log said of an action. None: it cannot."""
        return _ask(self.part, "withdraw", None)

    @property
    def looks_at(self) -> Integers | None:
        """Which of the log's encoded columns decisions look at; None: all of them, if any."""
        return _ask(self.part, "looks_at", None)

    @property
    def virtual_plays(self) -> Integers | None:
        """Virtual plays per action, (K,); None: there is no log in it."""
        return _ask(self.part, "virtual_plays", None)

    @property
    def summary(self) -> Summary | None:
        """What the log that it started from knows of each action; None: it does not say."""
        return _ask(self.part, "summary", None)

    def readings(self) -> Readings:
        """What the oracle believes; all NaN for one that does not say."""
        readings: Callable[[], Readings] | None = _ask(self.part, "readings", None)
        if readings is not None:
            return readings()
        return Readings(*np.full((4, self.part.n_actions), np.nan))

    def heard(self) -> UserOutcomes | None:
        """What users said of each action; None: it cannot tell them from the log. Who has no log has its readings."""
        heard: Callable[[], UserOutcomes | None] | None = _ask(self.part, "heard", None)
        if heard is not None:
            return heard()
        told = self.readings()
        return UserOutcomes(told.counts, told.means)

    def weigh(self, context: ContextLike, available: Available = None) -> Weighing | None:
        """What it weighs when it decides for this user; None: it does not weigh what a trial is worth, or has nothing
        to weigh yet."""
        weigh: Callable[[ContextLike, Available], Weighing | None] | None = _ask(self.part, "weigh", None)
        return None if weigh is None else weigh(context, available)

    def expected_outcomes(self, contexts: Floats) -> tuple[Floats, Floats] | None:
        """What is expected of each action for many users, and its standard error, (n, K) each; None: not known."""
        expected: Callable[[Floats], tuple[Floats, Floats] | None] | None = _ask(self.part, "expected_outcomes", None)
        return None if expected is None else expected(contexts)

    def log_says(self, context: ContextLike) -> tuple[Floats, Floats] | None:
        """The mean of each action by the log alone and its standard error, (K,) each, for this user if the log's
        part of the policy looks at users; None: there is no log, or it does not say."""
        says: Callable[[ContextLike], tuple[Floats, Floats] | None] | None = _ask(self.part, "log_says", None)
        return None if says is None else says(context)

    @property
    def trust(self) -> Floats | None:
        """The chance, by now, that the log is right about each action, (K,); None: it has no such notion."""
        return _ask(self.part, "trust", None)

    def copy(self) -> Oracle:
        """An independent oracle with the same state and the same future."""
        made: Callable[[], Oracle] | None = _ask(self.part, "copy", None)
        return deepcopy(self.part) if made is None else made()


@dataclass(eq=False)
class EvaluatorAbilities(Abilities[Evaluator]):
    """What an evaluator may offer beyond `get_outcome`. One that keeps its log as `log` has said most of it."""

    @property
    def n_actions(self) -> int | None:
        """How many actions it answers for; None: it does not say."""
        return _ask(self.part, "n_actions", None)

    @property
    def outcome_range(self) -> tuple[float, float] | None:
        """The smallest and the largest outcome of its log; None: it does not say."""
        return _ask(self.part, "outcome_range", None)

    @property
    def contexts(self) -> Floats | None:
        """The rows that virtual users are drawn from, (n, d)."""
        told = self._log
        return _ask(self.part, "contexts", None if told is None else told.contexts)

    @property
    def n_features(self) -> int | None:
        """The columns of the contexts it is asked about. Rows are asked for last: a table has to fetch them."""
        told = super().n_features
        if told is not None:
            return told
        rows = self.contexts
        return None if rows is None else int(np.shape(rows)[1])

    @property
    def encoding(self) -> Encoding | None:
        """How the log's columns are called; None: they have no names."""
        told = self._log
        found = _ask(self.part, "encoding", None if told is None else told.encoding)
        names: tuple[str, ...] = _ask(self.part, "context_names", ())
        return Encoding.of_numbers(names) if found is None and names else found

    @property
    def needs_context(self) -> bool:
        """Whether it looks at the context it is asked about."""
        return _ask(self.part, "needs_context", True)

    @property
    def answerable(self) -> Bools | None:
        """The actions that it can ever answer for, (K,); None: perhaps all."""
        return _ask(self.part, "answerable", None)

    def is_exhausted(self) -> bool:
        """True once it will never answer again: virtual plays that could only end in None are then spared."""
        told: Callable[[], bool] | None = _ask(self.part, "is_exhausted", None)
        return told is not None and bool(told())

    @property
    def get_variance(self) -> Callable[[ContextLike, int], float] | None:
        """get_variance(context, action): the variance of outcomes around an answer that is an average. None: answers
        are outcomes."""
        return _ask(self.part, "get_variance", None)

    @property
    def summary(self) -> Callable[[], Summary] | None:
        """summary(): what the log knows of each action. None: it cannot say."""
        return _ask(self.part, "summary", None)

    @property
    def _log(self) -> Log | None:
        kept: object = _ask(self.part, "log", None)
        return kept if isinstance(kept, Log) else None
