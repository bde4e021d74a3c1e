"""From rows to a forest: columns are binned, blocks of trees grown in threads and joined into one set of arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Floats, Integers, Words
from headstart.forest.growing import TreeBlock, grow_block, make_desk
from headstart.forest.options import ForestOptions
from headstart.forest.presorting import MOST_SORTED
from headstart.forest.sampling import ForestRows, Limits
from headstart.forest.tree import NODE, ForestArrays
from headstart.kernels.compile import compiled, kernel

T = TypeVar("T")


def plant(
    contexts: Floats, actions: Integers, outcomes: Floats, n_actions: int, options: ForestOptions,
    seed: int, n_threads: int,
) -> ForestArrays:  # fmt: skip
    """Grow a forest on these rows, which are trusted; the same bits whatever the number of threads."""
    columns = np.ascontiguousarray(contexts.T)
    edges = quantile_edges(columns, options.n_bins)
    rows = ForestRows(columns, bin_columns(columns, edges), edges, actions, outcomes)
    limits = make_limits(options, n_actions, *contexts.shape)
    words = draw_group_words(seed, options.n_trees // options.group_size)
    # Blocks are cut by work, never by threads. A small forest is one block, hence one compiled call.
    step = max(1, 2**15 // limits.n_tree)
    blocks = in_threads(
        lambda first: _grow(words[first : first + step], rows, limits),
        range(0, words.shape[0], step),
        n_threads,
    )
    return _join(blocks)


def quantile_edges(columns: Floats, n_bins: int) -> Floats:
    """(d, n_bins - 1) edges at equal shares of the rows; bin b holds edges[b - 1] < x <= edges[b].

    A value that fills several shares repeats its edge, which only leaves bins empty.
    """
    n = columns.shape[1]
    positions = np.arange(1, n_bins) * n // n_bins
    return np.ascontiguousarray(np.sort(columns, axis=1)[:, np.maximum(positions - 1, 0)])


def bin_columns(columns: Floats, edges: Floats) -> NDArray[np.uint8]:
    """(d, n) the bin of each value: the number of edges below it."""
    bins = np.empty(columns.shape, dtype=np.uint8)
    compiled(_assign)(columns, edges, bins)
    return bins


@kernel
def _assign(columns: Floats, edges: Floats, bins: NDArray[np.uint8]) -> None:
    for feature in range(columns.shape[0]):
        for row in range(columns.shape[1]):
            value = columns[feature, row]
            low, high = 0, edges.shape[1]
            while low < high:
                middle = (low + high) // 2
                if edges[feature, middle] < value:
                    low = middle + 1
                else:
                    high = middle
            bins[feature, row] = low


def make_limits(options: ForestOptions, n_actions: int, n: int, d: int) -> Limits:
    """The options' consequences for n rows of d features."""
    n_group = n if options.group_size == 1 else max(1, n // 2)  # rows that the trees of one group share
    exponent = options.subsample_exponent
    wanted = round(n * options.sample_fraction) if exponent is None else math.ceil(n**exponent)
    n_tree = max(1, min(wanted, n_group))
    n_split = min(int(n_tree * options.honesty_fraction), n_tree - 1)  # at least one row is left to estimate
    n_tried = float(min(d, math.ceil(math.sqrt(d) + 20))) if options.mtry is None else options.mtry
    # A histogram is worth its scan of n_bins x K cells only if the node has several times as many rows.
    n_sorted = min(4 * options.n_bins * n_actions, MOST_SORTED)
    return Limits(
        n_actions, n_group, n_tree, n_split, options.group_size,
        options.min_leaf, options.min_node, options.alpha, n_tried, n_sorted,
    )  # fmt: skip


def draw_group_words(seed: int, n_groups: int) -> Words:
    """(n_groups, 4) one stream per group. Spawning a SeedSequence for each took longer than a small forest."""
    words = np.random.SeedSequence(seed).generate_state(4 * n_groups, np.uint64)
    return words.reshape(n_groups, 4).astype(np.uint64, copy=False)


def in_threads(task: Callable[[int], T], items: range, n_threads: int) -> list[T]:
    """What `task` says of each item, in order."""
    if n_threads == 1 or len(items) == 1:
        return [task(item) for item in items]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(task, items))


def _grow(words: Words, rows: ForestRows, limits: Limits) -> TreeBlock:
    n_trees = words.shape[0] * limits.group_size
    # Every leaf but a lone root holds rows of both halves. Room that is not used is never touched.
    n_leaves = n_trees * max(1, min(limits.n_split, limits.n_tree - limits.n_split))
    block = TreeBlock(
        np.empty(2 * n_leaves, NODE), np.empty((n_leaves, limits.n_actions)),
        np.empty((n_leaves, limits.n_actions)), np.empty(n_trees, np.int64), np.empty(n_trees + 1, np.int64),
    )  # fmt: skip
    n_nodes, n_leaves = compiled(grow_block, allocates=False)(
        words.copy(), rows, limits, make_desk(rows, limits), block
    )
    return TreeBlock(block.nodes[:n_nodes].copy(), block.sums[:n_leaves].copy(), block.counts[:n_leaves].copy(),
                 block.roots, block.leaf_starts)  # fmt: skip


def _join(blocks: list[TreeBlock]) -> ForestArrays:
    roots, leaf_starts = [], []
    n_nodes = n_leaves = 0
    for block in blocks:
        block.nodes["child"] += np.where(block.nodes["feature"] < 0, n_leaves, n_nodes).astype(np.int32)
        roots.append(block.roots + n_nodes)
        leaf_starts.append(block.leaf_starts[:-1] + n_leaves)
        n_nodes += block.nodes.size
        n_leaves += block.sums.shape[0]
    leaf_starts.append(np.array([n_leaves]))
    sums = np.concatenate([block.sums for block in blocks])
    counts = np.concatenate([block.counts for block in blocks])
    nodes = np.concatenate([block.nodes for block in blocks])
    return ForestArrays(
        nodes, np.concatenate(roots), np.concatenate(leaf_starts), sums, counts, _average(sums, counts)
    )


def _average(sums: Floats, counts: Floats) -> Floats:
    """sums / counts, NaN where there is nothing to average."""
    means = np.full(sums.shape, math.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means
