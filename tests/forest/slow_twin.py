"""The split search as one would write it on paper: every threshold of every feature, nothing clever."""

from __future__ import annotations

import itertools
import math

import numpy as np

from headstart.forest.tree import Floats, Integers


def gain_of(goes_left: np.ndarray, actions: Integers, outcomes: Floats) -> float:
    """The between-children sum of squares of the actions' means, summed over the actions."""
    gain = 0.0
    for action in np.unique(actions):
        mine = actions == action
        for side in (mine & goes_left, mine & ~goes_left):
            if side.any():
                gain += side.sum() * (outcomes[side].mean() - outcomes[mine].mean()) ** 2
    return gain


def regular(left: np.ndarray, actions: Integers, n_actions: int, alpha: float, m: int) -> bool:
    """Definition 2 on the rows of I, `left` telling their side."""
    least = max(1, math.ceil(alpha * left.size))
    if min(left.sum(), (~left).sum()) < least:
        return False
    counts = np.bincount(actions, minlength=n_actions)
    return all(
        min((left & (actions == a)).sum(), (~left & (actions == a)).sum()) >= m
        for a in range(n_actions)
        if counts[a] >= m
    )


def best_gain(
    x_split: Floats, a_split: Integers, y_split: Floats, x_estimate: Floats, a_estimate: Integers,
    n_actions: int, alpha: float, m: int,
) -> float:  # fmt: skip
    """The largest gain of any split that both halves allow; -1 if there is none."""
    best = -1.0
    least = max(1, math.ceil(alpha * len(y_split)))
    for feature in range(x_split.shape[1]):
        values = np.unique(x_split[:, feature])
        for below, above in itertools.pairwise(values):
            goes_left = x_split[:, feature] <= below
            if min(goes_left.sum(), (~goes_left).sum()) < least:
                continue
            # All thresholds that part J in this way: below, and each value of I inside the gap.
            inside = x_estimate[:, feature]
            inside = inside[(inside > below) & (inside < above)]
            if any(regular(x_estimate[:, feature] <= t, a_estimate, n_actions, alpha, m) for t in [below, *inside]):
                best = max(best, gain_of(goes_left, a_split, y_split))
    return best
