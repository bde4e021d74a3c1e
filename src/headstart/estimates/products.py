"""Squares and products of columns, which let a line bend: (x_i x_j - centre) scale, of columns in standard units."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers

BOUND = 2.0  # standard units: a column is cut there before it is multiplied, so that no product goes astray
SCALE = 0.3  # a product's standard deviation, where a column's is 1: its slope is expected to be smaller


class Interactions(NamedTuple):
    """(x_i x_j - centre) scale for each of q pairs of columns, to stand after the columns themselves."""

    pairs: Integers  # (q, 2)
    centres: Floats  # (q,)
    scales: Floats  # (q,)
    bound: float  # standard units, at which a column is cut before it is multiplied

    def expand(self, contexts: Floats) -> Floats:
        """The contexts with their products, (n, m + q)."""
        added = _multiply(contexts, self.pairs, self.bound)
        return np.column_stack([contexts, (added - self.centres) * self.scales])


def no_interactions() -> Interactions:
    """The columns alone."""
    return Interactions(np.zeros((0, 2), dtype=np.int64), np.zeros(0), np.zeros(0), np.inf)


def propose_products(
    contexts: Floats, first: int, most_squared: int, most_crossed: int, bound: float = BOUND, scale: float = SCALE
) -> list[Interactions]:
    """None; all squares; all products, of the columns from `first` on, where there are no more than so many columns.

    What does not vary is left out.
    """
    proposed = [no_interactions()]
    columns = np.arange(first, contexts.shape[1])
    squares = np.stack([columns, columns], axis=1)
    crossed = np.stack(np.triu_indices(columns.size, 1), axis=1) + first
    all_of_them = np.concatenate([squares, crossed])
    for pairs, most in ((squares, most_squared), (all_of_them, most_crossed)):
        if columns.size > most:
            break
        found = _multiply(contexts, pairs, bound)
        spread = found.std(axis=0)
        varies = spread > 1e-6  # the square of a column with two values does not, once in standard units
        centres, scales = found.mean(axis=0)[varies], scale / spread[varies]
        added = Interactions(pairs[varies], centres, scales, bound)
        if len(added.pairs) > len(proposed[-1].pairs):
            proposed.append(added)
    return proposed


def _multiply(contexts: Floats, pairs: Integers, bound: float) -> Floats:
    inside = np.clip(contexts, -bound, bound)
    products: Floats = inside[:, pairs[:, 0]] * inside[:, pairs[:, 1]]
    return products
