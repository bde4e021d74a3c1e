"""The best threshold of a feature in a large node, by histograms of the J half's outcomes.

The histogram finds the best edge between bins. The threshold is then looked for exactly, among the rows of
the bins on both sides of that edge, since a jump of the outcome lies anywhere inside a bin.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from headstart.arrays import Floats, Integers
from headstart.forest.presorting import Bytes, Items
from headstart.forest.splitting import ABOVE, ALL, BELOW, CUT, GAIN, HIGH, LEFT, LOW, SplitHalf, empty_left
from headstart.kernels.compile import kernel
from headstart.kernels.sorting import sort_pairs


class BinRoom(NamedTuple):
    """Room to look at one feature of a large node in."""

    histogram: Floats  # (n_bins, K, 2) sum and count
    keys: Floats  # (n_split,)
    places: Items  # (n_split,)


@kernel
def total_node(half: SplitHalf, start: int, stop: int) -> None:
    """Sum up the outcomes of a binned node by action."""
    half.sums[:, ALL] = 0.0
    half.counts[:, ALL] = 0
    for i in range(start, stop):
        half.sums[half.actions[i], ALL] += half.outcomes[i]
        half.counts[half.actions[i], ALL] += 1


@kernel
def scan_bins(
    bins: Bytes, edges: Floats, half: SplitHalf, histogram: Floats, start: int, stop: int, least: int,
    feature: int, tries: Floats,
) -> None:  # fmt: skip
    """Write the best gain, and the last bin on its left, of the edges in the feature's [low, high)."""
    first, last = 0, edges.shape[1] - 1
    while first <= last and edges[feature, first] < tries[feature, LOW]:
        first += 1
    while first <= last and edges[feature, last] >= tries[feature, HIGH]:
        last -= 1
    if first > last:
        return
    fill_histogram(bins, half.members, half.actions, half.outcomes, start, stop, feature, histogram)
    gain, edge = scan_histogram(half.inverses, half.sums, half.counts, histogram, stop - start, least, first, last)
    tries[feature, GAIN] = gain
    tries[feature, CUT] = edge


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
) -> tuple[float, int]:
    """The best gain and the last bin on its left, among the bins first..last; a negative gain if none."""
    unsplit = empty_left(inverses, sums, counts)
    n_left = 0
    best, edge = -1.0, -1
    for b in range(last + 1):
        n_before = n_left
        total = -unsplit
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
    return best, edge


@kernel
def find_gap(
    columns: Floats, bins: Bytes, half: SplitHalf, keys: Floats, places: Items,
    start: int, stop: int, least: int, feature: int, tries: Floats,
) -> None:  # fmt: skip
    """Write the best gap [below, above), and its gain, among the rows on both sides of the best edge."""
    edge, low, high = int(tries[feature, CUT]), tries[feature, LOW], tries[feature, HIGH]
    sums, counts, inverses = half.sums, half.counts, half.inverses
    beyond = 256  # the next bin that is not empty
    for i in range(start, stop):
        b = int(bins[feature, half.members[i]])
        if edge < b < beyond:
            beyond = b
    unsplit = empty_left(inverses, sums, counts)
    n_near, n_left = 0, 0
    next_value = math.inf  # of the first row beyond both bins
    for i in range(start, stop):
        row = half.members[i]
        b = int(bins[feature, row])
        if b < edge:
            n_left += 1
            sums[half.actions[i], LEFT] += half.outcomes[i]
            counts[half.actions[i], LEFT] += 1
        elif b <= beyond:
            keys[n_near] = columns[feature, row]
            places[n_near] = i - start
            n_near += 1
        else:
            next_value = min(next_value, columns[feature, row])
    sort_pairs(keys, places, 0, n_near)
    tries[feature, GAIN] = -1.0
    for p in range(n_near):
        i = start + places[p]
        sums[half.actions[i], LEFT] += half.outcomes[i]
        counts[half.actions[i], LEFT] += 1
        n_left += 1
        following = keys[p + 1] if p + 1 < n_near else next_value
        if keys[p] == following or following <= low or keys[p] >= high:
            continue
        if n_left < least or stop - start - n_left < least:
            continue
        gain = -unsplit
        for action in range(sums.shape[0]):
            left, right = sums[action, LEFT], sums[action, ALL] - sums[action, LEFT]
            gain += left * left * inverses[counts[action, LEFT]]
            gain += right * right * inverses[counts[action, ALL] - counts[action, LEFT]]
        if gain > tries[feature, GAIN]:
            tries[feature, GAIN] = gain
            tries[feature, BELOW] = keys[p]
            tries[feature, ABOVE] = following
