"""Parts: the two contracts, and what a part may offer beyond them."""

from __future__ import annotations

from typing import Any, Protocol

from headstart.arrays import Floats


class Oracle(Protocol):
    """Chooses and learns."""

    n_actions: int

    def play(self, context: Any, available: Any = None) -> int:
        """An available action for this context."""

    def update(self, context: Any, action: int, outcome: float) -> None:
        """Learn what came of an action; told everything, so outcomes may come late or in any order."""

    def probabilities(self, context: Any, available: Any = None) -> Floats:
        """The exact chance of each action in `play`."""


class Evaluator(Protocol):
    """Answers "what would have happened?" from the log."""

    def get_outcome(self, context: Any, action: int) -> float | None:
        """The outcome, or None if the log has no answer. 0.0 is an answer. It must end: None at some point.

        An evaluator may also have `is_exhausted()`, True once it will never answer again: the virtual plays
        that could only end in None are then spared, and with them the oracle's draws. One that answers with an
        average may have `get_variance(context, action)`, the variance of outcomes around it: an oracle that
        estimates variances (it has `absorb(context, action, outcome, variance)`) is told it with each answer.
        """
