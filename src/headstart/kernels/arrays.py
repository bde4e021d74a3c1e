"""Small loops over arrays in place of numpy's own, which need numba's runtime (see dispatch.py) and are slower."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Floats
from headstart.kernels.compile import kernel

N = TypeVar("N", bound=np.generic)


@kernel
def copy_into(out: NDArray[N], values: NDArray[N]) -> None:
    """out[i] = values[i]; they do not overlap."""
    for i in range(out.size):
        out[i] = values[i]


@kernel
def largest(values: Floats) -> float:
    """The largest of at least one value."""
    top = values[0]
    for i in range(1, values.size):
        top = max(top, values[i])
    return top


@kernel
def extremes(values: Floats) -> tuple[float, float]:
    """The smallest and the largest of at least one value."""
    low = high = values[0]
    for i in range(1, values.size):
        low, high = min(low, values[i]), max(high, values[i])
    return low, high


@kernel
def total(values: Floats) -> float:
    """The sum of all values."""
    result = 0.0
    for i in range(values.size):
        result += values[i]
    return result


@kernel
def make_chances(logs: Floats, top: float) -> float:
    """Logarithms of odds, `top` the largest of them, become chances; returns the sum of odds over the largest."""
    whole = 0.0
    for j in range(logs.size):
        logs[j] = math.exp(logs[j] - top)
        whole += logs[j]
    for j in range(logs.size):
        logs[j] /= whole
    return whole
