"""Sorting within kernels, by Shell's method: short, so that it compiles in a tenth of the time of numba's np.sort."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from headstart.arrays import Floats
from headstart.kernels.compile import kernel


@kernel
def sort_pairs(keys: Floats, items: NDArray[Any], first: int, stop: int) -> None:
    """Sort keys[first:stop], which are dozens to thousands, each with its item. Items of equal keys: in any order."""
    n = stop - first
    gap = 1
    while gap < n // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(first + gap, stop):
            key, item = keys[i], items[i]
            j = i
            while j - gap >= first and keys[j - gap] > key:
                keys[j] = keys[j - gap]
                items[j] = items[j - gap]
                j -= gap
            keys[j] = key
            items[j] = item
        gap //= 3
