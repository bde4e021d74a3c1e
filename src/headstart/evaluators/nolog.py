"""NoLog: no answer to anything, which makes a warm start the plain bandit."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.arrays import Floats
from headstart.kernels import get_outcome, implements, is_exhausted
from headstart.kernels.states import SavedArrays


class NoLogState(NamedTuple):
    nothing: Floats  # (0,) a state is a tuple of arrays, even this one


@implements(get_outcome, NoLogState)
def _get_outcome(state: NoLogState, context: Floats, action: int) -> float:
    return math.nan


@implements(is_exhausted, NoLogState)
def _is_exhausted(state: NoLogState) -> bool:
    return True


class NoLog:
    """The empty evaluator of the paper: always None.

    Examples
    --------
    >>> import headstart as hs
    >>> print(hs.NoLog().get_outcome(None, 0))
    None
    """

    kernel_state = NoLogState(np.empty(0))

    def get_outcome(self, context: ArrayLike | None, action: int) -> float | None:
        """None, whatever is asked."""
        return None

    def is_exhausted(self) -> bool:
        """True from the start."""
        return True

    def get_state(self) -> dict[str, NDArray[np.generic]]:
        """Nothing: there is nothing to learn."""
        return {}

    def set_state(self, saved: SavedArrays) -> None:
        """Take up nothing."""

    def __repr__(self) -> str:
        return "NoLog()"
