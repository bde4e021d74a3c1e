"""Leaf statistics: the sum and the number of outcomes of each action in each leaf."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headstart.forest.tree import Floats, ForestArrays, Integers, find_row_leaf
from headstart.kernels.compile import kernel


@kernel
def add_rows(arrays: ForestArrays, contexts: Floats, actions: Integers, outcomes: Floats) -> None:
    """Let each row fall into its leaf of every tree; the splits stay where they are."""
    for tree in range(arrays.roots.size):
        for row in range(outcomes.size):
            leaf = find_row_leaf(arrays.nodes, arrays.roots[tree], contexts, row)
            action = actions[row]
            arrays.sums[leaf, action] += outcomes[row]
            arrays.counts[leaf, action] += 1.0
            arrays.means[leaf, action] = arrays.sums[leaf, action] / arrays.counts[leaf, action]


@kernel
def leaves_of(arrays: ForestArrays, contexts: Floats, start: int, stop: int, out: NDArray[np.int32]) -> None:
    """Write into out[:, start:stop] the leaf of each of these rows in each tree."""
    for tree in range(arrays.roots.size):
        for row in range(start, stop):
            out[tree, row] = find_row_leaf(arrays.nodes, arrays.roots[tree], contexts, row)


def leaf_means(sums: Floats, counts: Floats) -> Floats:
    """sums / counts, NaN where there is nothing to average."""
    means = np.full(sums.shape, math.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means
