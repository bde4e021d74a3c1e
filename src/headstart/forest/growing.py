"""Growing trees: one compiled call grows a run of groups of trees into flat buffers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Floats, Integers, Words
from headstart.forest.histograms import BinRoom
from headstart.forest.presorting import MOST_SORTED, SortRoom, mark_right, part_lists, sort_node
from headstart.forest.regularity import FOUND, REQUIRED, EstimateHalf, has_room
from headstart.forest.sampling import ForestRows, Limits, draw_front
from headstart.forest.split_search import Node, TryRoom, choose_split
from headstart.forest.splitting import ALL, SplitHalf
from headstart.forest.tree import LEAF
from headstart.kernels.compile import kernel


class TreeBlock(NamedTuple):
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
    trial: TryRoom
    sort_room: SortRoom
    spare_rows: Integers  # (n_tree,)
    spare_actions: Integers  # (n_tree,)
    spare_outcomes: Floats  # (n_tree,)
    stack: Integers  # (n_tree + 2, 6) nodes still to be split


def make_desk(rows: ForestRows, limits: Limits) -> Desk:
    """The room for these rows and limits. Made here, nothing compiled has to count references to it."""
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
    n_sorted = min(MOST_SORTED, n_split)
    bin_room = BinRoom(np.empty((n_bins, k, 2)), np.empty(n_split), np.empty(n_split, np.uint32))
    trial = TryRoom(np.empty(d, np.int64), np.empty((d, 6)), np.empty((d, n_sorted), np.uint32), bin_room)
    sort_room = SortRoom(np.empty(n_bins + 1, np.int64), np.empty(n_sorted, np.uint8), np.empty(n_sorted, np.uint32))
    return Desk(
        np.empty(n, np.int64), half, estimate, trial, sort_room, np.empty(limits.n_tree, np.int64),
        np.empty(limits.n_tree, np.int64), np.empty(limits.n_tree), np.empty((limits.n_tree + 2, 6), np.int64),
    )  # fmt: skip


@kernel
def grow_block(words: Words, rows: ForestRows, limits: Limits, desk: Desk, block: TreeBlock) -> tuple[int, int]:
    """Grow one group of trees from each line of `words`; the numbers of nodes and leaves used."""
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
    words: Words, rows: ForestRows, limits: Limits, desk: Desk, block: TreeBlock, n_nodes: int, n_leaves: int
) -> tuple[int, int]:
    """Grow one tree from the first rows of the pool, depth first; the numbers of nodes and leaves after it."""
    half, estimate, trial, stack = desk.half, desk.estimate, desk.trial, desk.stack
    columns, bins, actions, outcomes = rows.columns, rows.bins, rows.actions, rows.outcomes
    members, estimators, shares, lists = half.members, estimate.members, estimate.shares, trial.lists
    keys, is_right, spare = trial.room.keys, desk.sort_room.is_right, desk.sort_room.spare
    spare_rows = desk.spare_rows
    nodes, sums, counts = block.nodes, block.sums, block.counts
    least_gain = take_halves(rows, limits, desk)
    for feature in range(trial.features.size):
        trial.features[feature] = feature
    push(stack, 0, Node(n_nodes, 0, limits.n_split, 0, estimators.size, -1))
    n_nodes += 1
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        node = pop(stack, n_waiting)
        start, stop, base = node.split_start, node.split_stop, node.base
        feature, threshold = LEAF, 0.0
        if stop - start > limits.min_node and has_room(
            actions, estimators, shares, node.estimate_start, node.estimate_stop
        ):
            if base >= 0 or stop - start > limits.n_sorted:
                feature, threshold = choose_split(words, rows, limits, half, estimate, trial, node, least_gain)
            # Bins may be too coarse for a node that lies within one bin of every feature.
            if base < 0 and feature == LEAF and stop - start <= lists.shape[1]:
                base = start
                sort_node(columns, bins, members, start, stop, keys, desk.sort_room.tally, lists)
                node = Node(node.number, start, stop, node.estimate_start, node.estimate_stop, base)
                feature, threshold = choose_split(words, rows, limits, half, estimate, trial, node, least_gain)
        if feature == LEAF:
            n_leaves = settle(actions, outcomes, estimators, node, n_leaves, nodes, sums, counts)
            continue
        nodes[node.number]["feature"] = feature
        nodes[node.number]["threshold"] = threshold
        nodes[node.number]["child"] = n_nodes
        if base < 0:
            middle = part_members(columns, members, half.actions, half.outcomes, start, stop, feature, threshold,
                                  spare_rows, desk.spare_actions, desk.spare_outcomes)  # fmt: skip
        else:
            middle = start + mark_right(columns, members, lists, start, stop, base, feature, threshold, is_right)
            if max(middle - start, stop - middle) > limits.min_node:
                part_lists(lists, start - base, stop - base, feature, is_right, spare)
        estimate_middle = part_estimate(columns, estimators, node.estimate_start, node.estimate_stop, feature,
                                        threshold, spare_rows)  # fmt: skip
        # The left child is taken up next; the right one's stretch of the lists waits untouched.
        push(stack, n_waiting, Node(n_nodes + 1, middle, stop, estimate_middle, node.estimate_stop, base))
        push(stack, n_waiting + 1, Node(n_nodes, start, middle, node.estimate_start, estimate_middle, base))
        n_waiting += 2
        n_nodes += 2
    return n_nodes, n_leaves


@kernel
def take_halves(rows: ForestRows, limits: Limits, desk: Desk) -> float:
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
def part_members(
    columns: Floats, members: Integers, actions: Integers, outcomes: Floats, start: int, stop: int,
    feature: int, threshold: float, spare_rows: Integers, spare_actions: Integers, spare_outcomes: Floats,
) -> int:  # fmt: skip
    """Part a binned node of J, keeping its order; where its right side starts."""
    middle, n_right = start, 0
    for i in range(start, stop):
        row, action, outcome = members[i], actions[i], outcomes[i]
        is_right = columns[feature, row] > threshold
        members[middle] = row
        actions[middle] = action
        outcomes[middle] = outcome
        spare_rows[n_right] = row
        spare_actions[n_right] = action
        spare_outcomes[n_right] = outcome
        middle += not is_right
        n_right += is_right
    for i in range(n_right):
        members[middle + i] = spare_rows[i]
        actions[middle + i] = spare_actions[i]
        outcomes[middle + i] = spare_outcomes[i]
    return middle


@kernel
def part_estimate(
    columns: Floats, members: Integers, start: int, stop: int, feature: int, threshold: float, spare: Integers
) -> int:
    """Part a node of I, keeping its order; where its right side starts."""
    middle, n_right = start, 0
    for i in range(start, stop):
        row = members[i]
        is_right = columns[feature, row] > threshold
        members[middle] = row
        spare[n_right] = row
        middle += not is_right
        n_right += is_right
    for i in range(n_right):
        members[middle + i] = spare[i]
    return middle


@kernel
def settle(
    actions: Integers, outcomes: Floats, members: Integers, node: Node, leaf: int,
    nodes: NDArray[np.void], sums: Floats, counts: Floats,
) -> int:  # fmt: skip
    """Make the node a leaf and sum up its rows of I; the number of leaves after it."""
    nodes[node.number]["feature"] = LEAF
    nodes[node.number]["threshold"] = 0.0
    nodes[node.number]["child"] = leaf
    for action in range(sums.shape[1]):
        sums[leaf, action] = 0.0
        counts[leaf, action] = 0.0
    for i in range(node.estimate_start, node.estimate_stop):
        row = members[i]
        sums[leaf, actions[row]] += outcomes[row]
        counts[leaf, actions[row]] += 1.0
    return leaf + 1


@kernel
def push(stack: Integers, position: int, node: Node) -> None:
    """Lay a node on the stack."""
    stack[position, 0] = node.number
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
