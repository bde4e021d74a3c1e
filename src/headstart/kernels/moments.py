"""The running mean and spread per action that oracles with data-driven widths keep."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from headstart.arrays import Floats
from headstart.kernels.compile import kernel

_ROUNDING = 1e-26  # of the squared mean: a variance below it is rounding


class Moments(NamedTuple):
    """A Tally, and how far outcomes were from their means.

    The squares are kept by Welford's step, so that outcomes around a million with a spread of one keep it.
    """

    counts: Floats  # (K,)
    sums: Floats  # (K,)
    means: Floats  # (K,)
    squares: Floats  # (K,) sums of squared deviations from the mean


class Measured(Protocol):
    """A state whose tally are Moments."""

    @property
    def tally(self) -> Moments: ...


def new_moments(n_actions: int) -> Moments:
    """Of actions never played."""
    return Moments(*(np.zeros(n_actions) for _ in Moments._fields))


@kernel
def add_to_moments(tally: Moments, action: int, outcome: float, variance: float) -> None:
    """One more outcome, or, with a variance, one more average of outcomes that vary so much around it.

    n answers of m with variance v leave exactly the mean m and n v of squared deviations, for every n.
    """
    before = outcome - tally.means[action]
    tally.counts[action] += 1.0
    tally.sums[action] += outcome
    tally.means[action] = tally.sums[action] / tally.counts[action]
    # Rounding of sum / count may set the two deviations on different sides of 0.
    tally.squares[action] += max(before * (outcome - tally.means[action]), 0.0) + variance


@kernel
def update_moments(state: Measured, context: Floats, action: int, outcome: float) -> None:
    """`update` of a state that learns nothing else."""
    add_to_moments(state.tally, action, outcome, 0.0)


@kernel
def absorb_moments(state: Measured, context: Floats, action: int, outcome: float, variance: float) -> None:
    """`absorb` of a state that learns nothing else."""
    add_to_moments(state.tally, action, outcome, variance)


@kernel
def take_moments(state: Measured, other: Measured, action: int) -> None:
    """What `other` knows of an action instead of what `state` does."""
    state.tally.counts[action] = other.tally.counts[action]
    state.tally.sums[action] = other.tally.sums[action]
    state.tally.means[action] = other.tally.means[action]
    state.tally.squares[action] = other.tally.squares[action]


@kernel
def spread_within(tally: Moments) -> float:
    """The variance of an outcome around its action's mean, over all actions; 0 if all outcomes are equal.

    Within actions, plus one outcome's worth of the variance of all outcomes together: actions that have shown no
    variance of their own yet (two failures each) still differ from each other by something.
    """
    n, total, within = 0.0, 0.0, 0.0
    n_played = 0
    for a in range(tally.counts.size):
        if tally.counts[a] > 0.0:
            n_played += 1
            n += tally.counts[a]
            total += tally.sums[a]
            within += tally.squares[a]
    if n == 0.0:
        return 0.0
    mean = total / n
    around = within
    for a in range(tally.counts.size):
        around += tally.counts[a] * (tally.means[a] - mean) ** 2
    variance = (within + around / n) / (n - n_played + 1.0)
    return variance if variance > _ROUNDING * mean * mean else 0.0
