"""Small nodes: J's rows sorted once by every feature, and kept sorted down to the leaves.

A node that has become small enough is sorted by each feature. Its descendants inherit the order by a
stable partition, so below that node no threshold is ever approximated and nothing is sorted again.
A list's item packs the row's place in the node (low 16 bits) with the rank of its value (high 16 bits):
a walk along the list reads one array, and equal values show as equal ranks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Floats, Integers
from headstart.kernels.compile import kernel
from headstart.kernels.sorting import sort_pairs

Bytes = NDArray[np.uint8]
Items = NDArray[np.uint32]

MOST_SORTED = 1 << 15  # places and ranks must fit into 16 bits
PLACE = np.uint32(0xFFFF)
RANK_SHIFT = np.uint32(16)


class SortRoom(NamedTuple):
    """Room to sort a node and to part its lists in."""

    tally: Integers  # (n_bins + 1,)
    is_right: Bytes  # (n_sorted,) by place
    spare: Items  # (n_sorted,)


@kernel
def sort_node(
    columns: Floats, bins: Bytes, members: Integers, start: int, stop: int,
    keys: Floats, tally: Integers, lists: Items,
) -> None:  # fmt: skip
    """Fill lists[feature, :stop - start] for the members start..stop-1: by bins, then exactly."""
    n = stop - start
    for feature in range(columns.shape[0]):
        tally[:] = 0
        for i in range(start, stop):
            tally[int(bins[feature, members[i]]) + 1] += 1  # a byte of plain Python wraps around at 255
        for b in range(1, tally.size):
            tally[b] += tally[b - 1]
        for i in range(start, stop):
            row = members[i]
            b = bins[feature, row]
            position = tally[b]
            tally[b] += 1
            keys[position] = columns[feature, row]
            lists[feature, position] = i - start
        places = lists[feature]
        first = 0
        for b in range(tally.size - 1):
            if tally[b] > first + 1:
                sort_pairs(keys, places, first, tally[b])
            first = tally[b]
        rank = 0
        for p in range(1, n):
            rank += keys[p] != keys[p - 1]
            lists[feature, p] |= np.uint32(rank) << RANK_SHIFT


@kernel
def mark_right(
    columns: Floats, members: Integers, lists: Items, start: int, stop: int, base: int,
    feature: int, threshold: float, is_right: Bytes,
) -> int:  # fmt: skip
    """Mark the places in the node that lie beyond the threshold; the number of those that do not."""
    n_left = 0
    for p in range(start - base, stop - base):
        place = lists[feature, p] & PLACE
        right = columns[feature, members[base + place]] > threshold
        is_right[place] = right
        n_left += not right
    return n_left


@kernel
def part_lists(lists: Items, start: int, stop: int, feature: int, is_right: Bytes, spare: Items) -> None:
    """Move the items whose place is marked behind the others, in every list but `feature`'s own."""
    for other in range(lists.shape[0]):
        if other == feature:
            continue
        n_left, n_right = start, 0
        for p in range(start, stop):
            item = lists[other, p]
            right = int(is_right[item & PLACE])
            # Both writes, one of which counts: a branch would be wrong every other time.
            lists[other, n_left] = item
            spare[n_right] = item
            n_left += 1 - right
            n_right += right
        for i in range(n_right):
            lists[other, n_left + i] = spare[i]
