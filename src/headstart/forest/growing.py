"""Growing trees: one compiled call grows a run of groups of trees into flat buffers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstart.forest.choosing import Node, Trial, choose_split
from headstart.forest.presorting import mark_right, part_lists, sort_node
from headstart.forest.regularity import FOUND, REQUIRED, EstimateHalf, has_room
from headstart.forest.sampling import Limits, Rows, draw_front
from headstart.forest.splitting import ALL, SplitHalf
from headstart.forest.tree import LEAF, Floats, Integers
from headstart.kernels.compile import kernel
from headstart.kernels.random import Words


class Block(NamedTuple):
    """Room for the trees of one call; indices count from the block's start."""

    nodes: NDArray[np.void]  # (room,) of NODE
    sums: Floats  # (room, K)
    counts: Floats  # (room, K)
    roots: Integers  # (n_trees,)
    leaf_starts: Integers  # (n_trees + 1,)


class Desk(NamedTuple):
    """Room that one tree after another is grown in."""

    pool: Integers  # (n,) row numbers to draw from
    half: SplitHalf
    estimate: EstimateHalf
    trial: Trial
    is_right: NDArray[np.uint8]  # (n_sorted,) by place
    spare: NDArray[np.uint32]  # (n_sorted,)
    spare_rows: Integers  # (n_tree,)
    spare_actions: Integers  # (n_tree,)
    spare_outcomes: Floats  # (n_tree,)
    tally: Integers  # (n_bins + 1,)
    stack: Integers  # (n_tree + 2, 6) nodes still to be split


@kernel
def make_desk(rows: Rows, limits: Limits) -> Desk:
    """The room for these rows and limits."""
    d, n = rows.columns.shape
    n_split, n_estimate = limits.n_split, limits.n_tree - limits.n_split
    k, n_bins = limits.n_actions, rows.edges.shape[1] + 1
    inverses = np.zeros(n_split + 1)
    inverses[1:] = 1.0 / np.arange(1, n_split + 1)
    half = SplitHalf(
        np.empty(n_split, np.int64), np.empty(n_split, np.int64), np.empty(n_split), inverses,
        np.empty((k, 3)), np.empty((k, 2), np.int64),
    )  # fmt: skip
    estimate = EstimateHalf(np.empty(n_estimate, np.int64), np.empty((k, 2), np.int64), np.empty(n_estimate))
    n_sorted = min(limits.n_sorted, n_split)
    trial = Trial(
        np.empty(d, np.int64), np.empty((d, 6)), np.empty((d, n_sorted), np.uint32),
        np.empty((n_bins, k, 2)), np.empty(n_split), np.empty(n_split, np.uint32),
    )  # fmt: skip
    return Desk(
        np.empty(n, np.int64), half, estimate, trial, np.empty(n_sorted, np.uint8),
        np.empty(n_sorted, np.uint32), np.empty(limits.n_tree, np.int64), np.empty(limits.n_tree, np.int64),
        np.empty(limits.n_tree), np.empty(n_bins + 1, np.int64), np.empty((limits.n_tree + 2, 6), np.int64),
    )  # fmt: skip


@kernel
def grow_block(words: NDArray[np.uint64], rows: Rows, limits: Limits, block: Block) -> tuple[int, int]:
    """Grow one group of trees from each line of `words`; the numbers of nodes and leaves used."""
    desk = make_desk(rows, limits)
    n_nodes, n_leaves, tree = 0, 0, 0
    for group in range(words.shape[0]):
        for row in range(desk.pool.size):
            desk.pool[row] = row
        draw_front(words[group], desk.pool, 0, limits.n_group, desk.pool.size)
        for _ in range(limits.group_size):
            draw_front(words[group], desk.pool, 0, limits.n_tree, limits.n_group)
            block.roots[tree] = n_nodes
            block.leaf_starts[tree] = n_leaves
            n_nodes, n_leaves = grow_tree(words[group], rows, limits, desk, block, n_nodes, n_leaves)
            tree += 1
    block.leaf_starts[tree] = n_leaves
    return n_nodes, n_leaves


