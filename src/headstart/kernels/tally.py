"""The running average per action that most context-free oracles keep."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from headstart.arrays import Bools, Floats
from headstart.kernels.compile import kernel


class Tally(NamedTuple):
    """How often each action was played, and what came of it."""

    counts: Floats  # (K,)
    sums: Floats  # (K,)
    means: Floats  # (K,)


class Averages(Protocol):
    """A Tally, or whatever begins like one (moments.py)."""

    @property
    def counts(self) -> Floats: ...
    @property
    def sums(self) -> Floats: ...
    @property
    def means(self) -> Floats: ...


class Tallied(Protocol):
    """A state that keeps a tally."""

    @property
    def tally(self) -> Averages: ...


def new_tally(n_actions: int) -> Tally:
    """Of actions never played."""
    return Tally(np.zeros(n_actions), np.zeros(n_actions), np.zeros(n_actions))


@kernel
def add_to_tally(tally: Averages, action: int, outcome: float) -> None:
    """One more outcome. The mean is sum / count, not a running average: two actions with the same clicks of
    the same users are then exactly equal, whatever order they came in, and a tie is a tie."""
    tally.counts[action] += 1.0
    tally.sums[action] += outcome
    tally.means[action] = tally.sums[action] / tally.counts[action]


@kernel
def update_tally(state: Tallied, context: Floats, action: int, outcome: float) -> None:
    """`update` of a state that learns nothing else."""
    add_to_tally(state.tally, action, outcome)


@kernel
def take_tally(state: Tallied, other: Tallied, action: int) -> None:
    """What `other` knows of an action instead of what `state` does."""
    state.tally.counts[action] = other.tally.counts[action]
    state.tally.sums[action] = other.tally.sums[action]
    state.tally.means[action] = other.tally.means[action]


@kernel
def least_played(counts: Floats, available: Bools) -> int:
    """The available action with the fewest plays; ties go to the lowest index."""
    rarest = -1
    for a in range(counts.size):
        if available[a] and (rarest < 0 or counts[a] < counts[rarest]):
            rarest = a
    return rarest


@kernel
def age_tally(tally: Averages, gamma: float) -> None:
    """All that was learnt counts gamma times what it did; means stay."""
    for a in range(tally.counts.size):
        tally.counts[a] *= gamma
        tally.sums[a] *= gamma
