"""Inverse propensity score weighting (OfflineEvaluator 3): the weighted mean, as often as it is worth plays."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.errors import OptionError
from headstart.estimates.population import population_weights
from headstart.estimates.summary import Summary
from headstart.evaluators.compiled import BudgetEvaluator, check_has_propensities
from headstart.logs.log import Log
from headstart.logs.sums import ActionSums, sum_actions


def weighted_means(
    actions: Integers, outcomes: Floats, weights: Floats, n_actions: int
) -> tuple[Floats, Floats, Floats]:
    """Per action: mean sum(w y) / sum(w), effective sample size (sum w)^2 / sum(w^2) (Kish 1965), and variance
    sum(w (y - mean)^2) / sum(w).
    """
    weights = weights / weights.max()  # the answers do not change, and no square overflows
    total = np.bincount(actions, weights, n_actions)
    squares = np.bincount(actions, weights * weights, n_actions)
    sums = np.bincount(actions, weights * outcomes, n_actions)
    means, sizes = _divide(total, sums, squares)
    apart = outcomes - means[actions]
    scatter = np.bincount(actions, weights * apart * apart, n_actions)
    return means, sizes, np.divide(scatter, total, out=np.zeros(n_actions), where=squares > 0)


def _divide(total: Any, sums: Any, squares: Any) -> tuple[Floats, Floats]:
    """Means and effective sizes from the sums of w, w y and w^2."""
    n_actions = total.size
    is_shown = squares > 0
    means = np.divide(sums, total, out=np.full(n_actions, np.nan), where=is_shown)
    sizes = np.divide(total * total, squares, out=np.zeros(n_actions), where=is_shown)
    # Equal weights give a whole number, which rounding must not push below itself: floor would lose a play.
    whole = np.rint(sizes)
    return means, np.where(np.abs(sizes - whole) <= 1e-9 * sizes, whole, sizes)


def summarise(sums: ActionSums) -> Summary:
    """The weighted means with standard errors by linearisation (Cochran 1977, 6.4), from sums alone.

    m = sum(w y) / sum(w) is a ratio, so its variance is that of sum(w (y - m)) / sum(w):
    n / (n - 1) sum(w^2 (y - m)^2) / sum(w)^2; with equal weights s^2 / n exactly. The variance of one outcome is the
    weighted one, sum(w (y - m)^2) / sum(w), times N / (N - 1), N the effective size; with equal weights s^2. An
    action with one row has a mean and no error: infinite.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        means = sums.wy / sums.w
        scatter = np.maximum(sums.wwyy - 2.0 * means * sums.wwy + means**2 * sums.ww, 0.0)
        errors = np.sqrt(scatter * sums.n / (sums.n - 1.0)) / sums.w
        size = sums.w**2 / sums.ww
        variances = np.maximum(sums.wyy / sums.w - means**2, 0.0) * size / (size - 1.0)
    is_known = sums.n > 1
    return Summary(
        np.where(sums.n > 0, means, np.nan), np.where(is_known, errors, np.inf), np.where(is_known, variances, np.nan)
    )


class IPSWeighting(BudgetEvaluator):
    """mean_a = sum(y_i / p_i) / sum(1 / p_i) over the rows of action a, answered floor(N_a) times.

    N_a = (sum 1/p)^2 / sum 1/p^2, the effective sample size; with constant propensities it is the number of
    rows. Assumes that the context holds all confounders and that p is the true chance of the action taken.
    Treating N_a as a number of plays is optimistic (METHODS.md).

    `population` (contexts of the users to come: a matrix, a data frame or a Log) multiplies each row's weight by how
    much more common its like is among them (`population_weights`); the standard errors take these weights as given.
    """

    _lazy = ("contexts", "outcome_range", "_summary")

    def __init__(self, log: Any, *, population: Any = None) -> None:
        check_has_propensities(log, "IPSWeighting")
        self._tilted: ActionSums | None = None
        if isinstance(log, Log):
            assert log.propensities is not None
            weights = 1.0 / log.propensities
            if population is not None:
                weights *= population_weights(log, population)
                self._tilted = sum_actions(log.actions, log.outcomes, 1.0 / weights, log.n_actions)
            found = weighted_means(log.actions, log.outcomes, weights, log.n_actions)
        elif population is not None:
            raise OptionError("population= weighs rows one by one: take rows first, log.sample(100_000)")
        else:
            sums = log.action_sums(only=("n", "w", "wy", "wyy", "ww"))
            means, sizes = _divide(sums.w, sums.wy, sums.ww)
            with np.errstate(divide="ignore", invalid="ignore"):
                found = means, sizes, np.maximum(sums.wyy / sums.w - means**2, 0.0)
        super().__init__(log, *found)

    @cached_property
    def _summary(self) -> Summary:
        return summarise(self._log.action_sums() if self._tilted is None else self._tilted)

    def summary(self) -> Summary:
        """Means, honest standard errors and variances; unlike N_a they know that outcomes and weights go together."""
        return self._summary
