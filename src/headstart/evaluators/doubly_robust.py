"""Doubly robust means: a regression corrected by weighted residuals (Robins et al. 1994)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.errors import OptionError
from headstart.evaluators.compiled import BudgetEvaluator, check_propensities
from headstart.log import Log
from headstart.randomness import RNG, as_generator


class DoublyRobust(BudgetEvaluator):
    """mean_a = average over rows of m_a(x_i) + 1{a_i = a} (y_i - m_a(x_i)) / p_i, answered floor(N_a) times.

    m_a is fitted on the other folds (cross-fitting), so its error does not leak into the correction. The
    standard error is that of the average (the influence function's), and the effective size is what
    online plays of this action would need for the same error: N_a = variance of the outcome / s.e.^2.

    Parameters
    ----------
    estimator
        Any scikit-learn regressor; by default ridge regression on standardised columns.
    n_folds, rng
        The number of folds and who deals the rows into them.
    """

    def __init__(self, log: Log, estimator: Any = None, *, n_folds: int = 5, rng: RNG = 0) -> None:
        weights = 1.0 / check_propensities(log, "DoublyRobust")
        n = len(log)
        if n_folds < 2:
            raise OptionError(f"n_folds must be at least 2, got {n_folds}")
        folds = as_generator(rng).permutation(np.arange(n) % min(n_folds, n))
        self._standard_errors = np.full(log.n_actions, np.nan)
        means, sizes = np.full(log.n_actions, np.nan), np.zeros(log.n_actions)
        for a in range(log.n_actions):
            rows = log.actions == a
            if not rows.any():
                continue
            predicted = _cross_predict(log, rows, folds, estimator)
            influence = predicted + np.where(rows, weights * (log.outcomes - predicted), 0.0)
            means[a] = influence.mean()
            self._standard_errors[a] = influence.std(ddof=1) / np.sqrt(n) if n > 1 else np.inf
            sizes[a] = _effective_size(log.outcomes[rows], weights[rows], self._standard_errors[a], n)
        super().__init__(log, means, sizes)

    @property
    def standard_errors(self) -> NDArray[np.float64]:
        """The influence function's standard error of each mean, (K,)."""
        return self._standard_errors.copy()


def _effective_size(
    outcomes: NDArray[np.float64], weights: NDArray[np.float64], standard_error: float, n_rows: int
) -> float:
    centre = np.average(outcomes, weights=weights)
    variance = np.average((outcomes - centre) ** 2, weights=weights)
    if variance == 0.0:  # every outcome the same: the error is unknown, the rows are what there is
        return float(outcomes.size)
    return float(min(variance / standard_error**2, n_rows))


def _cross_predict(
    log: Log, rows: NDArray[np.bool_], folds: NDArray[np.int64], estimator: Any
) -> NDArray[np.float64]:
    """m_a(x_i) for every row, from rows of the action in other folds; their mean where there are too few to fit."""
    from sklearn.base import clone

    predicted = np.empty(len(log))
    for fold in range(int(folds.max()) + 1):
        inside = folds == fold
        known = rows & ~inside
        if known.sum() < 2 or log.n_features == 0:
            predicted[inside] = log.outcomes[known if known.any() else rows].mean()
            continue
        model = _default_regressor() if estimator is None else clone(estimator)
        predicted[inside] = model.fit(log.contexts[known], log.outcomes[known]).predict(log.contexts[inside])
    return predicted


def _default_regressor() -> Any:
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), Ridge(alpha=1.0))
