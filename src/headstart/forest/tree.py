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
    nodes: NDArray[np.void], root: int, contexts: Floats, start: int, stop: int, leaves: Integers
) -> None:
    """Write into `leaves` the leaf of each of the rows start..stop-1 in the tree that starts at `root`.

    Four rows go down together: a row's next step waits for memory, the others' need not, and where they are stays in
    registers. A row that has come to its leaf waits there.
    """
    whole = start + (stop - start) // 4 * 4
    for row in range(start, whole, 4):
        a = b = c = d = root
        while True:
            next_a, next_b = _step(nodes, a, contexts, row), _step(nodes, b, contexts, row + 1)
            next_c, next_d = _step(nodes, c, contexts, row + 2), _step(nodes, d, contexts, row + 3)
            if (next_a == a) & (next_b == b) & (next_c == c) & (next_d == d):
                break
            a, b, c, d = next_a, next_b, next_c, next_d
        i = row - start
        leaves[i], leaves[i + 1] = nodes[a]["child"], nodes[b]["child"]
        leaves[i + 2], leaves[i + 3] = nodes[c]["child"], nodes[d]["child"]
    for row in range(whole, stop):
        a = root
        while nodes[a]["feature"] >= 0:
            a = _step(nodes, a, contexts, row)
        leaves[row - start] = nodes[a]["child"]


@kernel
def _step(nodes: NDArray[np.void], place: int, contexts: Floats, row: int) -> int:
    """The node below this one that the row goes to; a leaf itself."""
    node = nodes[place]
    feature = node["feature"]
    if feature < 0:
        return place
    return node["child"] + (contexts[row, feature] > node["threshold"])
