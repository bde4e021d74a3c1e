"""Drift of contexts: are the users of late still like the first ones? By column, in bounded memory.

Users are taken in blocks of `BLOCK`. The last whole one is held against the first by the standardised difference of
means that the audit's balance tells too, (m1 - m0) / sqrt((v0 + v1) / 2); a category is a column of 0 and 1. With
2,000 users in each its standard error is 0.03: `_SHIFT` is 8 of them, so no chance raises an alarm, however many
columns and looks there are, and nothing is said of shifts that change little.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from headstart.parts import Saved
from headstart.serve.store.events import Context
from headstart.serve.telling.outcomes import Wording, tell_share

BLOCK = 2000  # users
_SHIFT = 0.25  # standard deviations
_MOST_CATEGORIES = 50  # of a column that are kept apart: callers may send any


class Block:
    """Sums over some users."""

    def __init__(self) -> None:
        self.n = 0
        self.numbers: dict[str, list[float]] = {}  # n, sum, sum of squares by column
        self.categories: dict[str, dict[str, int]] = {}  # users by column and category

    def add(self, context: Context) -> None:
        """One more user; what is missing counts in no column."""
        self.n += 1
        for column, value in context.items():
            if isinstance(value, float):
                sums = self.numbers.setdefault(column, [0.0, 0.0, 0.0])
                sums[0] += 1.0
                sums[1] += value
                sums[2] += value * value
            elif value is not None:
                counts, name = self.categories.setdefault(column, {}), str(value)
                if name in counts or len(counts) < _MOST_CATEGORIES:
                    counts[name] = counts.get(name, 0) + 1

    def as_dict(self) -> Saved:
        """For snapshots."""
        return {"n": self.n, "numbers": self.numbers, "categories": self.categories}

    @classmethod
    def from_dict(cls, saved: Saved) -> Block:
        """From a snapshot."""
        block = cls()
        block.n, block.numbers, block.categories = saved["n"], saved["numbers"], saved["categories"]
        return block


class ContextDrift:
    """The first users, the last whole block of them, and the one that is being filled."""

    def __init__(self) -> None:
        self.first, self.last, self.present = Block(), Block(), Block()

    def add(self, contexts: Iterable[Context]) -> None:
        """Users in the order in which they came."""
        for context in contexts:
            if self.first.n < BLOCK:
                self.first.add(context)
                continue
            self.present.add(context)
            if self.present.n == BLOCK:
                self.last, self.present = self.present, Block()

    def tell(self) -> list[str]:
        """Alarms: the columns that have moved."""
        return [*self._tell_numbers(), *self._tell_categories()] if self.last.n else []

    def _tell_numbers(self) -> Iterator[str]:
        for column, before in self.first.numbers.items():
            now = self.last.numbers.get(column)
            if now is not None and min(before[0], now[0]) > 1.0:
                (m0, v0), (m1, v1) = _moments(before), _moments(now)
                if _is_apart(m0, m1, v0, v1):
                    words = Wording(column)
                    yield _say(f"{column} is {words.tell(m1)} on average", words.tell(m0))

    def _tell_categories(self) -> Iterator[str]:
        for column, before in self.first.categories.items():
            now = self.last.categories.get(column, {})
            for category in dict.fromkeys([*before, *now] if now else ()):
                p0, p1 = before.get(category, 0) / self.first.n, now.get(category, 0) / self.last.n
                if _is_apart(p0, p1, p0 * (1.0 - p0), p1 * (1.0 - p1)):
                    yield _say(f"{column} is {category} for {tell_share(p1, 1)}", tell_share(p0, 1))

    def as_dict(self) -> Saved:
        """For snapshots."""
        return {name: block.as_dict() for name, block in vars(self).items()}

    @classmethod
    def from_dict(cls, saved: Saved) -> ContextDrift:
        """From a snapshot."""
        drift = cls()
        drift.first, drift.last, drift.present = (
            Block.from_dict(saved[name]) for name in ("first", "last", "present")
        )
        return drift


def _moments(sums: list[float]) -> tuple[float, float]:
    n, total, squares = sums
    mean = total / n
    return mean, max(squares / n - mean * mean, 0.0) * n / (n - 1.0)


def _is_apart(m0: float, m1: float, v0: float, v1: float) -> bool:
    return abs(m1 - m0) > _SHIFT * math.sqrt(0.5 * (v0 + v1)) and m0 != m1


def _say(now: str, before: str) -> str:
    return f"Users are no longer those of the beginning: {now} of the last {BLOCK:,} users, {before} of the first."
