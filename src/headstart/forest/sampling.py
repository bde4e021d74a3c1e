"""What a tree is grown from: the rows it reads, the two halves it draws, the features it tries."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Floats, Integers, Words
from headstart.kernels.compile import kernel
from headstart.kernels.random import draw_below, draw_uniform


class ForestRows(NamedTuple):
    """The data, feature by feature."""

    columns: Floats  # (d, n)
    bins: NDArray[np.uint8]  # (d, n)
    edges: Floats  # (d, n_bins - 1)
    actions: Integers  # (n,)
    outcomes: Floats  # (n,)


class Limits(NamedTuple):
    """The options as the kernels want them."""

    n_actions: int
    n_group: int  # rows that the trees of a group share
    n_tree: int  # s
    n_split: int  # rows in J
    group_size: int
    min_leaf: int  # m
    min_node: int
    alpha: float
    mean_features: float
    n_sorted: int  # a node with more rows of J is binned, if that will do


@kernel
def draw_front(words: Words, pool: Integers, first: int, n_drawn: int, n_pool: int) -> None:
    """Move `n_drawn` of pool[first:n_pool] to its front, every choice and order equally likely."""
    for i in range(first, first + n_drawn):
        j = i + draw_below(words, n_pool - i)
        pool[i], pool[j] = pool[j], pool[i]


@kernel
def draw_n_features(words: Words, mean: float, d: int) -> int:
    """max(1, min(Poisson(mean), d)), by counting arrivals."""
    if mean > 500.0:  # exp(-mean) would vanish; so would the chance of fewer than d / 2 for any such d
        return d if mean >= d else int(mean)
    end = math.exp(-mean)
    product = draw_uniform(words)
    n_drawn = 0
    while product > end and n_drawn < d:
        n_drawn += 1
        product *= draw_uniform(words)
    return max(1, n_drawn)


@kernel
def least_share(alpha: float, n: int) -> int:
    """Rows that a split must leave on each side of a node of n."""
    return max(1, math.ceil(alpha * n))
