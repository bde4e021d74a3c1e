"""Extremes: the smallest and largest values of a column, whose they are, to find those far outside the rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from headstart.estimates.outliers import count_isolated, most_isolated

_KEPT = 8  # at each end: so one less may be isolated there


class Outlier(NamedTuple):
    """A value far outside all others, of `low` to `high`, and the event id that it came with."""

    value: float
    event_id: str
    low: float
    high: float


@dataclass
class Extremes:
    """Of the values so far, in any order: a wild one is found whether it came first or last."""

    n: int = 0
    lowest: list[tuple[float, str]] = field(default_factory=list)  # ascending, with event ids
    highest: list[tuple[float, str]] = field(default_factory=list)  # descending

    def add(self, value: float, event_id: str) -> None:
        """One more value."""
        self.n += 1
        if len(self.lowest) == len(self.highest) == _KEPT and self.lowest[-1][0] <= value <= self.highest[-1][0]:
            return
        if len(self.lowest) < _KEPT or value < self.lowest[-1][0]:
            self.lowest = sorted([*self.lowest, (value, event_id)], key=_value)[:_KEPT]
        if len(self.highest) < _KEPT or value > self.highest[-1][0]:
            self.highest = sorted([*self.highest, (value, event_id)], key=_value, reverse=True)[:_KEPT]

    def drop(self, event_id: str) -> None:
        """Forget what came with an event id."""
        self.lowest = [each for each in self.lowest if each[1] != event_id]
        self.highest = [each for each in self.highest if each[1] != event_id]

    def outliers(self) -> list[Outlier]:
        """The values far outside the rest."""
        kept = most_isolated(self.n) + 1
        lowest, highest = self.lowest[:kept], self.highest[:kept]
        if not lowest or not highest or kept == 1:
            return []
        n_low, n_high = count_isolated([value for value, _ in lowest], [value for value, _ in highest])
        low, high = lowest[n_low][0], highest[n_high][0]
        return [Outlier(value, event_id, low, high) for value, event_id in (*lowest[:n_low], *highest[:n_high])]


def _value(pair: tuple[float, str]) -> float:
    return pair[0]
