"""Columns as trees see them: at most 255 bins each, in the order of the values, with about as many rows in each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Bools, Floats, Integers

Bytes = NDArray[np.uint8]

MOST_BINS = 255
UNSEEN = 255  # the bin of a category that no row had which was learnt from


class Bins(NamedTuple):
    """How values become bins. A column of categories is the last one, and a category's bin is its number."""

    cuts: tuple[Floats, ...]  # of each column of numbers, ascending: a value goes into the first bin that reaches it
    seen: Bools | None  # (categories,) of the rows learnt from; None: there is no such column

    @property
    def n_columns(self) -> int:
        return len(self.cuts) + (self.seen is not None)

    @property
    def counts(self) -> Integers:
        """Bins of each column, (columns,)."""
        counts = [cuts.size + 1 for cuts in self.cuts]
        return np.array(counts if self.seen is None else [*counts, self.seen.size], dtype=np.int64)

    def assign(self, contexts: Floats) -> Bytes:
        """The bins of rows, (columns, n); those of their categories are left open."""
        bins = np.empty((self.n_columns, len(contexts)), dtype=np.uint8)
        for column, cuts in enumerate(self.cuts):
            bins[column] = np.searchsorted(cuts, contexts[:, column])
        return bins

    def as_bins(self, categories: Integers) -> Bytes:
        """The bins of these categories."""
        assert self.seen is not None, "there is a column of categories"
        return np.where(self.seen[categories], categories, UNSEEN).astype(np.uint8)


def find_bins(contexts: Floats, categories: Integers | None, n_categories: int) -> Bins:
    """The bins of rows to learn from, (n, d), and of their categories, (n,)."""
    cuts = tuple(_cut(column) for column in contexts.T)
    if categories is None:
        return Bins(cuts, None)
    return Bins(cuts, np.bincount(categories, minlength=n_categories) > 0)


def _cut(values: Floats) -> Floats:
    """Half-way between neighbouring values, if they are few; else at the values that as many rows lie between."""
    ordered = np.sort(values)
    distinct = ordered[np.concatenate([[True], ordered[1:] > ordered[:-1]])]
    if distinct.size <= MOST_BINS:
        halfway: Floats = 0.5 * distinct[:-1] + 0.5 * distinct[1:]
        return halfway
    percents = np.linspace(0.0, 100.0, MOST_BINS + 1)[1:-1]
    cuts: Floats = np.unique(np.percentile(ordered, percents, method="averaged_inverted_cdf"))
    return cuts
