"""One tree, grown best first on histograms: of all leaves the one whose split takes most off the loss is split next.

The loss is its second-order expansion (Chen and Guestrin 2016): a leaf with the gradients' sum G and the curvatures'
sum H is worth -G / (H + RIDGE), which takes G^2 / (H + RIDGE) / 2 off it. Of a split the smaller side's histograms
are summed over its rows, and the larger's are what is left of their parent's. A column of categories is split by
categories in the order of their values; those with few rows go with the side that has more of the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Floats, Integers
from headstart.estimates.gradient_trees.bins import MOST_BINS, UNSEEN, Bytes
from headstart.kernels.compile import kernel
from headstart.kernels.sorting import sort_pairs

Bits = NDArray[np.uint64]  # four make a set of bins
Pulls = NDArray[np.float32]  # (n, 2) gradients and curvatures

MOST_LEAVES = 15
MOST_NODES = 2 * MOST_LEAVES - 1
RATE = 0.1  # of each leaf's worth that is taken
RIDGE = 1.0
LEAST_ROWS = 20  # of a leaf
LEAST_CURVATURE = 1e-3  # of a leaf
SUPPORT = 10.0  # rows without which a category has no say in a split; and how much it leans towards zero
GRADIENT, CURVATURE, COUNT = 0, 1, 2  # what a histogram sums up
# What is known of a leaf: its sums, what it is worth already, and its best split.
TOTAL, BEND, WORTH, GAIN, LEFT_TOTAL, LEFT_BEND = 0, 1, 2, 3, 4, 5
NODE, START, STOP, FEATURE = 0, 1, 2, 3  # and where it stands


class Trees(NamedTuple):
    """Nodes from the root on, the two sides of a split next to each other."""

    features: Integers  # (trees, nodes) the column that a node is split by
    lefts: Integers  # (trees, nodes) its left side; -1 for a leaf
    sets: Bits  # (trees, nodes, 4) the bins that go left, a bit each
    values: Floats  # (trees, nodes) of a leaf


class GrowingRoom(NamedTuple):
    """Room to grow a tree in."""

    order: Integers  # (n,) rows, leaf by leaf
    spare: Integers  # (n,)
    pulls: Pulls  # (n, 2) of a leaf's rows, in their order
    histograms: Floats  # (leaves, columns, bins, 3)
    numbers: Floats  # (leaves, 6)
    places: Integers  # (leaves, 4)
    sets: Bits  # (leaves, 4) the bins that go left in its best split
    keys: Floats  # (bins,)
    items: Integers  # (bins,)


def new_trees(n_trees: int) -> Trees:
    """Trees that are not grown yet."""
    shape = n_trees, MOST_NODES
    return Trees(
        np.zeros(shape, np.int64), np.full(shape, -1, np.int64), np.zeros((*shape, 4), np.uint64), np.zeros(shape)
    )


def new_room(n_rows: int, n_bins: Integers) -> GrowingRoom:
    """Room for as many rows, and columns of as many bins."""
    widest = int(n_bins.max(initial=1))
    return GrowingRoom(
        np.empty(n_rows, np.int64), np.empty(n_rows, np.int64), np.empty((n_rows, 2), np.float32),
        np.empty((MOST_LEAVES, n_bins.size, widest, 3)), np.empty((MOST_LEAVES, 6)),
        np.empty((MOST_LEAVES, 4), np.int64), np.empty((MOST_LEAVES, 4), np.uint64),
        np.empty(MOST_BINS), np.empty(MOST_BINS, np.int64),
    )  # fmt: skip


@kernel
def add_tree(
    bins: Bytes,
    n_bins: Integers,
    categorical: int,
    pulls: Pulls,
    room: GrowingRoom,
    trees: Trees,
    t: int,
    scores: Floats,
) -> None:
    """Grow tree `t` on these rows, (columns, n), and add what it says to their scores.

    `categorical` is the column of categories, or -1. A tree that cannot be split says nothing.
    """
    n = room.order.size
    for i in range(n):
        room.order[i] = i
    _begin_leaf(room, 0, 0, 0, n, 0.0, 0.0, 0.0)
    if n < 2 * LEAST_ROWS or n_bins.size == 0:
        return
    _fill(bins, n_bins, pulls, room, 0)
    for b in range(n_bins[0]):
        room.numbers[0, TOTAL] += room.histograms[0, 0, b, GRADIENT]
        room.numbers[0, BEND] += room.histograms[0, 0, b, CURVATURE]
    _find_split(n_bins, categorical, room, 0)
    n_leaves = 1
    while n_leaves < MOST_LEAVES:
        best = 0
        for leaf in range(1, n_leaves):
            if room.numbers[leaf, GAIN] > room.numbers[best, GAIN]:
                best = leaf
        if room.numbers[best, GAIN] <= 0.0:
            break
        left = 2 * n_leaves - 1  # nodes come in pairs after the root
        _part(bins, room, best, n_leaves, trees, t, left)
        n_leaves += 1
        if n_leaves < MOST_LEAVES:
            _look_at(bins, n_bins, categorical, pulls, room, best, n_leaves - 1)
    if n_leaves > 1:
        for leaf in range(n_leaves):
            value = -RATE * room.numbers[leaf, TOTAL] / (room.numbers[leaf, BEND] + RIDGE)
            trees.values[t, room.places[leaf, NODE]] = value
            for i in range(room.places[leaf, START], room.places[leaf, STOP]):
                scores[room.order[i]] += value


@kernel
def _begin_leaf(
    room: GrowingRoom, leaf: int, node: int, start: int, stop: int, total: float, bend: float, worth: float
) -> None:
    room.places[leaf, NODE] = node
    room.places[leaf, START] = start
    room.places[leaf, STOP] = stop
    room.numbers[leaf, TOTAL] = total
    room.numbers[leaf, BEND] = bend
    room.numbers[leaf, WORTH] = worth
    room.numbers[leaf, GAIN] = -1.0


@kernel
def _fill(bins: Bytes, n_bins: Integers, pulls: Pulls, room: GrowingRoom, leaf: int) -> None:
    """The histograms of a leaf, over its rows."""
    start, stop = room.places[leaf, START], room.places[leaf, STOP]
    for i in range(start, stop):
        row = room.order[i]
        room.pulls[i, 0] = pulls[row, 0]
        room.pulls[i, 1] = pulls[row, 1]
    for column in range(n_bins.size):
        for b in range(n_bins[column]):
            for kind in range(3):
                room.histograms[leaf, column, b, kind] = 0.0
        for i in range(start, stop):
            b = bins[column, room.order[i]]
            room.histograms[leaf, column, b, GRADIENT] += room.pulls[i, 0]
            room.histograms[leaf, column, b, CURVATURE] += room.pulls[i, 1]
            room.histograms[leaf, column, b, COUNT] += 1.0


@kernel
def _worth(total: float, bend: float) -> float:
    """Twice what a leaf takes off the loss."""
    return total * total / (bend + RIDGE)


@kernel
def _find_split(n_bins: Integers, categorical: int, room: GrowingRoom, leaf: int) -> None:
    """The best split of a leaf whose histograms are filled, over all columns."""
    for column in range(n_bins.size):
        if column == categorical:
            _scan_categories(n_bins[column], column, room, leaf)
        else:
            _scan_numbers(n_bins[column], column, room, leaf)


@kernel
def _gain(room: GrowingRoom, leaf: int, n_left: float, total_left: float, bend_left: float) -> float:
    """What a split takes off the loss; negative where a side would be too small."""
    n_right = room.places[leaf, STOP] - room.places[leaf, START] - n_left
    bend_right = room.numbers[leaf, BEND] - bend_left
    if n_left < LEAST_ROWS or n_right < LEAST_ROWS or bend_left < LEAST_CURVATURE or bend_right < LEAST_CURVATURE:
        return -1.0
    total_right = room.numbers[leaf, TOTAL] - total_left
    return _worth(total_left, bend_left) + _worth(total_right, bend_right) - room.numbers[leaf, WORTH]


@kernel
def _take_split(room: GrowingRoom, leaf: int, column: int, gain: float, total_left: float, bend_left: float) -> None:
    """Note the best split so far, with nothing on its left yet."""
    room.numbers[leaf, GAIN] = gain
    room.numbers[leaf, LEFT_TOTAL] = total_left
    room.numbers[leaf, LEFT_BEND] = bend_left
    room.places[leaf, FEATURE] = column
    for word in range(4):
        room.sets[leaf, word] = np.uint64(0)


@kernel
def _add_bin(sets: Bits, leaf: int, b: int) -> None:
    sets[leaf, b >> 6] |= np.uint64(1) << np.uint64(b & 63)


@kernel
def _scan_numbers(n_bins: int, column: int, room: GrowingRoom, leaf: int) -> None:
    histograms = room.histograms
    total = bend = n_left = 0.0
    last = -1
    for b in range(n_bins - 1):
        total += histograms[leaf, column, b, GRADIENT]
        bend += histograms[leaf, column, b, CURVATURE]
        n_left += histograms[leaf, column, b, COUNT]
        gain = _gain(room, leaf, n_left, total, bend)
        if gain > 0.0 and gain > room.numbers[leaf, GAIN]:
            last = b
            _take_split(room, leaf, column, gain, total, bend)
    for b in range(last + 1):
        _add_bin(room.sets, leaf, b)


@kernel
def _scan_categories(n_bins: int, column: int, room: GrowingRoom, leaf: int) -> None:
    """Categories in the order of their values, the first few of either end on the left, half of them at most."""
    histograms = room.histograms
    support = SUPPORT * room.numbers[leaf, BEND] / (room.places[leaf, STOP] - room.places[leaf, START])
    n_used = 0
    for b in range(n_bins):
        if histograms[leaf, column, b, CURVATURE] >= support:
            room.keys[n_used] = histograms[leaf, column, b, GRADIENT] / (
                histograms[leaf, column, b, CURVATURE] + SUPPORT
            )
            room.items[n_used] = b
            n_used += 1
    if n_used < 2:
        return
    sort_pairs(room.keys, room.items, 0, n_used)
    n_best, from_end = 0, False
    for is_reversed in (False, True):
        total = bend = n_left = 0.0
        for i in range((n_used + 1) // 2 - (1 if is_reversed else 0)):
            b = room.items[n_used - 1 - i if is_reversed else i]
            total += histograms[leaf, column, b, GRADIENT]
            bend += histograms[leaf, column, b, CURVATURE]
            n_left += histograms[leaf, column, b, COUNT]
            gain = _gain(room, leaf, n_left, total, bend)
            if gain > 0.0 and gain > room.numbers[leaf, GAIN]:
                n_best, from_end = i + 1, is_reversed
                _take_split(room, leaf, column, gain, total, bend)
    for i in range(n_best):
        _add_bin(room.sets, leaf, room.items[n_used - 1 - i if from_end else i])


@kernel
def _goes_left(sets: Bits, at: int, b: int) -> bool:
    return (sets[at, b >> 6] >> np.uint64(b & 63)) & np.uint64(1) != 0


@kernel
def _part(bins: Bytes, room: GrowingRoom, leaf: int, other: int, trees: Trees, t: int, left: int) -> None:
    """Split a leaf into itself, the side with more rows, and `other`; nodes `left` and the next are theirs."""
    node, start, stop = room.places[leaf, NODE], room.places[leaf, START], room.places[leaf, STOP]
    column = room.places[leaf, FEATURE]
    middle, n_right = start, 0
    for i in range(start, stop):
        row = room.order[i]
        if _goes_left(room.sets, leaf, bins[column, row]):
            room.order[middle] = row
            middle += 1
        else:
            room.spare[n_right] = row
            n_right += 1
    for i in range(n_right):
        room.order[middle + i] = room.spare[i]
    is_left_larger = middle - start > n_right
    if is_left_larger:
        _add_bin(room.sets, leaf, UNSEEN)
    trees.features[t, node] = column
    trees.lefts[t, node] = left
    for word in range(4):
        trees.sets[t, node, word] = room.sets[leaf, word]
    total, bend = room.numbers[leaf, LEFT_TOTAL], room.numbers[leaf, LEFT_BEND]
    total_right, bend_right = room.numbers[leaf, TOTAL] - total, room.numbers[leaf, BEND] - bend
    of_left, of_right = (leaf, other) if is_left_larger else (other, leaf)
    _begin_leaf(room, of_left, left, start, middle, total, bend, _worth(total, bend))
    _begin_leaf(room, of_right, left + 1, middle, stop, total_right, bend_right, _worth(total_right, bend_right))


@kernel
def _look_at(
    bins: Bytes, n_bins: Integers, categorical: int, pulls: Pulls, room: GrowingRoom, leaf: int, other: int
) -> None:
    """Find the splits of the two sides of a split; the histograms of the larger are in the room of their parent's."""
    if room.places[leaf, STOP] - room.places[leaf, START] < 2 * LEAST_ROWS:
        return  # nor can the smaller one be split
    _fill(bins, n_bins, pulls, room, other)
    for column in range(n_bins.size):
        for b in range(n_bins[column]):
            for kind in range(3):
                room.histograms[leaf, column, b, kind] -= room.histograms[other, column, b, kind]
    _find_split(n_bins, categorical, room, leaf)
    if room.places[other, STOP] - room.places[other, START] >= 2 * LEAST_ROWS:
        _find_split(n_bins, categorical, room, other)


@kernel
def add_scores(bins: Bytes, trees: Trees, first: int, stop: int, step: int, scores: Floats) -> None:
    """Add what the trees first, first + step, ... say of each row, (columns, n), to its score."""
    for i in range(scores.size):
        for t in range(first, stop, step):
            node = 0
            while trees.lefts[t, node] >= 0:
                b = bins[trees.features[t, node], i]
                left = trees.lefts[t, node]
                node = left if _goes_left(trees.sets[t], node, b) else left + 1
            scores[i] += trees.values[t, node]
