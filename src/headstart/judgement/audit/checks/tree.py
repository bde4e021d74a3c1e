"""A classification tree of a few leaves: who differs in what happened to them.

Grown best first, by Gini's impurity, as scikit-learn's is with `max_leaf_nodes` (Breiman et al. 1984): of all leaves
the one whose split takes most off the impurity is split next. A threshold lies half-way between two neighbouring
values; of equally good splits the first column's, at the lowest threshold, is taken. Importing scikit-learn for its
own costs 65 MB and a second, machine code 50 MB: in numpy it is as quick as the one and holds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Floats, Integers

_LEAST_GAIN = 1e-4  # of impurity, over all rows, that a split must bring
_FEW_TARGETS = 5  # each of which is counted by itself
_TOGETHER = 12_000  # rows times columns that are looked at together: what they need stays in the cache


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes from the root on, the children of a split side by side."""

    columns: Integers  # (nodes,) that a node is split by; -1 for a leaf
    thresholds: Floats  # (nodes,) rows up to it go left
    lefts: Integers  # (nodes,) the left child, the right one is next to it; -1 for a leaf
    counts: Floats  # (nodes, targets) rows that it was grown on

    @property
    def leaves(self) -> Integers:
        """The nodes that are not split."""
        return np.flatnonzero(self.lefts < 0)

    @property
    def sizes(self) -> Integers:
        """Rows of each node that it was grown on, (nodes,)."""
        sizes: Integers = self.counts.sum(axis=1).astype(np.int64)
        return sizes

    def find_leaves(self, contexts: Floats) -> Integers:
        """The leaf of each row, by its place among `leaves`, (n,)."""
        at = np.zeros(len(contexts), dtype=np.int64)
        for node in np.flatnonzero(self.lefts >= 0):  # a parent comes before its children
            here = np.flatnonzero(at == node)
            is_above = contexts[here, self.columns[node]] > self.thresholds[node]
            at[here] = self.lefts[node] + is_above
        return np.searchsorted(self.leaves, at)


class _Split(NamedTuple):
    """What is best done with a leaf."""

    gain: float  # of impurity, times all rows
    column: int
    threshold: float


class _Rows(NamedTuple):
    """What a tree is grown on."""

    columns: Floats  # (d, n)
    targets: NDArray[np.uint16]  # (n,) short numbers are sorted by counting
    n_targets: int


def grow_group_tree(contexts: Floats, targets: Integers, n_targets: int, most_leaves: int, fewest_rows: int) -> Tree:
    """A tree that parts rows, (n, d), by their targets; no leaf has fewer than `fewest_rows` of them."""
    rows = _Rows(np.ascontiguousarray(contexts.T), targets.astype(np.uint16), n_targets)
    columns, thresholds, lefts, counts = [-1], [0.0], [-1], [_count(rows, np.arange(len(contexts)))]
    orders = {0: np.argsort(rows.columns, axis=1, kind="stable")}  # of each leaf's rows, by each column
    splits = {0: _best_split(rows, orders[0], counts[0], fewest_rows)}  # of each leaf
    while len(splits) < most_leaves:
        node = max(splits, key=lambda leaf: splits[leaf].gain)  # the oldest of equals
        if splits[node].gain < _LEAST_GAIN * len(contexts):
            break
        (_, column, threshold), order = splits.pop(node), orders.pop(node)
        columns[node], thresholds[node], lefts[node] = column, threshold, len(columns)
        is_left = (rows.columns[column] <= threshold)[order]
        for goes in (is_left, ~is_left):
            theirs, child = order[goes].reshape(len(order), -1), len(columns)  # still sorted by each column
            columns.append(-1)
            thresholds.append(0.0)
            lefts.append(-1)
            counts.append(_count(rows, theirs[0]))
            orders[child], splits[child] = theirs, _best_split(rows, theirs, counts[child], fewest_rows)
    return Tree(np.array(columns), np.array(thresholds), np.array(lefts), np.array(counts))


def _count(rows: _Rows, those: Integers) -> Floats:
    """Rows of each target, (targets,)."""
    return np.bincount(rows.targets[those], minlength=rows.n_targets).astype(np.float64)


def _best_split(rows: _Rows, order: Integers, counts: Floats, fewest: int) -> _Split:
    """The split of a leaf that takes most off the impurity: after it the sums of squared counts over rows,
    L / n_left + R / n_right, are largest."""
    n, best = order.shape[1], _Split(0.0, -1, 0.0)
    least, most = max(fewest, 1), min(n - fewest, n - 1)  # rows that may go left
    if least > most:
        return best
    lefts, alike = np.arange(float(least), most + 1.0), float(counts @ counts) / n
    some = max(1, _TOGETHER // n)
    for first in range(0, len(order), some):
        those = order[first : first + some]
        inner = those[:, least - 1 : most + 1]
        values = np.array([column.take(mine) for column, mine in zip(rows.columns[first:], inner, strict=False)])
        allowed = values[:, :-1] < values[:, 1:]
        if not allowed.any():
            continue
        left, right = (each[:, least - 1 : most] for each in _square_counts(rows.targets[those], counts))
        gains = np.where(allowed, left / lefts + right / (n - lefts) - alike, 0.0)
        places = gains.argmax(axis=1)
        for i, place in enumerate(places.tolist()):
            if gains[i, place] > best.gain * (1.0 + 1e-12):
                low, high = float(values[i, place]), float(values[i, place + 1])
                middle = low + 0.5 * (high - low)
                best = _Split(float(gains[i, place]), first + i, middle if middle < high else low)
    return best


def _square_counts(targets: NDArray[np.uint16], counts: Floats) -> tuple[Floats, Floats]:
    """L and R after each row, of rows in the order of each column, (columns, n): whole numbers, without rounding.

    Where targets are many: the r-th row of its target adds 2r - 1 to L and takes 2 (its count - r) + 1 off R.
    """
    if counts.size <= _FEW_TARGETS:
        others = np.arange(1.0, targets.shape[1] + 1.0)  # in the end, those of the last target
        left, right = np.zeros(targets.shape), np.zeros(targets.shape)
        for target, count in enumerate(counts[:-1]):
            so_far = np.cumsum(targets == target, axis=1).astype(np.float64)
            others = others - so_far
            left += so_far**2
            right += (count - so_far) ** 2
        return left + others**2, right + (counts[-1] - others) ** 2
    together = np.argsort(targets, axis=1, kind="stable")
    earlier = np.repeat(np.concatenate([[0.0], np.cumsum(counts)[:-1]]), counts.astype(np.int64))
    ranks = np.empty(targets.shape)
    np.put_along_axis(ranks, together, (np.arange(1.0, earlier.size + 1.0) - earlier)[None, :], axis=1)
    left = np.cumsum(2.0 * ranks - 1.0, axis=1)
    return left, float(counts @ counts) - np.cumsum(2.0 * (counts[targets] - ranks) + 1.0, axis=1)
