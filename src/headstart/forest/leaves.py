"""Rows fall into the leaves of grown trees: to be added to their statistics, or to say which leaf is theirs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Floats, Integers
from headstart.forest.tree import ForestArrays, find_leaves
from headstart.kernels.compile import kernel


@kernel
def add_rows(arrays: ForestArrays, contexts: Floats, actions: Integers, outcomes: Floats) -> None:
    """Let each row fall into its leaf of every tree; the splits stay where they are."""
    n = outcomes.size
    leaves = np.empty(n, np.int64)
    for tree in range(arrays.roots.size):
        find_leaves(arrays.nodes, arrays.roots[tree], contexts, 0, n, leaves)
        for row in range(n):
            leaf, action = leaves[row], actions[row]
            arrays.sums[leaf, action] += outcomes[row]
            arrays.counts[leaf, action] += 1.0
            arrays.means[leaf, action] = arrays.sums[leaf, action] / arrays.counts[leaf, action]


@kernel
def leaves_of(arrays: ForestArrays, contexts: Floats, start: int, stop: int, out: NDArray[np.int32]) -> None:
    """Write into out[:, start:stop] the leaf of each of these rows in each tree."""
    leaves = np.empty(stop - start, np.int64)
    for tree in range(arrays.roots.size):
        find_leaves(arrays.nodes, arrays.roots[tree], contexts, start, stop, leaves)
        for i in range(stop - start):
            out[tree, start + i] = leaves[i]
