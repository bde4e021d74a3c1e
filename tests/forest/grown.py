"""What the tests read off grown trees: which rows a tree drew, and how each node parted them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from headstart.forest import ForestArrays, ForestOptions
from headstart.forest.planting import draw_group_words, make_limits
from headstart.forest.sampling import draw_front
from headstart.forest.tree import Floats, Integers
from headstart.kernels.compile import compiled


class Split(NamedTuple):
    feature: int
    threshold: float
    left: Integers  # rows
    right: Integers  # rows


def replay_draws(options: ForestOptions, seed: int, n: int) -> Iterator[tuple[Integers, Integers]]:
    """(J, I) of each tree whose growth draws nothing, i.e. that stays a root; enough to know the first of
    each group."""
    limits = make_limits(options, 1, n, 1)
    for words in draw_group_words(seed, options.n_trees // options.group_size):
        pool = np.arange(n)
        compiled(draw_front)(words, pool, 0, limits.n_group, n)
        compiled(draw_front)(words, pool, 0, limits.n_tree, limits.n_group)
        yield pool[: limits.n_split].copy(), pool[limits.n_split : limits.n_tree].copy()


def splits_of(arrays: ForestArrays, tree: int, contexts: Floats, rows: Integers) -> list[Split]:
    """Every split of the tree, with these rows parted by it."""
    found: list[Split] = []
    waiting = [(int(arrays.roots[tree]), rows)]
    while waiting:
        number, here = waiting.pop()
        node = arrays.nodes[number]
        if node["feature"] < 0:
            continue
        goes_left = contexts[here, node["feature"]] <= node["threshold"]
        found.append(Split(int(node["feature"]), float(node["threshold"]), here[goes_left], here[~goes_left]))
        waiting.append((int(node["child"]), here[goes_left]))
        waiting.append((int(node["child"]) + 1, here[~goes_left]))
    return found
