"""Quantile bins: each feature in one byte, so that large nodes are split on histograms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Floats
from headstart.kernels.compile import compiled, kernel


def quantile_edges(columns: Floats, n_bins: int) -> Floats:
    """(d, n_bins - 1) edges at equal shares of the rows; bin b holds edges[b - 1] < x <= edges[b].

    A value that fills several shares repeats its edge, which only leaves bins empty.
    """
    n = columns.shape[1]
    positions = np.arange(1, n_bins) * n // n_bins
    return np.ascontiguousarray(np.sort(columns, axis=1)[:, np.maximum(positions - 1, 0)])


def bin_columns(columns: Floats, edges: Floats) -> NDArray[np.uint8]:
    """(d, n) the bin of each value: the number of edges below it."""
    bins = np.empty(columns.shape, dtype=np.uint8)
    compiled(_assign)(columns, edges, bins)
    return bins


@kernel
def _assign(columns: Floats, edges: Floats, bins: NDArray[np.uint8]) -> None:
    for feature in range(columns.shape[0]):
        for row in range(columns.shape[1]):
            value = columns[feature, row]
            low, high = 0, edges.shape[1]
            while low < high:
                middle = (low + high) // 2
                if edges[feature, middle] < value:
                    low = middle + 1
                else:
                    high = middle
            bins[feature, row] = low
