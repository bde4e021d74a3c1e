"""Definition 2 on the I half: which thresholds leave enough of it on both sides.

Only I's contexts and actions are read here, never its outcomes, so the tree stays honest. The rows that
a threshold must leave on each side bound it from both ends, so the allowed thresholds are one interval.
"""

from __future__ import annotations

import math

from headstart.forest.sampling import Limits, Rows, least_share
from headstart.forest.tree import Floats, Integers
from headstart.kernels.compile import kernel


@kernel
def count_actions(rows: Rows, members: Integers, start: int, stop: int, counts: Integers) -> None:
    """Write into `counts` how many of these members took each action."""
    counts[:] = 0
    for i in range(start, stop):
        counts[rows.actions[members[i]]] += 1


@kernel
def can_be_split(limits: Limits, n_split: int, n_estimate: int, counts: Integers, required: Integers) -> bool:
    """False where no threshold could do: too few rows of J, or of some action of I."""
    if n_split <= limits.min_node or n_split < 2 or n_estimate < 2:
        return False
    for action in range(limits.n_actions):
        if counts[action] < 2 * required[action]:
            return False
    return True


@kernel
def is_regular(
    rows: Rows, limits: Limits, members: Integers, start: int, stop: int, required: Integers,
    left: Integers, right: Integers, feature: int, threshold: float,
) -> bool:  # fmt: skip
    """True if splitting these members of I here leaves alpha of them and m of each action on both sides."""
    left[:] = 0
    right[:] = 0
    n_left = 0
    column = rows.columns[feature]
    for i in range(start, stop):
        row = members[i]
        if column[row] <= threshold:
            n_left += 1
            left[rows.actions[row]] += 1
        else:
            right[rows.actions[row]] += 1
    least = least_share(limits.alpha, stop - start)
    if n_left < least or stop - start - n_left < least:
        return False
    for action in range(limits.n_actions):
        if left[action] < required[action] or right[action] < required[action]:
            return False
    return True


@kernel
def regular_interval(
    rows: Rows, limits: Limits, members: Integers, start: int, stop: int, required: Integers,
    values: Floats, feature: int,
) -> tuple[float, float]:  # fmt: skip
    """The thresholds t that are regular are those with low <= t < high; none if low >= high."""
    column = rows.columns[feature]
    for i in range(start, stop):
        values[i - start] = column[members[i]]
    n = stop - start
    least = least_share(limits.alpha, n)
    low = kth_smallest(values, n, least - 1)
    high = kth_smallest(values, n, n - least)
    if limits.n_actions == 1 and required[0] <= least:
        return low, high
    for action in range(limits.n_actions):
        if required[action] == 0:
            continue
        n = 0
        for i in range(start, stop):
            if rows.actions[members[i]] == action:
                values[n] = column[members[i]]
                n += 1
        if n < 2 * required[action]:
            return math.inf, -math.inf
        low = max(low, kth_smallest(values, n, required[action] - 1))
        high = min(high, kth_smallest(values, n, n - required[action]))
    return low, high


@kernel
def kth_smallest(values: Floats, n: int, k: int) -> float:
    """The k-th smallest of the first n values, counted from 0; reorders them (Hoare's FIND)."""
    first, last = 0, n - 1
    while first < last:
        pivot = values[(first + last) // 2]
        i, j = first, last
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if j < k:
            first = i
        if k < i:
            last = j
    return values[k]
