"""Wrapper: an oracle around another one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from headstart.arrays import Floats
from headstart.checks import Available
from headstart.parts.abilities import OracleAbilities
from headstart.parts.contracts import ContextLike, Oracle, Readings, Saved, State, UserOutcomes, Weighing
from headstart.parts.policy import Policy
from headstart.randomness import RNG


class Wrapper(Policy, ABC):
    """An oracle around another: whatever it does not do in its own way, the inner one does.

    A subclass says what is `inner`. It may say what the inner one sees of a context (`seen`) and, if both have
    kernels, the state of the whole (`around`).
    """

    holds_log = False  # whether a copy of it would copy a log, or ask one for all that it knows

    @property
    @abstractmethod
    def inner(self) -> Oracle:
        """The oracle that is wrapped."""

    def seen(self, context: ContextLike) -> ContextLike:
        """What the inner oracle sees of a context."""
        return context

    def around(self, inner: State) -> State | None:
        """The state of the whole around the inner one's; None: the whole has no kernels."""
        return None

    @property
    def n_actions(self) -> int:
        """Actions are 0 .. n_actions - 1."""
        return self.inner.n_actions

    @property
    def n_features(self) -> int:
        """The length of a context; 0: none is looked at."""
        return OracleAbilities(self.inner).n_features or 0

    @property
    def outcome_range(self) -> tuple[float, float]:
        """The outcomes that can be learnt."""
        return OracleAbilities(self.inner).outcome_range

    @property
    def kernel_state(self) -> State | None:
        """The state for the compiled loops, or None if a part has no kernels."""
        inner = OracleAbilities(self.inner).kernel_state
        return None if inner is None else self.around(inner)

    def play(self, context: ContextLike = None, available: Available = None) -> int:
        """An available action for this user."""
        return self.inner.play(self.seen(context), available)

    def probabilities(self, context: ContextLike = None, available: Available = None) -> Floats:
        """The exact chance of each action in `play`."""
        return self.inner.probabilities(self.seen(context), available)

    def update(self, context: ContextLike, action: int, outcome: float) -> None:
        """Learn a user's outcome."""
        self.inner.update(self.seen(context), action, outcome)

    def rehearse(self, context: ContextLike, action: int, outcome: float) -> None:
        """Do to copies what `update` does with kernels of this layer's own, so that they are there (`warm`)."""
        return

    @property
    def waits(self) -> bool:
        """Whether it matters to the inner oracle what is in flight."""
        return OracleAbilities(self.inner).waits

    def expect(self, context: ContextLike, action: int) -> None:
        """A decision was made whose outcome is still to come."""
        OracleAbilities(self.inner).expect(self.seen(context), action)

    def release(self, context: ContextLike, action: int) -> None:
        """An expected decision is in flight no more: its outcome has come (`update` is next) or never will."""
        OracleAbilities(self.inner).release(self.seen(context), action)

    @property
    def withdraw(self) -> Callable[[int], None] | None:
        """withdraw(action): forget what the log said of an action. None: the inner oracle cannot."""
        return OracleAbilities(self.inner).withdraw

    def readings(self) -> Readings:
        """What the inner oracle believes, per action."""
        return OracleAbilities(self.inner).readings()

    def heard(self) -> UserOutcomes | None:
        """What users said of each action; None: the inner oracle does not say."""
        return OracleAbilities(self.inner).heard()

    def weigh(self, context: ContextLike, available: Available = None) -> Weighing | None:
        """What the inner oracle weighs when it decides for this user; None: it does not."""
        return OracleAbilities(self.inner).weigh(self.seen(context), available)

    def log_says(self, context: ContextLike) -> tuple[Floats, Floats] | None:
        """The mean of each action by the log alone and its standard error, (K,) each; None: there is no log."""
        return OracleAbilities(self.inner).log_says(self.seen(context))

    def reseed(self, rng: RNG) -> None:
        """New randomness; what was learnt stays."""
        OracleAbilities(self.inner).reseed(rng)

    def reserve(self, rounds: int) -> None:
        """Make room for this many online contexts."""
        OracleAbilities(self.inner).reserve(rounds)

    def get_state(self) -> Saved:
        """What was learnt and the state of the randomness, as arrays and plain values."""
        return OracleAbilities(self.inner).get_state()

    def set_state(self, saved: Saved) -> None:
        """Take up a state from `get_state` of a policy made in the same way: it has the same future."""
        OracleAbilities(self.inner).set_state(saved)


def layers(policy: Oracle) -> Iterator[Oracle]:
    """The policy, what it wraps, and so on to the oracle inside."""
    yield policy
    if isinstance(policy, Wrapper):
        yield from layers(policy.inner)
