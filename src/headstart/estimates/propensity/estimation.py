"""Propensities for a log that has none: cross-fitted, trimmed out loud, with a warning where overlap is poor."""

from __future__ import annotations

import warnings
from typing import Protocol

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.checks import check_number, check_whole
from headstart.errors import OptionError
from headstart.estimates.cross_fit import check_folds, cross_fit, deal_folds
from headstart.estimates.propensity.logistic import Fit, LogisticPropensity, fit_logistic
from headstart.estimates.propensity.overlap import warn_of_poor_overlap
from headstart.estimates.propensity.rows import rows_of, without_targets
from headstart.logs.any_log import SameLog
from headstart.logs.log import Log
from headstart.logs.tables.table import LogTable
from headstart.randomness import RNG, as_generator

RIDGE = 1.0  # scikit-learn's C = 1


class Classifier(Protocol):
    """What is asked of a scikit-learn classifier; it is cloned before it learns."""

    @property
    def classes_(self) -> Integers: ...

    def fit(self, X: Floats, y: Integers) -> Classifier: ...

    def predict_proba(self, X: Floats) -> Floats: ...


class TrimmingWarning(UserWarning):
    """Propensities were so small that they were raised: the estimate is biased where that happened."""


def estimate_propensities(
    log: SameLog,
    classifier: Classifier | None = None,
    *,
    n_folds: int = 5,
    trim: float = 0.0,
    rng: RNG = 0,
    sample_rows: int = 200_000,
    warn_share: float = 0.05,
) -> SameLog:
    """The log with P(A = a | x_i) estimated for every row and action, each row by models that never saw it.

    Parameters
    ----------
    log
        A Log; or a table (`scan_log`), which stays one: a single regression learns from all its rows as they stream
        by, and the database computes their propensities. Nothing is cross-fitted then: a row moves a model of p
        parameters fitted to n rows by p / n, which at the size that needs a table is nothing.
    classifier
        Any scikit-learn classifier with `predict_proba`, its classes action indices; by default multinomial logistic
        regression on standardised columns with the penalty of scikit-learn's (C = 1), but compiled.
    n_folds
        Cross-fitting: the rows are cut into this many parts and each part is predicted from the others.
    trim
        Propensities of the action taken that are smaller are raised to this. A TrimmingWarning says how
        many; 0 trims nothing.
    rng
        Deals the rows into folds, and draws a classifier's sample.
    sample_rows
        A classifier that is given learns from at most so many of the other folds' rows, drawn by lot. The default
        regression learns from all. Of a table, so many rows are looked at for the OverlapWarning.
    warn_share
        An OverlapWarning comes when more than this share of rows has a chance below 0.01 (or a tenth of an even
        share, if that is less) of some action; 1 for never.

    Notes
    -----
    An action that the other folds never show has an estimate of 0, which cannot be weighted by; it gets its
    share of the log instead, and a TrimmingWarning says how often.

    Returns
    -------
    Log or LogTable
        The same log with propensities, marked as estimated.

    Raises
    ------
    OptionError
        If a setting is outside its range, or a table is given a classifier or `trim`.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(200, 2))
    >>> a = rng.integers(2, size=200)
    >>> log = hs.Log(a, x[:, 0] * a + rng.normal(size=200), x, np.full(200, 0.5))
    >>> hs.estimate_propensities(log.without_propensities()).is_estimated
    True
    """
    trim = check_number("trim", trim, 0.0, 1.0)
    warn_share = check_number("warn_share", warn_share, 0.0, 1.0)
    n_sampled = check_whole("sample_rows", sample_rows)
    if not isinstance(log, Log):
        if classifier is not None or trim > 0.0:
            raise OptionError(
                "a classifier and trim need rows: estimate_propensities(table.sample(n_rows), ...); a table's own "
                "propensities are a logistic regression's"
            )
        return _stream(log, n_sampled, warn_share, rng)
    matrix = _cross_fit(log, classifier, check_folds(n_folds, len(log)), n_sampled, as_generator(rng))
    warn_of_poor_overlap(matrix, log.action_names, warn_share)
    _raise_small(matrix, log, trim)
    return log.with_estimated_propensities(matrix)