@kernel
def grow_tree(
    words: Words, rows: Rows, limits: Limits, desk: Desk, block: Block, n_nodes: int, n_leaves: int
) -> tuple[int, int]:
    """Grow one tree from the first rows of the pool, depth first; the numbers of nodes and leaves after it."""
    half, estimate, trial, stack = desk.half, desk.estimate, desk.trial, desk.stack
    least_gain = take_halves(rows, limits, desk)
    for feature in range(trial.features.size):
        trial.features[feature] = feature
    root = Node(n_nodes, 0, limits.n_split, 0, estimate.members.size, -1)
    n_nodes += 1
    n_waiting = 0
    if _is_open(rows, limits, desk, root):
        push(stack, 0, root)
        n_waiting = 1
    else:
        n_leaves = settle(rows, estimate, block, root, n_leaves)
    while n_waiting > 0:
        n_waiting -= 1
        node = pop(stack, n_waiting)
        if node.base < 0 and node.split_stop - node.split_start <= trial.lists.shape[1]:
            node = Node(node.index, node.split_start, node.split_stop, node.estimate_start,
                        node.estimate_stop, node.split_start)  # fmt: skip
            sort_node(rows.columns, rows.bins, half.members, node.split_start, node.split_stop, trial.keys, desk.tally, trial.lists)
        feature, threshold = choose_split(words, rows, limits, half, estimate, trial, node, least_gain)
        if feature == LEAF:
            n_leaves = settle(rows, estimate, block, node, n_leaves)
            continue
        block.nodes[node.index]["feature"] = feature
        block.nodes[node.index]["threshold"] = threshold
        block.nodes[node.index]["child"] = n_nodes
        left, right = part_node(rows, desk, node, feature, threshold, n_nodes)
        n_nodes += 2
        is_left_open = _is_open(rows, limits, desk, left)
        is_right_open = _is_open(rows, limits, desk, right)
        if node.base >= 0 and (is_left_open or is_right_open):
            part_lists(trial.lists, node.split_start - node.base, node.split_stop - node.base, feature,
                       desk.is_right, desk.spare)  # fmt: skip
        # The right child waits below the left one, and no list of theirs is overwritten in between.
        if is_right_open:
            push(stack, n_waiting, right)
            n_waiting += 1
        else:
            n_leaves = settle(rows, estimate, block, right, n_leaves)
        if is_left_open:
            push(stack, n_waiting, left)
            n_waiting += 1
        else:
            n_leaves = settle(rows, estimate, block, left, n_leaves)
    return n_nodes, n_leaves


@kernel
def take_halves(rows: Rows, limits: Limits, desk: Desk) -> float:
    """Copy the tree's rows into J and I; the gain below which a split is but rounding.

    J's outcomes are centred within each action. The centre is J's own: one computed from all rows would
    let I's outcomes into the last bits of the splits.
    """
    half, estimate = desk.half, desk.estimate
    largest = 0.0
    half.sums[:, ALL] = 0.0
    half.counts[:, ALL] = 0
    for i in range(limits.n_split):
        row = desk.pool[i]
        action = rows.actions[row]
        half.members[i] = row
        half.actions[i] = action
        half.sums[action, ALL] += rows.outcomes[row]
        half.counts[action, ALL] += 1
        largest = max(largest, abs(rows.outcomes[row]))
    for i in range(limits.n_split):
        action = half.actions[i]
        half.outcomes[i] = rows.outcomes[half.members[i]] - half.sums[action, ALL] / half.counts[action, ALL]
    estimate.shares[:, FOUND] = 0
    for i in range(estimate.members.size):
        estimate.members[i] = desk.pool[limits.n_split + i]
        estimate.shares[rows.actions[estimate.members[i]], FOUND] += 1
    for action in range(limits.n_actions):
        is_waived = estimate.shares[action, FOUND] < limits.min_leaf
        estimate.shares[action, REQUIRED] = 0 if is_waived else limits.min_leaf
    return limits.n_split * (1e-13 * largest) ** 2


