"""Propensities for a log that has none: cross-fitted, trimmed out loud, with a warning where overlap is poor."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.checks import check_number, check_whole
from headstart.errors import OptionError
from headstart.estimates.propensity.logistic import Fit, LogisticPropensity, fit_logistic
from headstart.estimates.propensity.overlap import warn_of_poor_overlap
from headstart.estimates.propensity.rows import rows_of, without_targets
from headstart.logs.log import Log
from headstart.randomness import RNG, as_generator

AnyLog = TypeVar("AnyLog")  # a Log or a table: what goes in comes out
RIDGE = 1.0  # scikit-learn's C = 1


class TrimmingWarning(UserWarning):
    """Propensities were so small that they were raised: the estimate is biased where that happened."""


def estimate_propensities(
    log: AnyLog,
    classifier: Any = None,
    *,
    n_folds: int = 5,
    trim: float = 0.0,
    rng: RNG = 0,
    sample_rows: int = 200_000,
    warn_share: float = 0.05,
) -> AnyLog:
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
        table: AnyLog = _stream(log, n_sampled, warn_share, rng)
        return table
    if not 2 <= n_folds <= len(log):
        raise OptionError(f"n_folds must be in 2..{len(log)} (the rows of the log), got {n_folds}")
    shares = np.bincount(log.actions, minlength=log.n_actions) / len(log)
    if log.n_features == 0:
        matrix = np.tile(shares, (len(log), 1))
    else:
        generator = as_generator(rng)
        folds = generator.permutation(np.arange(len(log)) % n_folds)
        if classifier is None:
            matrix = _cross_fit(log, folds, n_folds)
        else:
            matrix = _cross_classify(log, classifier, folds, n_folds, n_sampled, generator)
    warn_of_poor_overlap(matrix, log.action_names, warn_share)
    taken = matrix[np.arange(len(log)), log.actions]
    lost = taken <= 0.0
    if lost.any():
        _raise_taken(matrix, log.actions, lost, shares[log.actions])
        warnings.warn(
            f"{int(lost.sum())} of {len(log)} propensities were estimated as 0 and became the action's share",
            TrimmingWarning,
            stacklevel=2,
        )
    small = matrix[np.arange(len(log)), log.actions] < trim
    if small.any():
        _raise_taken(matrix, log.actions, small, np.full(len(log), trim))
        warnings.warn(
            f"{int(small.sum())} of {len(log)} propensities were below {trim:g} and were raised to it",
            TrimmingWarning,
            stacklevel=2,
        )
    return log.with_propensities(matrix)  # type: ignore[return-value]


def _stream(table: Any, n_sampled: int, warn_share: float, rng: RNG) -> Any:
    """The table with the propensities of one regression that went through it."""
    model = LogisticPropensity(table, RIDGE, uses_vectors=False)
    if warn_share < 1.0:
        sample = table.sample(n_sampled, as_generator(rng))
        warn_of_poor_overlap(model.predict(sample.contexts), table.action_names, warn_share, stacklevel=4)
    return table.with_propensities_from(model)


def _cross_fit(log: Log, folds: Integers, n_folds: int) -> Floats:
    """Every row's chances from the regression fitted to the other folds."""
    matrix = np.empty((len(log), log.n_actions))
    fit: Fit | None = None  # the next fold's rows are nearly the same: it begins where this one ended
    for fold in range(n_folds):
        inside = folds == fold
        rows = without_targets(rows_of(log, (~inside).astype(np.float64)))
        fit = fit_logistic(rows, log.n_actions, RIDGE, start=fit)
        matrix[inside] = fit.predict(log.contexts[inside])
    return matrix


def _cross_classify(
    log: Log,
    classifier: Any,
    folds: Integers,
    n_folds: int,
    sample_rows: int,
    generator: np.random.Generator,
) -> Floats:
    """Every row's chances from a classifier fitted to the other folds, or to a sample of them."""
    from sklearn.base import clone

    matrix = np.zeros((len(log), log.n_actions))
    for fold in range(n_folds):
        inside = folds == fold
        outside = np.flatnonzero(~inside)
        if outside.size > sample_rows:
            outside = np.sort(generator.choice(outside, sample_rows, replace=False))
        actions = log.actions[outside]
        if (actions == actions[0]).all():
            matrix[inside, actions[0]] = 1.0
            continue
        fitted = clone(classifier).fit(log.contexts[outside], actions)
        matrix[np.ix_(inside, fitted.classes_)] = fitted.predict_proba(log.contexts[inside])
    return matrix


def _raise_taken(matrix: Floats, actions: Integers, rows: Bools, values: Floats) -> None:
    """Set the chance of the action taken in these rows; the other actions share what is left as before."""
    chosen = np.flatnonzero(rows)
    before, after = matrix[chosen, actions[chosen]], values[chosen]
    matrix[chosen] *= ((1.0 - after) / (1.0 - before))[:, None]
    matrix[chosen, actions[chosen]] = after
