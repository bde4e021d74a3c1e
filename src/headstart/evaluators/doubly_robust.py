"""Doubly robust means: a regression corrected by weighted residuals (Robins et al. 1994), with errors that cover."""

from __future__ import annotations

from typing import Any

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.errors import OptionError
from headstart.estimates.population import as_population, balancing_weights, standardise
from headstart.estimates.ridge import predict_for
from headstart.estimates.standard_errors import Estimate, calibrate, cut, estimate_means
from headstart.estimates.summary import Summary
from headstart.evaluators.compiled import BudgetEvaluator, check_has_propensities, check_propensities
from headstart.evaluators.table_means import estimate_table
from headstart.logs.log import Log
from headstart.randomness import RNG, as_generator

SAMPLE_ROWS = 100_000  # of a table


class DoublyRobust(BudgetEvaluator):
    """mean_a = average of m_a(x) over the population + weighted mean of y_i - m_a(x_i) over the rows of a.

    The weights are 1/p_i, normalised, cut so that none of n_a rows has more than 1 / sqrt(n_a) of them (after
    Ionides 2008), and calibrated: moved a little so that the contexts' weighted means come near the population's.
    m_a is fitted to other rows (cross-fitting), so its error does not leak into the correction. Right if the
    propensities or the regression are right; answered floor(N_a) times, N_a = variance of the outcome / s.e.^2, at
    most n.

    Parameters
    ----------
    log
        A Log, or a LogTable: then lines and errors are those of 100,000 rows drawn by lot, and the means are
        corrected by sums over all rows (`table_means`).
    estimator
        Any scikit-learn regressor; by default ridge regressions per action that lean on slopes common to all
        (`pooled_ridge`), each row predicted by all others.
    population
        Contexts of the users to come (a matrix, a data frame or a Log), if they are not such as the log's. The
        regression is averaged over them and the weights are tilted to their column means.
    n_folds, rng
        For an `estimator`: the number of folds, and who deals the rows into them.
    """

    def __init__(
        self, log: Any, estimator: Any = None, *, population: Any = None, n_folds: int = 5, rng: RNG = 0
    ) -> None:
        if n_folds < 2:
            raise OptionError(f"n_folds must be at least 2, got {n_folds}")
        check_has_propensities(log, "DoublyRobust")
        if isinstance(log, Log):
            self._estimate = self._estimate_rows(log, estimator, population, n_folds, rng)
        elif estimator is not None or population is not None:
            raise OptionError("estimator= and population= need rows one by one: take rows first, log.sample(100_000)")
        else:
            sample = log.sample(SAMPLE_ROWS, rng=0)
            is_whole = len(sample) == len(log)
            self._estimate = (
                self._estimate_rows(sample, None, None, n_folds, rng) if is_whole else estimate_table(log, sample)
            )
        super().__init__(log, self._estimate.summary.means, self._worth(log), self._estimate.scatters)

    def _estimate_rows(self, log: Log, estimator: Any, population: Any, n_folds: int, rng: RNG) -> Estimate:
        weights, n = 1.0 / check_propensities(log, "DoublyRobust"), len(log)
        users = None if population is None else as_population(population, log)
        standard = standardise(log.contexts, *([] if users is None else [users]))
        shares, moves = _shares(log, weights, *standard)
        if estimator is None:
            inside, outside = predict_for(log.actions, log.outcomes, log.n_actions, *standard)
        else:
            folds = as_generator(rng).permutation(np.arange(n) % min(n_folds, n))
            inside, outside = _cross_predict(log, folds, users, estimator)
        residuals = log.outcomes - inside[np.arange(n), log.actions]
        # What cut and calibration changed is the difference of two answers to one question: a sign of their error.
        allowances: Floats = np.bincount(log.actions, moves * residuals, log.n_actions).astype(np.float64)
        return estimate_means(log.actions, log.outcomes, shares, inside, outside, allowances)

    def _worth(self, log: Any) -> Floats:
        counts = log.action_sums().n
        scatters, errors = self._estimate.scatters, np.nan_to_num(self._estimate.errors, nan=np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            sizes = np.minimum(scatters / errors**2, len(log))
        # Every outcome the same: the error is unknown, the rows are what there is.
        return np.where(scatters > 0.0, sizes, counts)

    @property
    def standard_errors(self) -> Floats:
        """The influence function's standard error of each mean, (K,); NaN for an action never shown."""
        return self._estimate.errors.copy()

    def summary(self) -> Summary:
        """What the log knows per action. mean ± 1.96 standard errors holds the truth about 95 % of the time.

        The standard errors are the influence function's, widened from the normal's to Student's quantile for the
        effective number of rows behind them: a user of the normal distribution is not too sure of few rows.
        """
        return self._estimate.summary


def _shares(log: Log, weights: Floats, contexts: Floats, users: Floats | None = None) -> tuple[Floats, Floats]:
    """A share per row, which sum to 1 over an action's rows, and how far it is from the plain one, each (n,).

    Towards another population the tilt is no error: only the cut counts as a move.
    """
    shares, moves = np.empty(len(log)), np.empty(len(log))
    d = contexts.shape[1]
    target = np.zeros(d) if users is None else users.mean(axis=0)  # standardised: the log's means are 0
    for a in range(log.n_actions):
        rows = np.flatnonzero(log.actions == a)
        if rows.size == 0:
            continue
        plain = weights[rows] / weights[rows].sum()
        share = cut(plain, 1.0 / np.sqrt(rows.size))
        if d and users is None:
            share = calibrate(share, contexts[rows], target)
        moves[rows] = plain - share
        if d and users is not None:  # far from the rows' own means: weights that stay positive
            share = balancing_weights(contexts[rows], target, d * float(share @ share), share)
        shares[rows] = share
    return shares, moves


def _cross_predict(log: Log, folds: Integers, users: Floats | None, estimator: Any) -> tuple[Floats, Floats | None]:
    """m_a(x_i) from the other folds, (n, K), and its average over the folds for the users, (m, K); the action's mean
    where there are too few rows to fit."""
    from sklearn.base import clone

    n_folds = int(folds.max()) + 1
    inside = np.empty((len(log), log.n_actions))
    outside = None if users is None else np.zeros((len(users), log.n_actions))
    for a in range(log.n_actions):
        rows = log.actions == a
        for fold in range(n_folds):
            held = folds == fold
            known = rows & ~held
            if known.sum() < 2 or log.n_features == 0:
                level = log.outcomes[known if known.any() else slice(None)].mean()
                inside[held, a] = level
                if outside is not None:
                    outside[:, a] += level / n_folds
                continue
            model = clone(estimator).fit(log.contexts[known], log.outcomes[known])
            inside[held, a] = model.predict(log.contexts[held])
            if outside is not None:
                outside[:, a] += model.predict(users) / n_folds
    return inside, outside