@kernel
def _is_open(rows: Rows, limits: Limits, desk: Desk, node: Node) -> bool:
    """True if the node may yet be split."""
    n_split = node.split_stop - node.split_start
    return n_split > limits.min_node and n_split > 1 and has_room(
        rows.actions, desk.estimate.members, desk.estimate.shares, node.estimate_start, node.estimate_stop
    )


@kernel
def part_node(
    rows: Rows, desk: Desk, node: Node, feature: int, threshold: float, first_child: int
) -> tuple[Node, Node]:
    """Part both halves at the threshold, keeping their order; the two children."""
    half, estimate, column = desk.half, desk.estimate, rows.columns[feature]
    n_right = 0
    split_middle = node.split_start
    if node.base >= 0:  # only the lists are parted, by the marks made here
        split_middle += mark_right(rows.columns, half.members, desk.trial.lists, node.split_start,
                                   node.split_stop, node.base, feature, threshold, desk.is_right)  # fmt: skip
    else:
        for i in range(node.split_start, node.split_stop):
            row, action, outcome = half.members[i], half.actions[i], half.outcomes[i]
            is_right = column[row] > threshold
            half.members[split_middle] = row
            half.actions[split_middle] = action
            half.outcomes[split_middle] = outcome
            desk.spare_rows[n_right] = row
            desk.spare_actions[n_right] = action
            desk.spare_outcomes[n_right] = outcome
            split_middle += not is_right
            n_right += is_right
        for i in range(n_right):
            half.members[split_middle + i] = desk.spare_rows[i]
            half.actions[split_middle + i] = desk.spare_actions[i]
            half.outcomes[split_middle + i] = desk.spare_outcomes[i]
    n_right = 0
    estimate_middle = node.estimate_start
    for i in range(node.estimate_start, node.estimate_stop):
        row = estimate.members[i]
        is_right = column[row] > threshold
        estimate.members[estimate_middle] = row
        desk.spare_rows[n_right] = row
        estimate_middle += not is_right
        n_right += is_right
    for i in range(n_right):
        estimate.members[estimate_middle + i] = desk.spare_rows[i]
    left = Node(first_child, node.split_start, split_middle, node.estimate_start, estimate_middle, node.base)
    right = Node(first_child + 1, split_middle, node.split_stop, estimate_middle, node.estimate_stop, node.base)
    return left, right


@kernel
def settle(rows: Rows, estimate: EstimateHalf, block: Block, node: Node, leaf: int) -> int:
    """Make the node a leaf and sum up its rows of I; the number of leaves after it."""
    block.nodes[node.index]["feature"] = LEAF
    block.nodes[node.index]["threshold"] = 0.0
    block.nodes[node.index]["child"] = leaf
    block.sums[leaf] = 0.0
    block.counts[leaf] = 0.0
    for i in range(node.estimate_start, node.estimate_stop):
        row = estimate.members[i]
        block.sums[leaf, rows.actions[row]] += rows.outcomes[row]
        block.counts[leaf, rows.actions[row]] += 1.0
    return leaf + 1


@kernel
def push(stack: Integers, position: int, node: Node) -> None:
    """Lay a node on the stack."""
    stack[position, 0] = node.index
    stack[position, 1] = node.split_start
    stack[position, 2] = node.split_stop
    stack[position, 3] = node.estimate_start
    stack[position, 4] = node.estimate_stop
    stack[position, 5] = node.base


@kernel
def pop(stack: Integers, position: int) -> Node:
    """The node that lies there."""
    return Node(stack[position, 0], stack[position, 1], stack[position, 2], stack[position, 3],
                stack[position, 4], stack[position, 5])  # fmt: skip
