"""The best threshold of one feature in one node, by the outcomes of the J half.

A split's gain is the between-children sum of squares of the actions' means, summed over the actions:

    sum_a  S_la^2 / N_la + S_ra^2 / N_ra - S_a^2 / N_a

with S and N the sums and counts of action a on the left, on the right and in the node. An action with all
its rows on one side adds nothing. With one action it is the regression criterion of CART.

A scan answers with the gap [below, above) between two neighbouring values of J: every threshold in the gap
parts J in the same way, so the I half may choose among them (see `regularity`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstart.forest.presorting import PLACE, RANK_SHIFT, Items, sort_pairs
from headstart.forest.sampling import Limits, Rows, least_share
from headstart.forest.tree import Floats, Integers
from headstart.kernels.compile import kernel

NO_GAP = (-1.0, 0.0, 0.0)  # a gain below every real one


class SplitHalf(NamedTuple):
    """J in one tree, ordered so that each node is one stretch, and the node's totals."""

    members: Integers  # (n_split,) rows
    actions: Integers  # (n_split,)
    outcomes: Floats  # (n_split,) centred within each action
    inverses: Floats  # (n_split + 1,) 1 / i, and 0 for 0
    sums: Floats  # (K,) of the node at hand
    counts: Integers  # (K,) of the node at hand
    left_sums: Floats  # (K,)
    left_counts: Integers  # (K,)
    parts: Floats  # (K,) each action's share of the gain


@kernel
def total_node(half: SplitHalf, start: int, stop: int) -> None:
    """Sum up the outcomes of a binned node by action."""
    half.sums[:] = 0.0
    half.counts[:] = 0
    for i in range(start, stop):
        half.sums[half.actions[i]] += half.outcomes[i]
        half.counts[half.actions[i]] += 1


@kernel
def total_list(half: SplitHalf, items: Items, start: int, stop: int, base: int) -> None:
    """Sum up the outcomes of a sorted node by action."""
    half.sums[:] = 0.0
    half.counts[:] = 0
    for p in range(start - base, stop - base):
        i = base + (items[p] & PLACE)
        half.sums[half.actions[i]] += half.outcomes[i]
        half.counts[half.actions[i]] += 1


@kernel
def scan_list(
    half: SplitHalf, items: Items, start: int, stop: int, base: int, first: int, last: int
) -> tuple[float, int]:
    """The best gain and the last item on its left, among the items first..last of a sorted list."""
    if half.sums.size == 1:
        return _scan_one_action(half, items, start, stop, base, first, last)
    return _scan_actions(half, items, start, stop, base, first, last)


@kernel
def _scan_one_action(
    half: SplitHalf, items: Items, start: int, stop: int, base: int, first: int, last: int
) -> tuple[float, int]:
    n = stop - start
    mean = half.sums[0] * half.inverses[n]
    outcomes = half.outcomes[base:]
    inverses = half.inverses
    excess = 0.0  # S_l - N_l S / N, so that the gain is excess^2 N / (N_l N_r)
    for p in range(start, first):
        excess += outcomes[items[p] & PLACE] - mean
    best, best_p = -1.0, -1
    item = items[first]
    for p in range(first, last + 1):
        following = items[p + 1]
        excess += outcomes[item & PLACE] - mean
        if (item >> RANK_SHIFT) != (following >> RANK_SHIFT):
            gain = excess * excess * (inverses[p + 1 - start] * inverses[stop - p - 1])
            if gain > best:
                best, best_p = gain, p
        item = following
    return best * n, best_p


@kernel
def _scan_actions(
    half: SplitHalf, items: Items, start: int, stop: int, base: int, first: int, last: int
) -> tuple[float, int]:
    inverses = half.inverses
    unsplit = _start_left(half)
    total = unsplit
    best, best_p = -1.0, -1
    for p in range(start, last + 1):
        place = base + (items[p] & PLACE)
        action = half.actions[place]
        n_left = half.left_counts[action] + 1
        left = half.left_sums[action] + half.outcomes[place]
        right = half.sums[action] - left
        part = left * left * inverses[n_left] + right * right * inverses[half.counts[action] - n_left]
        total += part - half.parts[action]
        half.left_counts[action] = n_left
        half.left_sums[action] = left
        half.parts[action] = part
        if p >= first and (items[p] >> RANK_SHIFT) != (items[p + 1] >> RANK_SHIFT) and total - unsplit > best:
            best, best_p = total - unsplit, p
    return best, best_p


@kernel
def _start_left(half: SplitHalf) -> float:
    """Empty the left side; the gain's subtrahend, sum_a S_a^2 / N_a."""
    unsplit = 0.0
    for action in range(half.sums.size):
        half.left_sums[action] = 0.0
        half.left_counts[action] = 0
        half.parts[action] = half.sums[action] * half.sums[action] * half.inverses[half.counts[action]]
        unsplit += half.parts[action]
    return unsplit


