"""Where a node is split: the best gap over the features tried that the I half allows.

Looking at I for every threshold would double the work, and the best gap by J is nearly always allowed. So
I is asked about the best one only. If it says no, that feature is scanned again within the interval that
I allows, and the best of all features is looked for again: the answer is the same, found lazily.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstart.forest.presorting import Items
from headstart.forest.regularity import is_regular, regular_interval
from headstart.forest.sampling import Limits, Rows, draw_front, draw_n_features
from headstart.forest.splitting import SplitHalf, scan_binned, scan_sorted, total_list, total_node
from headstart.forest.tree import LEAF, Floats, Integers
from headstart.kernels.compile import kernel
from headstart.kernels.random import Words


class EstimateHalf(NamedTuple):
    """I in one tree, ordered so that each node is one stretch; its outcomes are not here."""

    members: Integers  # (n_estimate,) rows
    required: Integers  # (K,) rows of each action that a leaf must keep: m, or 0 where waived
    values: Floats  # (n_estimate,) room to look for quantiles in
    left: Integers  # (K,) room to count in
    right: Integers  # (K,)


class Trial(NamedTuple):
    """Room to try features in."""

    features: Integers  # (d,) all features, those tried first
    gains: Floats  # (d,)
    below: Floats  # (d,)
    above: Floats  # (d,)
    is_settled: NDArray[np.bool_]  # (d,) True once I's interval was respected
    histogram: Floats  # (n_bins, K, 2)
    keys: Floats  # (n_split,)
    places: Items  # (n_split,)
    lists: Items  # (d, n_sorted) see `presorting`


class Node(NamedTuple):
    """A node on its way to be split: one stretch of each half."""

    index: int
    split_start: int
    split_stop: int
    estimate_start: int
    estimate_stop: int
    base: int  # where the sorted ancestor starts in J, or -1 if there is none


@kernel
def choose_split(
    words: Words, rows: Rows, limits: Limits, half: SplitHalf, estimate: EstimateHalf, trial: Trial,
    node: Node, least_gain: float,
) -> tuple[int, float]:  # fmt: skip
    """The feature and threshold to split `node` at; feature LEAF if there is none.

    The features tried are drawn (see `ForestOptions.mtry`). If none of them can be split, further ones
    are tried one by one, so that a node stays whole only if no feature can split it.
    """
    d = trial.features.size
    if node.base >= 0:
        total_list(half, trial.lists[0], node.split_start, node.split_stop, node.base)
    else:
        total_node(half, node.split_start, node.split_stop)
    n_tried, n_drawn = 0, draw_n_features(words, limits.mean_features, d)
    draw_front(words, trial.features, n_drawn, d)
    while True:
        for i in range(n_tried, n_drawn):
            _scan(rows, limits, half, trial, node, trial.features[i], -math.inf, math.inf)
            trial.is_settled[trial.features[i]] = False
        feature, threshold = _best_allowed(rows, limits, half, estimate, trial, node, n_drawn, least_gain)
        if feature != LEAF or n_drawn == d:
            return feature, threshold
        draw_front(words, trial.features[n_drawn:], 1, d - n_drawn)
        n_tried, n_drawn = n_drawn, n_drawn + 1


@kernel
def _scan(
    rows: Rows, limits: Limits, half: SplitHalf, trial: Trial, node: Node, feature: int, low: float, high: float
) -> None:
    start, stop = node.split_start, node.split_stop
    if node.base >= 0:
        found = scan_sorted(
            rows, limits, half, trial.lists[feature], start, stop, node.base, feature, low, high
        )
    else:
        found = scan_binned(
            rows, limits, half, trial.histogram, trial.keys, trial.places, start, stop, feature, low, high
        )
    trial.gains[feature], trial.below[feature], trial.above[feature] = found


@kernel
def _best_allowed(
    rows: Rows, limits: Limits, half: SplitHalf, estimate: EstimateHalf, trial: Trial, node: Node,
    n_drawn: int, least_gain: float,
) -> tuple[int, float]:  # fmt: skip
    start, stop = node.estimate_start, node.estimate_stop
    while True:
        feature = trial.features[0]
        for i in range(1, n_drawn):
            if trial.gains[trial.features[i]] > trial.gains[feature]:
                feature = trial.features[i]
        if trial.gains[feature] <= least_gain:
            return LEAF, 0.0
        threshold = middle(trial.below[feature], trial.above[feature])
        if trial.is_settled[feature] or is_regular(
            rows, limits, estimate.members, start, stop, estimate.required, estimate.left, estimate.right,
            feature, threshold,
        ):  # fmt: skip
            return feature, threshold
        low, high = regular_interval(
            rows, limits, estimate.members, start, stop, estimate.required, estimate.values, feature
        )
        trial.gains[feature] = -1.0
        if low < high:
            _scan(rows, limits, half, trial, node, feature, low, high)
            trial.below[feature] = max(trial.below[feature], low)
            trial.above[feature] = min(trial.above[feature], high)
        trial.is_settled[feature] = True


@kernel
def middle(below: float, above: float) -> float:
    """A threshold in [below, above): halfway, unless rounding leaves no room there."""
    threshold = 0.5 * below + 0.5 * above
    return threshold if below <= threshold < above else below
