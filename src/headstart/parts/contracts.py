"""The two contracts: what an oracle and an evaluator must do. Anything with these methods is one."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeAlias

from numpy.typing import ArrayLike

from headstart.arrays import Floats
from headstart.checks import Available

ContextLike: TypeAlias = ArrayLike | None
State: TypeAlias = tuple[Any, ...]  # the NamedTuple of arrays that compiled loops work on
Saved: TypeAlias = dict[str, Any]  # arrays and plain values by name, perhaps nested


class Readings(NamedTuple):
    """What an oracle believes, per action, for people and pages. NaN where the algorithm has no such notion.

    Parameters
    ----------
    counts
        (K,) virtual plays and users' outcomes so far.
    means
        (K,) the average outcome; NaN for an action without any.
    lower, upper
        (K,) the ends of what the algorithm holds possible for the mean.

    Examples
    --------
    >>> import headstart as hs
    >>> oracle = hs.UCB(2)
    >>> oracle.update(None, 0, 1.0)
    >>> oracle.readings().counts
    array([1., 0.])
    """

    counts: Floats  # (K,) virtual and online plays
    means: Floats  # (K,) average outcome, NaN for an action without plays
    lower: Floats  # (K,)
    upper: Floats  # (K,)


class UserOutcomes(NamedTuple):
    """What users said of each action. NaN where there is no such number."""

    counts: Floats  # (K,) outcomes learnt
    means: Floats  # (K,) their average


class Weighing(NamedTuple):
    """What an oracle weighs when it decides for a user. NaN for an action that is not available."""

    means: Floats  # (K,) the outcome that is expected of each action
    worths: Floats  # (K,) what one more play of it is worth to the users after him, by what it teaches


class Oracle(Protocol):
    """Chooses and learns.

    Examples
    --------
    >>> import headstart as hs
    >>> class First:
    ...     n_actions = 2
    ...     def play(self, context, available=None):
    ...         return 0
    ...     def update(self, context, action, outcome):
    ...         pass
    ...     def probabilities(self, context, available=None):
    ...         return [1.0, 0.0]
    >>> hs.WarmStart(First(), hs.NoLog()).play(None)
    0
    """

    @property
    def n_actions(self) -> int:
        """Actions are 0 .. n_actions - 1."""

    def play(self, context: ContextLike, available: Available = None) -> int:
        """An available action for this context."""

    def update(self, context: ContextLike, action: int, outcome: float) -> None:
        """Learn what came of an action; told everything, so outcomes may come late or in any order."""

    def probabilities(self, context: ContextLike, available: Available = None) -> Floats:
        """The exact chance of each action in `play`."""


class Evaluator(Protocol):
    """Answers "what would have happened?" from the log.

    Examples
    --------
    >>> import headstart as hs
    >>> class Half:
    ...     n_actions = 2
    ...     def get_outcome(self, context, action):
    ...         return None  # the log has no answer
    >>> print(hs.WarmStart(hs.UCB(2), Half(), rng=1).play(None))
    0
    """

    def get_outcome(self, context: ContextLike, action: int) -> float | None:
        """The outcome, or None if the log has no answer. 0.0 is an answer. It must end: None at some point."""