@kernel
def scan_sorted(
    rows: Rows, limits: Limits, half: SplitHalf, items: Items, start: int, stop: int, base: int,
    feature: int, low: float, high: float,
) -> tuple[float, float, float]:  # fmt: skip
    """(gain, below, above) of the best gap of a sorted node that a threshold in [low, high) can fall in."""
    column = rows.columns[feature]
    least = least_share(limits.alpha, stop - start)
    first, last = start - base + least - 1, stop - base - least - 1
    while first <= last and column[half.members[base + (items[first + 1] & PLACE)]] <= low:
        first += 1
    while first <= last and column[half.members[base + (items[last] & PLACE)]] >= high:
        last -= 1
    if first > last:
        return NO_GAP
    gain, p = scan_list(half, items, start - base, stop - base, base, first, last)
    if p < 0:
        return NO_GAP
    below = column[half.members[base + (items[p] & PLACE)]]
    above = column[half.members[base + (items[p + 1] & PLACE)]]
    return gain, below, above


@kernel
def fill_histogram(
    rows: Rows, half: SplitHalf, start: int, stop: int, feature: int, histogram: Floats
) -> None:
    """Sum and count of the node's outcomes, by bin and action, into histogram (n_bins, K, 2)."""
    histogram[:] = 0.0
    bins = rows.bins[feature]
    for i in range(start, stop):
        cell = histogram[bins[half.members[i]], half.actions[i]]
        cell[0] += half.outcomes[i]
        cell[1] += 1.0


@kernel
def scan_histogram(half: SplitHalf, histogram: Floats, least: int, first: int, last: int) -> tuple[float, int]:
    """The best gain and the last bin on its left, among the bins first..last."""
    unsplit = _start_left(half)
    n = half.counts.sum()
    n_left = 0
    best, best_bin = -1.0, -1
    for b in range(last + 1):
        n_before = n_left
        total = 0.0
        for action in range(half.sums.size):
            left = half.left_sums[action] + histogram[b, action, 0]
            n_action = half.left_counts[action] + int(histogram[b, action, 1])
            right = half.sums[action] - left
            total += left * left * half.inverses[n_action]
            total += right * right * half.inverses[half.counts[action] - n_action]
            half.left_sums[action] = left
            half.left_counts[action] = n_action
            n_left += int(histogram[b, action, 1])
        if n - n_left < least:
            break
        if b >= first and n_left > n_before and n_left >= least and total - unsplit > best:
            best, best_bin = total - unsplit, b
    return best, best_bin


@kernel
def scan_binned(
    rows: Rows, limits: Limits, half: SplitHalf, histogram: Floats, keys: Floats, places: NDArray[np.uint32],
    start: int, stop: int, feature: int, low: float, high: float,
) -> tuple[float, float, float]:  # fmt: skip
    """(gain, below, above) of the best gap of a large node that a threshold in [low, high) can fall in.

    The histogram finds the best edge; the gap is then looked for exactly, among the rows of the bins on
    both sides of that edge, since a jump of the outcome lies anywhere inside a bin.
    """
    edges = rows.edges[feature]
    first, last = 0, edges.size - 1
    while first <= last and edges[first] < low:
        first += 1
    while first <= last and edges[last] >= high:
        last -= 1
    if first > last:
        return NO_GAP
    least = least_share(limits.alpha, stop - start)
    fill_histogram(rows, half, start, stop, feature, histogram)
    _, edge = scan_histogram(half, histogram, least, first, last)
    if edge < 0:
        return NO_GAP
    return _scan_beside(rows, half, histogram, keys, places, start, stop, feature, low, high, edge, least)


@kernel
def _scan_beside(
    rows: Rows, half: SplitHalf, histogram: Floats, keys: Floats, places: NDArray[np.uint32],
    start: int, stop: int, feature: int, low: float, high: float, edge: int, least: int,
) -> tuple[float, float, float]:  # fmt: skip
    bins, column = rows.bins[feature], rows.columns[feature]
    above_edge = edge + 1
    while histogram[above_edge, :, 1].sum() == 0.0:
        above_edge += 1
    n_near = 0
    n_left = 0
    next_value = math.inf  # of the first row beyond both bins
    for i in range(start, stop):
        b = bins[half.members[i]]
        if b < edge:
            n_left += 1
        elif b <= above_edge:
            keys[n_near] = column[half.members[i]]
            places[n_near] = i - start
            n_near += 1
        else:
            next_value = min(next_value, column[half.members[i]])
    sort_pairs(keys, places, 0, n_near)
    unsplit = _start_left(half)
    for b in range(edge):
        for action in range(half.sums.size):
            half.left_sums[action] += histogram[b, action, 0]
            half.left_counts[action] += int(histogram[b, action, 1])
    best, below, above = NO_GAP
    for p in range(n_near):
        half.left_sums[half.actions[start + places[p]]] += half.outcomes[start + places[p]]
        half.left_counts[half.actions[start + places[p]]] += 1
        n_left += 1
        value = keys[p]
        following = keys[p + 1] if p + 1 < n_near else next_value
        if value == following or following <= low or value >= high:
            continue
        if n_left < least or stop - start - n_left < least:
            continue
        total = 0.0
        for action in range(half.sums.size):
            left, right = half.left_sums[action], half.sums[action] - half.left_sums[action]
            total += left * left * half.inverses[half.left_counts[action]]
            total += right * right * half.inverses[half.counts[action] - half.left_counts[action]]
        if total - unsplit > best:
            best, below, above = total - unsplit, value, following
    return best, below, above
