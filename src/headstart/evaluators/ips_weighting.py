"""Inverse propensity score weighting (OfflineEvaluator 3): the weighted mean, as often as it is worth plays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headstart.evaluators.compiled import BudgetEvaluator, check_propensities
from headstart.log import Log


def weighted_means(
    actions: NDArray[np.int64], outcomes: NDArray[np.float64], weights: NDArray[np.float64], n_actions: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Per action: sum(w y) / sum(w), and the effective sample size (sum w)^2 / sum(w^2) (Kish 1965)."""
    weights = weights / weights.max()  # the answers do not change, and no square overflows
    total = np.bincount(actions, weights, n_actions)
    squares = np.bincount(actions, weights * weights, n_actions)
    sums = np.bincount(actions, weights * outcomes, n_actions)
    is_shown = squares > 0
    means = np.divide(sums, total, out=np.full(n_actions, np.nan), where=is_shown)
    sizes = np.divide(total * total, squares, out=np.zeros(n_actions), where=is_shown)
    # Equal weights give a whole number, which rounding must not push below itself: floor would lose a play.
    whole = np.rint(sizes)
    return means, np.where(np.abs(sizes - whole) <= 1e-9 * sizes, whole, sizes)


class IPSWeighting(BudgetEvaluator):
    """mean_a = sum(y_i / p_i) / sum(1 / p_i) over the rows of action a, answered floor(N_a) times.

    N_a = (sum 1/p)^2 / sum 1/p^2, the effective sample size; with constant propensities it is the number of
    rows. Assumes that the context holds all confounders and that p is the true chance of the action taken.
    Treating N_a as a number of plays is optimistic (METHODS.md).
    """

    def __init__(self, log: Log) -> None:
        weights = 1.0 / check_propensities(log, "IPSWeighting")
        super().__init__(log, *weighted_means(log.actions, log.outcomes, weights, log.n_actions))
