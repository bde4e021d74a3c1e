"""Groups of like users: leaves of a tree grown on one half of the rows, looked at on the other.

A tree finds the groups that the logging policy treated differently, whatever the shape of the policy, and says in
words who they are. Grown on other rows than it is judged on, it cannot flatter itself (honesty).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.judgement.audit.checks.tree import Tree, grow_group_tree
from headstart.logs.log import Log

MOST_GROWN = 10_000  # rows that a tree is grown on
_MOST_LEAVES = 16
_FEWEST_ROWS = 50  # of the growing half in a leaf


@dataclass(frozen=True, eq=False)
class Groups:
    """One half's rows, and the group each belongs to."""

    log: Log  # the half that is looked at
    labels: Integers  # (rows,) of that half
    grown: Log  # the half that the tree was grown on
    grown_labels: Integers  # (rows,) of that half
    grown_rates: Floats  # (groups, targets) shares in the half that the tree was grown on
    grown_rows: Integers  # (groups,) its rows there
    tree: Tree | None  # None where there are no contexts: everybody is one group

    @property
    def n_groups(self) -> int:
        return len(self.grown_rates)

    def describe(self, groups: Sequence[int]) -> str:
        """Who these groups are, in words: 'age > 30.5 and city is Paris'; the largest parts, joined by 'or'."""
        if self.tree is None or len(set(groups)) == self.n_groups:
            return "all users"
        parts = _whole_branches(self.tree, set(groups))
        sizes = self.tree.sizes
        parts.sort(key=lambda part: -sizes[part[0]])
        texts = [_words(conditions, self.log) for _, conditions in parts[:2]]
        more = f" (and {len(parts) - 2} smaller groups)" if len(parts) > 2 else ""
        return "; or ".join(texts) + more


def split_rows(log: Log, seed: int) -> Bools:
    """Which rows are in the first of two random halves, of the units if there are any, (n,)."""
    units = np.arange(len(log)) if log.units is None else np.unique(log.units, return_inverse=True)[1]
    order = np.random.default_rng([seed, 1]).permutation(int(units.max()) + 1)
    is_first = np.zeros(order.size, np.bool_)
    is_first[order[: order.size // 2]] = True
    return np.asarray(is_first[units])


def split_halves(log: Log, seed: int) -> tuple[Log, Log]:
    """Two random halves of the rows, of the units if there are any; a log of one row or unit is both."""
    is_first = split_rows(log, seed)
    return (log.take(is_first), log.take(~is_first)) if is_first.any() else (log, log)


def grow_groups(grown: Log, looked: Log, action: int | None = None, n_most: int = MOST_GROWN) -> Groups:
    """The groups in which the chance of the actions differs most; of one action against the rest if it is named.

    The tree is grown on `n_most` rows of its half at most, spread over all of it: more make it slow, and no better.
    """
    whole = grown
    if len(grown) > n_most:
        grown = grown.take(np.linspace(0, len(grown) - 1, n_most).astype(np.int64))
    targets = grown.actions if action is None else (grown.actions == action).astype(np.int64)
    n_targets = grown.n_actions if action is None else 2
    if grown.n_features == 0 or np.unique(targets).size < 2:
        shares = np.bincount(targets, minlength=n_targets) / len(grown)
        alone = [np.zeros(len(half), np.int64) for half in (looked, whole)]
        return Groups(looked, alone[0], whole, alone[1], shares[None, :], np.array([len(grown)]), None)
    fewest = min(max(_FEWEST_ROWS, len(grown) // (2 * _MOST_LEAVES)), max(1, len(grown) // 2))
    tree = grow_group_tree(grown.contexts, targets, n_targets, _MOST_LEAVES, fewest)
    counts = tree.counts[tree.leaves]
    rates, rows = counts / counts.sum(axis=1, keepdims=True), tree.sizes[tree.leaves]
    labels, grown_labels = (tree.find_leaves(half.contexts) for half in (looked, whole))
    return Groups(looked, labels, whole, grown_labels, rates, rows, tree)


Condition = tuple[int, float, bool]  # column, threshold, is above


def _whole_branches(tree: Tree, groups: set[int]) -> list[tuple[int, list[Condition]]]:
    """The topmost nodes of which every leaf is in the set, with the way to them."""
    leaves = tree.leaves
    chosen = {int(leaves[g]) for g in groups}
    found: list[tuple[int, list[Condition]]] = []

    def is_whole(node: int) -> bool:
        left = int(tree.lefts[node])
        return node in chosen if left < 0 else is_whole(left) and is_whole(left + 1)

    def walk(node: int, way: list[Condition]) -> None:
        left = int(tree.lefts[node])
        if is_whole(node):
            found.append((node, way))
        elif left >= 0:
            column, threshold = int(tree.columns[node]), float(tree.thresholds[node])
            walk(left, [*way, (column, threshold, False)])
            walk(left + 1, [*way, (column, threshold, True)])

    walk(0, [])
    return found


def _words(conditions: list[Condition], log: Log) -> str:
    """The tightest bounds per column; a 0/1 column of a category is said as such."""
    lows: dict[int, float] = {}
    highs: dict[int, float] = {}
    for column, threshold, is_above in conditions:
        if is_above:
            lows[column] = max(threshold, lows.get(column, -np.inf))
        else:
            highs[column] = min(threshold, highs.get(column, np.inf))
    texts = []
    for column in dict.fromkeys(column for column, _, _ in conditions):
        name = log.context_names[column]
        original, _, category = name.partition("=")
        if category and original in log.encoding.categories:
            texts.append(f"{original} is {'' if column in lows else 'not '}{category}")
        elif column not in log.encoding.numbers.values():
            texts.append(name if column in lows else name.removesuffix("is missing") + "is not missing")
        elif column in lows and column in highs:
            texts.append(f"{lows[column]:.4g} < {name} <= {highs[column]:.4g}")
        elif column in lows:
            texts.append(f"{name} > {lows[column]:.4g}")
        else:
            texts.append(f"{name} <= {highs[column]:.4g}")
    return " and ".join(texts)
