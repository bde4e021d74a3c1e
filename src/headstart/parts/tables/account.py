"""What was decided, in numbers and in words: who gets what, how many are tried on and why, what was strange."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.logs.tables.encoded import Surprises
from headstart.parts.tables.queue import Queue
from headstart.parts.tables.rule import DecisionRule, Portion


@dataclass(frozen=True)
class DecisionAccount:
    """The decisions of one table."""

    action_names: tuple[Hashable, ...]
    counts: Integers  # (K,) users who get each action
    expected: Floats  # (K,) the sum of their chances
    n_exploring: float  # users who are expected to get another action than their likeliest
    surprises: Surprises
    salt: str
    why: str  # how many are tried on, and why no more

    @property
    def n_users(self) -> int:
        return int(self.counts.sum())

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line for each column with values that the log never showed, or that were missing."""
        words = {"unseen": "of a category that the log never showed", "missing": "missing, and filled in"}
        return tuple(
            f"column {column!r}: {n:,} of {self.n_users:,} values are {words[what]}"
            for (column, what), n in sorted(self.surprises.items())
        )

    def __str__(self) -> str:
        lines = [f"{self.n_users:,} users decided (salt {self.salt})"]
        for name, n in zip(self.action_names, self.counts.tolist(), strict=True):
            lines.append(f"  {name}: {n:,} users, {n / max(self.n_users, 1):.1%}")
        return "\n".join([*lines, self.why, *self.warnings])


class DecisionTally:
    """Adds up portions as they are decided."""

    def __init__(self, action_names: tuple[Hashable, ...]) -> None:
        self._names = action_names
        self._counts = np.zeros(len(action_names), dtype=np.int64)
        self._expected = np.zeros(len(action_names))
        self._exploring = 0.0
        self._surprises: Surprises = Surprises()

    def add(self, portion: Portion) -> None:
        n = portion.actions.size
        self._counts += np.bincount(portion.actions, minlength=self._counts.size)
        times = n / max(len(portion.chances), 1)  # one row may stand for all
        self._expected += portion.chances.sum(axis=0) * times
        self._exploring += float((1.0 - portion.chances.max(axis=1)).sum()) * times
        self._surprises.update(portion.surprises)

    def account(self, rule: DecisionRule) -> DecisionAccount:
        salt, floor, n = rule.asked.salt, rule.asked.floor, int(self._counts.sum())
        by_floor = floor * n * (1.0 - 1.0 / len(self._names))  # all available
        why = _explain(rule.queue, n, max(self._exploring - by_floor, 0.0))
        if floor:
            why += f" The floor of {floor:.3g} gives about {by_floor:,.0f} users another action by lot."
        return DecisionAccount(self._names, self._counts, self._expected, self._exploring, self._surprises, salt, why)


def _explain(queue: Queue, n_users: int, exploring: float) -> str:
    if queue.is_blind:
        return (
            f"About {exploring:,.0f} users get another action than their likeliest. This policy does not count the "
            "decisions whose outcomes are still to come, so each user is decided as if alone."
        )
    if exploring < 0.5:
        return (
            f"{n_users:,} users are decided before any outcome comes, and it is not worth giving any of them an "
            "action only to learn about it."
        )
    before = (
        f"{n_users:,} users are decided before any outcome comes. About {exploring:,.0f} of them get another action "
        "than the one that looks best, in order to learn about it"
    )
    if queue.n_before_rest < n_users:
        return f"{before}: once {queue.n_before_rest:,} are decided, more of that would not be worth what it costs."
    return f"{before}: to the last of them that is worth what it costs."
