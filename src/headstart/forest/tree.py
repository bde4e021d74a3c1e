"""Trees as flat arrays, and the way of one context through one tree.

All trees of a forest lie in one array of nodes. A split's children stand side by side, so a node needs one
index for both; a leaf's index points into the arrays of leaf statistics instead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Floats, Integers
from headstart.errors import PolicyFileError
from headstart.kernels.compile import kernel

LEAF = -1  # the `feature` of a leaf

# 16 bytes: the two children that a context may go to share a cache line.
NODE = np.dtype([("threshold", np.float64), ("child", np.int32), ("feature", np.int32)])


class ForestArrays(NamedTuple):
    """A grown forest; leaves are numbered through all trees."""

    nodes: NDArray[np.void]  # (n_nodes,) of NODE
    roots: Integers  # (n_trees,) each tree's first node
    leaf_starts: Integers  # (n_trees + 1,) tree b has leaves leaf_starts[b] .. leaf_starts[b + 1] - 1
    sums: Floats  # (n_leaves, K) outcomes of the I half
    counts: Floats  # (n_leaves, K) rows of the I half
    means: Floats  # (n_leaves, K) sums / counts, NaN where a leaf has no row of the action


def check_trees(arrays: ForestArrays, n_features: int) -> None:
    """Every way through the trees ends in a leaf that is there: for trees that come from a file."""
    nodes, n_leaves = arrays.nodes, arrays.sums.shape[0]
    same = arrays.sums.ndim == 2 and arrays.sums.shape == arrays.counts.shape == arrays.means.shape
    floats = all(each.dtype == np.float64 for each in (arrays.sums, arrays.counts, arrays.means))
    if nodes.dtype != NODE or nodes.ndim != 1 or not same or not floats:
        raise PolicyFileError("holds a forest whose arrays do not fit each other")
    child, feature, place = nodes["child"], nodes["feature"], np.arange(nodes.size)
    is_leaf = feature < 0
    inner, leaves = child[~is_leaf], child[is_leaf]
    is_whole = (
        (inner > place[~is_leaf]).all()  # downward only, so no way goes round for ever
        and (inner + 1 < nodes.size).all()
        and (feature < n_features).all()
        and ((leaves >= 0) & (leaves < n_leaves)).all()
        and ((arrays.roots >= 0) & (arrays.roots < nodes.size)).all()
    )
    if not is_whole:
        raise PolicyFileError("holds a forest with a way that leads nowhere")


@kernel
def find_leaf(arrays: ForestArrays, tree: int, context: Floats) -> int:
    """The leaf of `tree` that `context` falls in: left where context[feature] <= threshold."""
    nodes = arrays.nodes
    node = nodes[arrays.roots[tree]]
    while node["feature"] >= 0:
        node = nodes[node["child"] + (context[node["feature"]] > node["threshold"])]
    return node["child"]


@kernel
def find_leaves(
    nodes: NDArray[np.void], root: int, contexts: Floats, start: int, stop: int, waiting: Integers, leaves: Integers
) -> None:
    """Write into `leaves` the leaf of each of the rows start..stop-1 in the tree that starts at `root`.

    All rows go down together, a level at a time: a row's next step waits for memory, another row's need not.
    """
    n_waiting = stop - start
    for i in range(n_waiting):
        waiting[i] = i
        leaves[i] = root
    if nodes[root]["feature"] < 0:
        n_waiting = 0
    while n_waiting > 0:
        n_kept = 0
        for w in range(n_waiting):
            i = waiting[w]
            node = nodes[leaves[i]]
            child = node["child"] + (contexts[start + i, node["feature"]] > node["threshold"])
            leaves[i] = child
            waiting[n_kept] = i
            n_kept += nodes[child]["feature"] >= 0
        n_waiting = n_kept
    for i in range(stop - start):
        leaves[i] = nodes[leaves[i]]["child"]
