"""What is believed of each action: a mixture of normal priors, of which one is the log's, and what users made of it.

A state that uses these kernels has the moments of its users (moments.py), the prior's `centres`, `sizes`,
`log_priors` (K, J), `variances` and `freedoms` (K,), and room for the posterior's `weights`, `locations` and
`scales` (K, J). The prior of an action: its mean is N(centre_j, v / size_j) with chance exp(log_prior_j), where v,
the variance of its outcomes, is known as well as from `freedom` outcomes (normal-inverse-gamma).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headstart.kernels.compile import kernel
from headstart.kernels.moments import pooled_variance


@kernel
def weigh(state: Any, a: int, variance: float) -> None:
    """Posterior of each component of action a, weighed by its marginal likelihood."""
    n, mean = state.counts[a], state.means[a]
    freedom = state.freedoms[a] + n
    n_components = state.centres.shape[1]
    top = -np.inf
    for j in range(n_components):
        size = state.sizes[a, j] + n
        apart = mean - state.centres[a, j]
        squares = state.freedoms[a] * variance + state.squares[a] + state.sizes[a, j] * n / size * apart * apart
        state.locations[a, j] = (state.sizes[a, j] * state.centres[a, j] + n * mean) / size
        state.scales[a, j] = math.sqrt(squares / (freedom * size))
        evidence = 0.5 * math.log(state.sizes[a, j] / size) - 0.5 * freedom * math.log(squares)
        state.weights[a, j] = state.log_priors[a, j] + evidence
        top = max(top, state.weights[a, j])
    total = 0.0
    for j in range(n_components):
        state.weights[a, j] = math.exp(state.weights[a, j] - top)
        total += state.weights[a, j]
    for j in range(n_components):
        state.weights[a, j] /= total


@kernel
def refresh(state: Any, action: int) -> None:
    """The posterior after an outcome of this action; of every action while the variance has to come from users."""
    if state.variances[action] > 0.0:
        weigh(state, action, state.variances[action])
        return
    variance = pooled_variance(state)
    if variance > 0.0:
        for a in range(state.counts.size):
            weigh(state, a, variance)


@kernel
def take_log_back(state: Any, action: int) -> None:
    """The prior of an action as if the log had not shown it."""
    for j in range(state.log_others.size):
        state.log_priors[action, j] = state.log_others[j]
    refresh(state, action)
