"""The running average per action that most context-free oracles keep."""

from __future__ import annotations

from typing import Any

import numpy as np

from headstart.arrays import Floats
from headstart.kernels.compile import kernel


def new_tally(n_actions: int) -> tuple[Floats, Floats, Floats]:
    """Counts, sums and means, (K,) each, of actions never played."""
    return np.zeros(n_actions), np.zeros(n_actions), np.zeros(n_actions)


@kernel
def update_tally(state: Any, context: Any, action: Any, outcome: Any) -> None:
    """One more outcome. The mean is sum / count, not a running average: two actions with the same clicks of
    the same users are then exactly equal, whatever order they came in, and a tie is a tie."""
    state.counts[action] += 1.0
    state.sums[action] += outcome
    state.means[action] = state.sums[action] / state.counts[action]


@kernel
def take_tally(state: Any, other: Any, action: Any) -> None:
    """What `other` knows of an action instead of what `state` does."""
    state.counts[action] = other.counts[action]
    state.sums[action] = other.sums[action]
    state.means[action] = other.means[action]


@kernel
def least_played(counts: Any, available: Any) -> int:
    """The available action with the fewest plays; ties go to the lowest index."""
    rarest = -1
    for a in range(counts.size):
        if available[a] and (rarest < 0 or counts[a] < counts[rarest]):
            rarest = a
    return rarest


@kernel
def age_tally(state: Any, gamma: Any) -> None:
    """All that was learnt counts gamma times what it did; means stay."""
    for a in range(state.counts.size):
        state.counts[a] *= gamma
        state.sums[a] *= gamma
