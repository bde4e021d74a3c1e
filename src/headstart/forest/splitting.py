"""The best threshold of a feature in a small node, by the outcomes of the J half.

A split's gain is the between-children sum of squares of the actions' means, summed over the actions:

    sum_a  S_la^2 / N_la + S_ra^2 / N_ra - S_a^2 / N_a

with S and N the sums and counts of action a on the left, on the right and in the node. An action with all
its rows on one side adds nothing. With one action it is the regression criterion of CART.

The kernels here and beside take many arrays one by one: numba counts references, atomically, on every array
of a NamedTuple at each call, which took longer than the arithmetic.
"""

from __future__ import annotations

from typing import NamedTuple

from headstart.arrays import Floats, Integers
from headstart.forest.presorting import PLACE, RANK_SHIFT, Items
from headstart.kernels.compile import kernel

# Columns of `tries`, one line per feature.
GAIN, CUT, BELOW, ABOVE, LOW, HIGH = range(6)
# Columns of `sums` and of `counts`, one line per action.
ALL, LEFT, PART = range(3)


class SplitHalf(NamedTuple):
    """J in one tree, ordered so that each node is one stretch, and room for sums by action."""

    members: Integers  # (n_split,) rows
    actions: Integers  # (n_split,)
    outcomes: Floats  # (n_split,) centred within each action
    inverses: Floats  # (n_split + 1,) 1 / i, and 0 for 0
    sums: Floats  # (K, 3) of the node, of its left side, and each action's part of the gain
    counts: Integers  # (K, 2) of the node, of its left side


@kernel
def total_list(
    lists: Items, actions: Integers, outcomes: Floats, start: int, stop: int, base: int,
    sums: Floats, counts: Integers,
) -> None:  # fmt: skip
    """Sum up the outcomes of a sorted node by action."""
    sums[:, ALL] = 0.0
    counts[:, ALL] = 0
    for p in range(start - base, stop - base):
        i = base + (lists[0, p] & PLACE)
        sums[actions[i], ALL] += outcomes[i]
        counts[actions[i], ALL] += 1


@kernel
def empty_left(inverses: Floats, sums: Floats, counts: Integers) -> float:
    """Empty the left side; the gain's subtrahend, sum_a S_a^2 / N_a."""
    unsplit = 0.0
    for action in range(sums.shape[0]):
        sums[action, LEFT] = 0.0
        counts[action, LEFT] = 0
        sums[action, PART] = sums[action, ALL] * sums[action, ALL] * inverses[counts[action, ALL]]
        unsplit += sums[action, PART]
    return unsplit


@kernel
def scan_one_action(
    lists: Items, outcomes: Floats, inverses: Floats, total: float, start: int, stop: int, base: int,
    first: int, last: int, features: Integers, i_first: int, i_stop: int, tries: Floats,
) -> None:  # fmt: skip
    """Write the best gain, and the last item on its left, of each feature features[i_first:i_stop].

    Items first..last may be the last one on the left, if the next value differs.
    """
    if first > last:
        return
    n = stop - start
    mean = total * inverses[n]
    for i in range(i_first, i_stop):
        feature = features[i]
        excess = 0.0  # S_l - N_l S / N, so that the gain is excess^2 N / (N_l N_r)
        for p in range(start - base, first):
            excess += outcomes[base + (lists[feature, p] & PLACE)] - mean
        best, cut = -1.0, -1
        item = lists[feature, first]
        for p in range(first, last + 1):
            following = lists[feature, p + 1]
            excess += outcomes[base + (item & PLACE)] - mean
            if (item >> RANK_SHIFT) != (following >> RANK_SHIFT):
                n_left = p + 1 + base - start
                gain = excess * excess * (inverses[n_left] * inverses[n - n_left])
                if gain > best:
                    best, cut = gain, p
            item = following
        tries[feature, GAIN] = best * n
        tries[feature, CUT] = cut


@kernel
def scan_actions(
    lists: Items, actions: Integers, outcomes: Floats, inverses: Floats, sums: Floats, counts: Integers,
    start: int, base: int, first: int, last: int, features: Integers, i_first: int, i_stop: int, tries: Floats,
) -> None:  # fmt: skip
    """`scan_one_action` for any number of actions; a row changes the part of its own action only."""
    if first > last:
        return
    for i in range(i_first, i_stop):
        feature = features[i]
        unsplit = empty_left(inverses, sums, counts)
        total = unsplit
        best, cut = -1.0, -1
        item = lists[feature, start - base]
        for p in range(start - base, last + 1):
            following = lists[feature, p + 1]
            place = base + (item & PLACE)
            action = actions[place]
            n_left = counts[action, LEFT] + 1
            left = sums[action, LEFT] + outcomes[place]
            right = sums[action, ALL] - left
            part = left * left * inverses[n_left] + right * right * inverses[counts[action, ALL] - n_left]
            total += part - sums[action, PART]
            counts[action, LEFT] = n_left
            sums[action, LEFT] = left
            sums[action, PART] = part
            if p >= first and (item >> RANK_SHIFT) != (following >> RANK_SHIFT) and total - unsplit > best:
                best, cut = total - unsplit, p
            item = following
        tries[feature, GAIN] = best
        tries[feature, CUT] = cut


@kernel
def narrow(
    columns: Floats, members: Integers, lists: Items, feature: int, base: int, first: int, last: int,
    low: float, high: float,
) -> tuple[int, int]:  # fmt: skip
    """The items of first..last after which a threshold in [low, high) may come."""
    while first <= last and columns[feature, members[base + (lists[feature, first + 1] & PLACE)]] <= low:
        first += 1
    while first <= last and columns[feature, members[base + (lists[feature, last] & PLACE)]] >= high:
        last -= 1
    return first, last


@kernel
def scan_lists(
    lists: Items, actions: Integers, outcomes: Floats, inverses: Floats, sums: Floats, counts: Integers,
    start: int, stop: int, base: int, first: int, last: int, features: Integers, i_first: int, i_stop: int,
    tries: Floats,
) -> None:  # fmt: skip
    """The best gap of each of these features whose values are sorted, whatever the number of actions."""
    if sums.shape[0] == 1:
        scan_one_action(
            lists, outcomes, inverses, sums[0, ALL], start, stop, base, first, last, features, i_first, i_stop, tries
        )
    else:
        scan_actions(
            lists, actions, outcomes, inverses, sums, counts,
            start, base, first, last, features, i_first, i_stop, tries,
        )  # fmt: skip
