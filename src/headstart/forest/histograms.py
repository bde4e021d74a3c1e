"""The best threshold of a feature in a large node, by histograms of the J half's outcomes.

The histogram finds the best edge between bins. The threshold is then looked for exactly, among the rows of
the bins on both sides of that edge, since a jump of the outcome lies anywhere inside a bin.
"""

from __future__ import annotations

import math

from headstart.forest.presorting import Bytes, Items, sort_pairs
from headstart.forest.splitting import ABOVE, ALL, BELOW, GAIN, LEFT, SplitHalf, empty_left
from headstart.forest.tree import Floats, Integers
from headstart.kernels.compile import kernel


@kernel
def total_node(half: SplitHalf, start: int, stop: int) -> None:
    """Sum up the outcomes of a binned node by action."""
    half.sums[:, ALL] = 0.0
    half.counts[:, ALL] = 0
    for i in range(start, stop):
        half.sums[half.actions[i], ALL] += half.outcomes[i]
        half.counts[half.actions[i], ALL] += 1


@kernel
def scan_binned(
    columns: Floats, bins: Bytes, edges: Floats, half: SplitHalf, histogram: Floats, keys: Floats, places: Items,
    start: int, stop: int, least: int, feature: int, low: float, high: float, tries: Floats,
) -> None:  # fmt: skip
    """Write the best gain and its gap [below, above), of those that a threshold in [low, high) can fall in."""
    tries[feature, GAIN] = -1.0
    first, last = 0, edges.shape[1] - 1
    while first <= last and edges[feature, first] < low:
        first += 1
    while first <= last and edges[feature, last] >= high:
        last -= 1
    if first > last:
        return
    fill_histogram(bins, half.members, half.actions, half.outcomes, start, stop, feature, histogram)
    edge = scan_histogram(half.inverses, half.sums, half.counts, histogram, stop - start, least, first, last)
    if edge >= 0:
        _scan_beside(columns, bins, half, histogram, keys, places, start, stop, least, feature, edge,
                     low, high, tries)  # fmt: skip


@kernel
def fill_histogram(
    bins: Bytes, members: Integers, actions: Integers, outcomes: Floats, start: int, stop: int, feature: int,
    histogram: Floats,
) -> None:  # fmt: skip
    """Sum and count of the node's outcomes, by bin and action, into histogram (n_bins, K, 2)."""
    histogram[:] = 0.0
    for i in range(start, stop):
        b = bins[feature, members[i]]
        histogram[b, actions[i], 0] += outcomes[i]
        histogram[b, actions[i], 1] += 1.0


@kernel
def scan_histogram(
    inverses: Floats, sums: Floats, counts: Integers, histogram: Floats, n: int, least: int, first: int, last: int
) -> int:
    """The last bin on the left of the best split, among the bins first..last; -1 if there is none."""
    empty_left(inverses, sums, counts)
    n_left = 0
    best, edge = -1.0, -1
    for b in range(last + 1):
        n_before = n_left
        total = 0.0
        for action in range(sums.shape[0]):
            left = sums[action, LEFT] + histogram[b, action, 0]
            n_action = counts[action, LEFT] + int(histogram[b, action, 1])
            right = sums[action, ALL] - left
            total += left * left * inverses[n_action]
            total += right * right * inverses[counts[action, ALL] - n_action]
            sums[action, LEFT] = left
            counts[action, LEFT] = n_action
            n_left += int(histogram[b, action, 1])
        if n - n_left < least:
            break
        if b >= first and n_left > n_before and n_left >= least and total > best:
            best, edge = total, b
    return edge


@kernel
def _scan_beside(
    columns: Floats, bins: Bytes, half: SplitHalf, histogram: Floats, keys: Floats, places: Items,
    start: int, stop: int, least: int, feature: int, edge: int, low: float, high: float, tries: Floats,
) -> None:  # fmt: skip
    beyond = edge + 1  # the next bin that is not empty
    while histogram[beyond, :, 1].sum() == 0.0:
        beyond += 1
    n_near, n_left = 0, 0
    next_value = math.inf  # of the first row beyond both bins
    for i in range(start, stop):
        b = bins[feature, half.members[i]]
        if b < edge:
            n_left += 1
        elif b <= beyond:
            keys[n_near] = columns[feature, half.members[i]]
            places[n_near] = i - start
            n_near += 1
        else:
            next_value = min(next_value, columns[feature, half.members[i]])
    sort_pairs(keys, places, 0, n_near)
    sums, counts, inverses = half.sums, half.counts, half.inverses
    unsplit = empty_left(inverses, sums, counts)
    for b in range(edge):
        for action in range(sums.shape[0]):
            sums[action, LEFT] += histogram[b, action, 0]
            counts[action, LEFT] += int(histogram[b, action, 1])
    for p in range(n_near):
        sums[half.actions[start + places[p]], LEFT] += half.outcomes[start + places[p]]
        counts[half.actions[start + places[p]], LEFT] += 1
        n_left += 1
        value = keys[p]
        following = keys[p + 1] if p + 1 < n_near else next_value
        if value == following or following <= low or value >= high:
            continue
        if n_left < least or stop - start - n_left < least:
            continue
        total = 0.0
        for action in range(sums.shape[0]):
            left, right = sums[action, LEFT], sums[action, ALL] - sums[action, LEFT]
            total += left * left * inverses[counts[action, LEFT]]
            total += right * right * inverses[counts[action, ALL] - counts[action, LEFT]]
        if total - unsplit > tries[feature, GAIN]:
            tries[feature, GAIN] = total - unsplit
            tries[feature, BELOW] = value
            tries[feature, ABOVE] = following
