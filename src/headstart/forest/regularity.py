"""Definition 2 on the I half: which thresholds leave enough of it on both sides.

Only I's contexts and actions are read here, never its outcomes, so the tree stays honest. The rows that
a threshold must leave on each side bound it from both ends, so the allowed thresholds are one interval.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from headstart.arrays import Floats, Integers
from headstart.forest.sampling import least_share
from headstart.kernels.compile import kernel

# Columns of `shares`, one line per action.
REQUIRED, FOUND = range(2)


class EstimateHalf(NamedTuple):
    """I in one tree, ordered so that each node is one stretch; its outcomes are not here."""

    members: Integers  # (n_estimate,) rows
    shares: Integers  # (K, 2) rows of each action that a leaf must keep (m, or 0 where waived), and found
    values: Floats  # (n_estimate,) room to look for quantiles in


@kernel
def has_room(actions: Integers, members: Integers, shares: Integers, start: int, stop: int) -> bool:
    """True if these members of I might be parted with m rows of each action on both sides."""
    if shares.shape[0] == 1:
        return stop - start >= max(2, 2 * shares[0, REQUIRED])
    shares[:, FOUND] = 0
    for i in range(start, stop):
        shares[actions[members[i]], FOUND] += 1
    for action in range(shares.shape[0]):
        if shares[action, FOUND] < 2 * shares[action, REQUIRED]:
            return False
    return stop - start >= 2


@kernel
def is_regular(
    columns: Floats, actions: Integers, members: Integers, shares: Integers, start: int, stop: int,
    alpha: float, feature: int, threshold: float,
) -> bool:  # fmt: skip
    """True if splitting these members of I here leaves alpha of them and m of each action on both sides."""
    n = stop - start
    least = least_share(alpha, n)
    if shares.shape[0] == 1:
        least = max(least, shares[0, REQUIRED])
    n_left = 0
    for i in range(start, stop):
        n_left += columns[feature, members[i]] <= threshold
    if n_left < least or n - n_left < least:
        return False
    if shares.shape[0] == 1:
        return True
    for side in range(2):
        shares[:, FOUND] = 0
        for i in range(start, stop):
            row = members[i]
            shares[actions[row], FOUND] += (columns[feature, row] <= threshold) == (side == 0)
        for action in range(shares.shape[0]):
            if shares[action, FOUND] < shares[action, REQUIRED]:
                return False
    return True


@kernel
def regular_interval(
    columns: Floats, actions: Integers, members: Integers, shares: Integers, values: Floats,
    start: int, stop: int, alpha: float, feature: int,
) -> tuple[float, float]:  # fmt: skip
    """The thresholds t that are regular are those with low <= t < high; none if low >= high."""
    n = stop - start
    for i in range(n):
        values[i] = columns[feature, members[start + i]]
    least = least_share(alpha, n)
    if shares.shape[0] == 1:
        least = max(least, shares[0, REQUIRED])
    low = kth_smallest(values, n, least - 1)
    high = kth_smallest(values, n, n - least)
    if shares.shape[0] == 1:
        return low, high
    for action in range(shares.shape[0]):
        required = shares[action, REQUIRED]
        if required == 0:
            continue
        n = 0
        for i in range(start, stop):
            if actions[members[i]] == action:
                values[n] = columns[feature, members[i]]
                n += 1
        if n < 2 * required:
            return math.inf, -math.inf
        low = max(low, kth_smallest(values, n, required - 1))
        high = min(high, kth_smallest(values, n, n - required))
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
