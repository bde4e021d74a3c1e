"""Where a node is split: the best gap over the features tried that the I half allows.

A gap [below, above) lies between two neighbouring values of J: every threshold in it parts J in the same
way, so I may choose among them. Looking at I for every gap would double the work, and the best gap by J is
mostly allowed. So I is asked about the best one only. If it says no, that feature is scanned again within
the interval that I allows, and the best of all features is looked for again: the same answer, found lazily.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from headstart.arrays import Floats, Integers, Words
from headstart.forest.histograms import BinRoom, find_gap, scan_bins, total_node
from headstart.forest.presorting import PLACE, Items
from headstart.forest.regularity import EstimateHalf, is_regular, regular_interval
from headstart.forest.sampling import ForestRows, Limits, draw_front, draw_n_features, least_share
from headstart.forest.splitting import (
    ABOVE,
    BELOW,
    CUT,
    GAIN,
    HIGH,
    LOW,
    SplitHalf,
    narrow,
    scan_lists,
    total_list,
)
from headstart.forest.tree import LEAF
from headstart.kernels.compile import kernel


class TryRoom(NamedTuple):
    """Room to try features in."""

    features: Integers  # (d,) all features, those tried first
    tries: Floats  # (d, 6) see `splitting`
    lists: Items  # (d, n_sorted) see `presorting`
    room: BinRoom


class Node(NamedTuple):
    """A node on its way to be split: one stretch of each half."""

    number: int  # in the block's array of nodes
    split_start: int
    split_stop: int
    estimate_start: int
    estimate_stop: int
    base: int  # where the sorted ancestor starts in J, or -1 if there is none


@kernel
def choose_split(
    words: Words, rows: ForestRows, limits: Limits, half: SplitHalf, estimate: EstimateHalf, trial: TryRoom,
    node: Node, least_gain: float,
) -> tuple[int, float]:  # fmt: skip
    """The feature and threshold to split `node` at; feature LEAF if there is none.

    The features tried are drawn (see `ForestOptions.mtry`). If none of them can be split, further ones
    are tried one by one, so that a node stays whole only if no feature can split it.
    """
    start, stop, base = node.split_start, node.split_stop, node.base
    features, tries, lists = trial.features, trial.tries, trial.lists
    columns, actions, members, outcomes = rows.columns, rows.actions, half.members, half.outcomes
    estimators, shares = estimate.members, estimate.shares
    d = features.size
    n_drawn = draw_n_features(words, limits.mean_features, d)
    draw_front(words, features, 0, n_drawn, d)
    least = least_share(limits.alpha, stop - start)
    if base >= 0:
        total_list(lists, half.actions, outcomes, start, stop, base, half.sums, half.counts)
    else:
        total_node(half, start, stop)
    i_first, i_stop = 0, n_drawn
    low, high = -math.inf, math.inf
    while True:
        open_tries(features, tries, i_first, i_stop, low, high)
        if base < 0:
            for i in range(i_first, i_stop):
                scan_bins(rows.bins, rows.edges, half, trial.room.histogram, start, stop, least, features[i], tries)
        else:
            first, last = start - base + least - 1, stop - base - least - 1
            if low > -math.inf:
                first, last = narrow(columns, members, lists, features[i_first], base, first, last, low, high)
            scan_lists(
                lists, half.actions, outcomes, half.inverses, half.sums, half.counts,
                start, stop, base, first, last, features, i_first, i_stop, tries,
            )  # fmt: skip
        i = best_of(features, tries, n_drawn)
        feature = features[i]
        if tries[feature, GAIN] <= least_gain:
            if n_drawn == d:
                return LEAF, 0.0
            draw_front(words, features, n_drawn, 1, d)
            i_first, i_stop, n_drawn = n_drawn, n_drawn + 1, n_drawn + 1
            low, high = -math.inf, math.inf
            continue
        if base < 0:
            find_gap(columns, rows.bins, half, trial.room.keys, trial.room.places, start, stop, least, feature, tries)
        threshold = threshold_of(columns, members, lists, tries, feature, base)
        if tries[feature, LOW] > -math.inf or is_regular(
            columns, actions, estimators, shares, node.estimate_start,
            node.estimate_stop, limits.alpha, feature, threshold,
        ):  # fmt: skip
            return feature, threshold
        low, high = regular_interval(
            columns, actions, estimators, shares, estimate.values,
            node.estimate_start, node.estimate_stop, limits.alpha, feature,
        )  # fmt: skip
        tries[feature, GAIN] = -1.0
        i_first, i_stop = i, i + (low < high)


@kernel
def open_tries(features: Integers, tries: Floats, i_first: int, i_stop: int, low: float, high: float) -> None:
    """The features from i_first on have no gap yet, and may have one within [low, high)."""
    for i in range(i_first, i_stop):
        tries[features[i], GAIN] = -1.0
        tries[features[i], LOW] = low
        tries[features[i], HIGH] = high


@kernel
def best_of(features: Integers, tries: Floats, n: int) -> int:
    """The first of the features[:n] with the largest gain."""
    best = 0
    for i in range(1, n):
        if tries[features[i], GAIN] > tries[features[best], GAIN]:
            best = i
    return best


@kernel
def threshold_of(columns: Floats, members: Integers, lists: Items, tries: Floats, feature: int, base: int) -> float:
    """Halfway through what I allows of the feature's best gap."""
    if base >= 0:
        cut = int(tries[feature, CUT])
        below = columns[feature, members[base + (lists[feature, cut] & PLACE)]]
        above = columns[feature, members[base + (lists[feature, cut + 1] & PLACE)]]
    else:
        below, above = tries[feature, BELOW], tries[feature, ABOVE]
    below, above = max(below, tries[feature, LOW]), min(above, tries[feature, HIGH])
    threshold = 0.5 * below + 0.5 * above
    return threshold if below <= threshold < above else below  # rounding may leave no room between
