"""Balanced weighting: weights that make each action's rows look like the whole log (entropy balancing).

Hainmueller (2012). The paper names Kallus (2018) for the idea of balancing instead of inverting
propensities; entropy balancing is the convex member of that family whose weights are positive and which
has no kernel to choose.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headstart.checks import check_number
from headstart.evaluators.compiled import BudgetEvaluator
from headstart.evaluators.ips_weighting import weighted_means
from headstart.log import Log

_MAX_STEPS = 200
_TOLERANCE = 1e-10


def balancing_weights(
    contexts: NDArray[np.float64], target: NDArray[np.float64], ridge: float
) -> NDArray[np.float64]:
    """Weights that sum to 1, w_i proportional to exp(l' x_i), with weighted mean `target`.

    Newton on the dual, log sum exp(l'(x_i - target)) + ridge/2 |l|^2; the ridge keeps l finite when the
    target lies outside what the rows can reach, and then the balance is as good as the ridge allows.
    """
    centred = contexts - target
    multipliers = np.zeros(contexts.shape[1])
    value, weights = _dual(centred, multipliers, ridge)
    for _ in range(_MAX_STEPS):
        mean = weights @ centred
        gradient = mean + ridge * multipliers
        if np.abs(gradient).max(initial=0.0) < _TOLERANCE:
            break
        spread = centred - mean
        hessian = (spread * weights[:, None]).T @ spread + ridge * np.eye(multipliers.size)
        step = np.linalg.solve(hessian, gradient)
        scale, descent = 1.0, float(gradient @ step)
        while scale > 1e-12:
            trial, trial_weights = _dual(centred, multipliers - scale * step, ridge)
            if trial <= value - 1e-4 * scale * descent:
                break
            scale *= 0.5
        else:
            break  # no descent left in floating point: this is the minimum
        multipliers, value, weights = multipliers - scale * step, trial, trial_weights
    return weights


def _dual(
    centred: NDArray[np.float64], multipliers: NDArray[np.float64], ridge: float
) -> tuple[float, NDArray[np.float64]]:
    scores = centred @ multipliers
    top = scores.max()
    raw = np.exp(scores - top)
    total = raw.sum()
    return float(top + np.log(total) + 0.5 * ridge * (multipliers @ multipliers)), raw / total


class BalancedWeighting(BudgetEvaluator):
    """The weighted mean per action with weights that balance the contexts' means, floor(N_a) times.

    Needs no propensities. Unbiased when the outcome is linear in the contexts or the log-odds of the action
    are; N_a is Kish's effective sample size of the weights. `ridge` (of standardised columns) is what
    balance is given up when no weights can reach it.
    """

    def __init__(self, log: Log, ridge: float = 1e-4) -> None:
        penalty = check_number("ridge", ridge, low=1e-12)
        spread = log.contexts.std(axis=0)
        moving = spread > 0
        standard = (log.contexts[:, moving] - log.contexts[:, moving].mean(axis=0)) / spread[moving]
        weights = np.ones(len(log))
        for a in range(log.n_actions):
            rows = log.actions == a
            if rows.any() and standard.shape[1]:
                weights[rows] = balancing_weights(standard[rows], np.zeros(standard.shape[1]), penalty)
        super().__init__(log, *weighted_means(log.actions, log.outcomes, weights, log.n_actions))
