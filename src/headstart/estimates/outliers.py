"""Values far outside all others: a rule of gaps, and the range of a column that it leaves.

Sort the values. A few at an end (one, or up to a hundredth of them) are isolated if the gap to the next value is
more than `GAP` times the span of all that remain. A heavy tail has no such gap: of Pareto's law with exponent a, the
largest of many is more than GAP times the second largest with a chance of GAP^-a. A rule by standard deviations or
quartiles would not do: the first are moved by what they are to find, and of an outcome that is 1 for one user in a
hundred all quartiles are 0. Where all the others are equal there is no scale to judge by, and nothing is isolated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import NamedTuple, TypeAlias

import numpy as np

from headstart.arrays import Floats
from headstart.logs.log import Log
from headstart.logs.validation import read_only

GAP = 100.0  # spans of the rest
FEWEST = 30  # values, before any of them is called isolated
Range: TypeAlias = tuple[float, float]


class FoundRange(NamedTuple):
    """Where values are to be expected: from the least to the greatest that is not isolated, and a span further."""

    low: float
    high: float
    n_outside: int  # values that are isolated


class LogRanges(NamedTuple):
    """Of a log's outcomes and of its columns of numbers; a column of equal values has none."""

    outcome: FoundRange | None
    columns: dict[str, FoundRange]


def most_isolated(n: int) -> int:
    """How many of n values may be isolated at one end."""
    return max(1, n // 100) if n >= FEWEST else 0


def count_isolated(lowest: Sequence[float], highest: Sequence[float]) -> tuple[int, int]:
    """How many values are isolated at the low end and at the high one.

    `lowest` are the smallest values, ascending, `highest` the largest, descending: one more of each than may be
    isolated there.
    """
    low = high = 0
    while True:
        k, m = _widest(lowest, low), _widest(highest, high)
        further = [
            (to_low, to_high)
            for to_low, to_high in ((low, m), (k, high), (k, m))
            if (to_low, to_high) != (low, high)
            and (span := highest[to_high] - lowest[to_low]) > 0.0
            and _is_far(lowest, low, to_low, span)
            and _is_far(highest, high, to_high, span)
        ]
        if not further:
            return low, high
        low, high = further[0]


def _widest(ordered: Sequence[float], first: int) -> int:
    """The value behind the widest gap, among those from `first` on; `first` where there is none."""
    gaps = [abs(ordered[i + 1] - ordered[i]) for i in range(first, len(ordered) - 1)]
    return first + 1 + gaps.index(max(gaps)) if gaps else first


def _is_far(ordered: Sequence[float], first: int, to: int, span: float) -> bool:
    return to == first or abs(ordered[to] - ordered[to - 1]) > GAP * span


def find_range(values: Floats) -> FoundRange | None:
    """The range that these values suggest; None if they are all equal, or too far apart for a span."""
    n = most_isolated(values.size)
    parted = np.partition(values, (n, values.size - 1 - n))  # a tenth of the time of sorting them all
    lowest, highest = sorted(parted[: n + 1].tolist()), sorted(parted[values.size - 1 - n :].tolist(), reverse=True)
    low, high = count_isolated(lowest, highest)
    span = highest[high] - lowest[low]
    if not (0.0 < span < np.finfo(np.float64).max / 4.0):
        return None
    return FoundRange(lowest[low] - span, highest[high] + span, low + high)


def find_ranges(log: Log) -> LogRanges:
    """The ranges of a log's outcomes and of its columns of numbers."""
    columns = {}
    for name, j in log.encoding.numbers.items():
        found = find_range(log.contexts[:, j])
        if found is not None:
            columns[name] = found
    return LogRanges(find_range(log.outcomes), columns)


def clip_log(log: Log, outcome: Range | None, columns: Mapping[str, Range]) -> Log:
    """The log with every value within its range; the log itself if all are."""
    outcomes = log.outcomes if outcome is None else np.clip(log.outcomes, *outcome)
    known = [(-np.inf, np.inf)] * log.n_features
    for name, j in log.encoding.numbers.items():
        known[j] = columns.get(name, known[j])
    contexts = np.clip(log.contexts, [low for low, _ in known], [high for _, high in known])
    if np.array_equal(outcomes, log.outcomes) and np.array_equal(contexts, log.contexts):
        return log
    twin = copy(log)
    twin.outcomes, twin.contexts = read_only(outcomes), read_only(contexts)
    return twin
