"""The running mean and spread per action that oracles with data-driven widths keep.

A state that uses these kernels has `counts`, `sums`, `means` (tally.py) and `squares`, (K,) each: the sum of squared
deviations from the mean, kept by Welford's step, so that outcomes around a million with a spread of one keep it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headstart.arrays import Floats
from headstart.kernels.compile import kernel
from headstart.kernels.tally import new_tally

_ROUNDING = 1e-26  # of the squared mean: a variance below it is rounding


def new_moments(n_actions: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Counts, sums, means and squared deviations, (K,) each, of actions never played."""
    return *new_tally(n_actions), np.zeros(n_actions)


@kernel
def update_moments(state: Any, context: Any, action: Any, outcome: Any) -> None:
    """One more outcome."""
    absorb_moments(state, context, action, outcome, 0.0)


@kernel
def absorb_moments(state: Any, context: Any, action: Any, outcome: Any, variance: Any) -> None:
    """One more virtual outcome, an average of outcomes that vary by `variance` around it.

    n answers of m with variance v leave exactly the mean m and n v of squared deviations, for every n.
    """
    before = outcome - state.means[action]
    state.counts[action] += 1.0
    state.sums[action] += outcome
    state.means[action] = state.sums[action] / state.counts[action]
    # Rounding of sum / count may set the two deviations on different sides of 0.
    state.squares[action] += max(before * (outcome - state.means[action]), 0.0) + variance


@kernel
def take_moments(state: Any, other: Any, action: Any) -> None:
    """What `other` knows of an action instead of what `state` does."""
    state.counts[action] = other.counts[action]
    state.sums[action] = other.sums[action]
    state.means[action] = other.means[action]
    state.squares[action] = other.squares[action]


@kernel
def pooled_variance(state: Any) -> float:
    """The variance of an outcome around its action's mean, over all actions; 0 if all outcomes are equal.

    Within actions, plus one outcome's worth of the variance of all outcomes together: actions that have shown no
    variance of their own yet (two failures each) still differ from each other by something.
    """
    n, total, within = 0.0, 0.0, 0.0
    n_played = 0
    for a in range(state.counts.size):
        if state.counts[a] > 0.0:
            n_played += 1
            n += state.counts[a]
            total += state.sums[a]
            within += state.squares[a]
    if n == 0.0:
        return 0.0
    mean = total / n
    around = within
    for a in range(state.counts.size):
        around += state.counts[a] * (state.means[a] - mean) ** 2
    variance = (within + around / n) / (n - n_played + 1.0)
    return variance if variance > _ROUNDING * mean * mean else 0.0
