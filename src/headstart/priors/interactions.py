"""Interactions: products of two columns, squares among them, so that a linear model can bend."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers

MOST_SQUARED, MOST_CROSSED = 150, 6  # columns at most: with many, products are a great many chances to be misled
BOUND = 2.0  # standard units: a column is cut there before it is multiplied, so that no product goes astray
SCALE = 0.3  # a product's standard deviation, where a column's is 1: its slope is expected to be so much smaller


class Interactions(NamedTuple):
    """(x_i x_j - centre) scale for each of q pairs of columns, to stand after the columns themselves."""

    pairs: Integers  # (q, 2)
    centres: Floats  # (q,)
    scales: Floats  # (q,)

    def expand(self, contexts: Floats) -> Floats:
        """The contexts with their products, (n, m + q)."""
        added = _multiply(contexts, self.pairs)
        return np.column_stack([contexts, (added - self.centres) * self.scales])


def _multiply(contexts: Floats, pairs: Integers) -> Floats:
    inside = np.clip(contexts, -BOUND, BOUND)
    products: Floats = inside[:, pairs[:, 0]] * inside[:, pairs[:, 1]]
    return products


def no_interactions() -> Interactions:
    """The columns alone."""
    return Interactions(np.zeros((0, 2), dtype=np.int64), np.zeros(0), np.zeros(0))


def propose_interactions(contexts: Floats) -> list[Interactions]:
    """None; all squares; all products. The first column is the constant; what does not vary is left out."""
    proposed = [no_interactions()]
    columns = np.arange(1, contexts.shape[1])
    squares = np.stack([columns, columns], axis=1)
    crossed = np.stack(np.triu_indices(columns.size, 1), axis=1) + 1
    for pairs, most in ((squares, MOST_SQUARED), (np.concatenate([squares, crossed]), MOST_CROSSED)):
        if columns.size > most:
            break
        found = _multiply(contexts, pairs)
        spread = found.std(axis=0)
        varies = spread > 1e-6  # the square of a column with two values does not, once in standard units
        added = Interactions(pairs[varies], found.mean(axis=0)[varies], SCALE / spread[varies])
        if len(added.pairs) > len(proposed[-1].pairs):
            proposed.append(added)
    return proposed