def _stream(table: LogTable, n_sampled: int, warn_share: float, rng: RNG) -> LogTable:
    """The table with the propensities of one regression that went through it."""
    model = LogisticPropensity(table, RIDGE, uses_vectors=False)
    if warn_share < 1.0:
        sample = table.sample(n_sampled, as_generator(rng))
        warn_of_poor_overlap(model.predict(sample.contexts), table.action_names, warn_share, stacklevel=4)
    return table.with_propensities_from(model)


def _cross_fit(
    log: Log, classifier: Classifier | None, n_folds: int, sample_rows: int, generator: np.random.Generator
) -> Floats:
    """Every row's chances by the other folds, (n, K)."""
    if log.n_features == 0:
        return np.tile(np.bincount(log.actions, minlength=log.n_actions) / len(log), (len(log), 1))
    folds = deal_folds(len(log), n_folds, generator)
    if classifier is None:
        return cross_fit(folds, log.n_actions, RegressingFolds(log))
    return cross_fit(folds, log.n_actions, _Classifying(log, classifier, sample_rows, generator))


class RegressingFolds:
    """Chances from the regression fitted to the other folds; the next fold's fit begins where this one ended."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._fit: Fit | None = None

    def __call__(self, inside: Bools, outside: Bools) -> Floats:
        rows = without_targets(rows_of(self._log, outside.astype(np.float64)))
        self._fit = fit_logistic(rows, self._log.n_actions, RIDGE, start=self._fit)
        return self._fit.predict(self._log.contexts[inside])


class _Classifying:
    """Chances from a classifier fitted to the other folds, or to a sample of them."""

    def __init__(self, log: Log, classifier: Classifier, sample_rows: int, generator: np.random.Generator) -> None:
        self._log, self._classifier = log, classifier
        self._sample_rows, self._generator = sample_rows, generator

    def __call__(self, inside: Bools, outside: Bools) -> Floats:
        from sklearn.base import clone

        log, rows = self._log, np.flatnonzero(outside)
        if rows.size > self._sample_rows:
            rows = np.sort(self._generator.choice(rows, self._sample_rows, replace=False))
        chances, actions = np.zeros((int(inside.sum()), log.n_actions)), log.actions[rows]
        if (actions == actions[0]).all():
            chances[:, actions[0]] = 1.0
            return chances
        fitted: Classifier = clone(self._classifier).fit(log.contexts[rows], actions)
        chances[:, fitted.classes_] = fitted.predict_proba(log.contexts[inside])
        return chances


def _raise_small(matrix: Floats, log: Log, trim: float) -> None:
    """Raise chances of the action taken that are 0 to its share, and those below `trim` to it; both out loud."""
    shares = np.bincount(log.actions, minlength=log.n_actions) / len(log)
    floors = (
        (0.0, shares[log.actions], "were estimated as 0 and became the action's share"),
        (trim, np.full(len(log), trim), f"were below {trim:g} and were raised to it"),
    )
    for least, values, words in floors:
        taken = matrix[np.arange(len(log)), log.actions]
        small = taken < least if least else taken <= 0.0
        if small.any():
            _raise_taken(matrix, log.actions, small, values)
            warnings.warn(f"{int(small.sum())} of {len(log)} propensities {words}", TrimmingWarning, stacklevel=3)


def _raise_taken(matrix: Floats, actions: Integers, rows: Bools, values: Floats) -> None:
    """Set the chance of the action taken in these rows; the other actions share what is left as before."""
    chosen = np.flatnonzero(rows)
    before, after = matrix[chosen, actions[chosen]], values[chosen]
    matrix[chosen] *= ((1.0 - after) / (1.0 - before))[:, None]
    matrix[chosen, actions[chosen]] = after
