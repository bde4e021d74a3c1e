"""The types of arrays, by what they hold."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]  # of a random stream, four each: no other array of a state holds such numbers

SCRATCH = "room to work in: what it holds means nothing between two calls"
Scratch = Annotated[Floats, SCRATCH]
