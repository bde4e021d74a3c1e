"""The running average per action that most context-free oracles keep."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.kernels.compile import kernel


def new_tally(n_actions: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Counts and means, (K,) each, of actions never played."""
    return np.zeros(n_actions), np.zeros(n_actions)


@kernel
def update_tally(state: Any, context: Any, action: Any, outcome: Any) -> None:
    """n_a <- n_a + 1, then mean_a moves by (y - mean_a) / n_a: the paper's average, without the overflow."""
    state.counts[action] += 1.0
    state.means[action] += (outcome - state.means[action]) / state.counts[action]
