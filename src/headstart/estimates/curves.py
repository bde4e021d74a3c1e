"""Curves of columns: what a line needs to bend, as more columns of the same regression.

Squares, kinks max(0, x - q) at each column's quartiles, and products of two columns; each in standard units, cut at 2
of them, and scaled to 0.3: slopes of curves are expected to be smaller than those of the columns themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.products import BOUND, SCALE, Interactions, propose_products

_MOST_SQUARED, _MOST_CROSSED = 40, 10  # columns: beyond, curves are a great many chances to be misled
_QUARTILES = (0.25, 0.5, 0.75)
_FEWEST_VALUES = 5  # that a column must have for a kink to be more than a line


class Curves(NamedTuple):
    """Columns to stand after the given ones, which are in standard units."""

    products: Interactions
    columns: Integers  # (h,) of each kink
    knots: Floats  # (h,)
    centres: Floats  # (h,)
    scales: Floats  # (h,)

    def expand(self, contexts: Floats) -> Floats:
        """The contexts with their curves, (n, m)."""
        kinks = _kink(contexts, self.columns, self.knots)
        return np.column_stack([self.products.expand(contexts), (kinks - self.centres) * self.scales])


def propose_curves(contexts: Floats) -> list[Curves]:
    """Squares and kinks; those and products: as far as there are few enough columns. Contexts are standardised."""
    proposed = propose_products(contexts, 0, _MOST_SQUARED, _MOST_CROSSED)[1:]
    if contexts.shape[1] > _MOST_SQUARED:
        return []
    kinks = _find_kinks(contexts)
    return [Curves(products, *kinks) for products in proposed]


def _find_kinks(contexts: Floats) -> tuple[Integers, Floats, Floats, Floats]:
    columns, knots = [], []
    for j, column in enumerate(contexts.T):
        if np.unique(column).size >= _FEWEST_VALUES:
            cuts = np.unique(np.quantile(column, _QUARTILES))
            inner = cuts[(cuts > column.min()) & (cuts < column.max())]
            columns += [j] * inner.size
            knots += inner.tolist()
    chosen, at = np.array(columns, dtype=np.int64), np.array(knots, dtype=np.float64)
    found = _kink(contexts, chosen, at)
    spread = found.std(axis=0)
    varies = spread > 1e-6
    centres, scales = found.mean(axis=0)[varies], SCALE / spread[varies]
    return chosen[varies], at[varies], centres, scales


def _kink(contexts: Floats, columns: Integers, knots: Floats) -> Floats:
    kinks: Floats = np.maximum(np.clip(contexts, -BOUND, BOUND)[:, columns] - knots, 0.0)
    return kinks
