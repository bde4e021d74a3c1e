"""Interactions: products of two columns, squares among them, so that a linear model can bend."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.priors.options import ProductOptions


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


def _multiply(contexts: Floats, pairs: Integers, bound: float) -> Floats:
    inside = np.clip(contexts, -bound, bound)
    products: Floats = inside[:, pairs[:, 0]] * inside[:, pairs[:, 1]]
    return products


def no_interactions() -> Interactions:
    """The columns alone."""
    return Interactions(np.zeros((0, 2), dtype=np.int64), np.zeros(0), np.zeros(0), np.inf)


def propose_interactions(contexts: Floats, options: ProductOptions = ProductOptions()) -> list[Interactions]:
    """None; all squares; all products. The first column is the constant; what does not vary is left out."""
    proposed = [no_interactions()]
    columns = np.arange(1, contexts.shape[1])
    squares = np.stack([columns, columns], axis=1)
    crossed = np.stack(np.triu_indices(columns.size, 1), axis=1) + 1
    all_of_them = np.concatenate([squares, crossed])
    for pairs, most in ((squares, options.most_squared), (all_of_them, options.most_crossed)):
        if columns.size > most:
            break
        found = _multiply(contexts, pairs, options.bound)
        spread = found.std(axis=0)
        varies = spread > 1e-6  # the square of a column with two values does not, once in standard units
        centres, scales = found.mean(axis=0)[varies], options.scale / spread[varies]
        added = Interactions(pairs[varies], centres, scales, options.bound)
        if len(added.pairs) > len(proposed[-1].pairs):
            proposed.append(added)
    return proposed
