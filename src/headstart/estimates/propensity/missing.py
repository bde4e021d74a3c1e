"""Missing propensities: the one way in which audit, start, compare and the service fill them in.

The chances of all actions are estimated by cross-fitted logistic regression, then drawn towards the actions' shares
as far as the rows left out advise: p proportional to share^(1 - s) p^s, s in [0, 1] of the largest likelihood.
Chances learnt from few rows and many columns are far too sure. Without contexts, or with fewer than ten rows, the
shares are all there is to know.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.propensity.estimation import RIDGE, TrimmingWarning, estimate_propensities
from headstart.estimates.propensity.logistic import Fit, fit_logistic
from headstart.estimates.propensity.rows import rows_of, without_targets
from headstart.logs.any_log import AnyLog
from headstart.logs.log import Log
from headstart.randomness import RNG, as_generator

FEWEST_ROWS = 10
_STEPS = np.linspace(0.0, 1.0, 21)  # how much of the estimated chances is believed
_SMALLEST = 1e-9  # a chance of 0 cannot be weighted by
_BATCH = 1 << 18


@dataclass(frozen=True, eq=False)
class Filled:
    """A log with propensities that it did not have."""

    log: Log  # with the chances of every action
    belief: float  # s: how far the estimated chances are believed; 0: the shares alone
    note: str  # what was done, in words


def fill_missing(log: Log, rng: RNG = 0) -> Filled:
    """The log with estimated propensities, each row's by models that never saw it; `rng` deals the folds."""
    n = len(log)
    shares = np.bincount(log.actions, minlength=log.n_actions) / n
    if log.n_features == 0 or n < FEWEST_ROWS:
        why = "" if n >= FEWEST_ROWS else ", which has so few rows"
        note = f"the chance of an action is taken to be its share of the log{why}"
        return Filled(log.with_propensities(np.tile(shares, (n, 1))), 0.0, note)
    with warnings.catch_warnings():  # poor overlap shows in the weights, and whoever uses them looks there
        warnings.simplefilter("ignore", TrimmingWarning)
        matrix = estimate_propensities(log, rng=as_generator(rng), warn_share=1.0).propensity_matrix
    assert matrix is not None
    belief, chances = _temper(np.maximum(matrix, 1e-12), log.actions, np.maximum(shares, 1e-12))
    chances[:, shares == 0.0] = 0.0
    note = f"propensities were estimated from {log.n_features} context columns and believed by {belief:.0%}"
    return Filled(log.with_propensities(chances), belief, note)


def fill_with_sample(log: AnyLog, sample: Log, rng: RNG = 0) -> tuple[AnyLog, Log, str]:
    """A log of any size and a sample of its rows, both with estimated propensities, and what was done, in words.

    The sample's are cross-fitted, and so are those of a log that is all in the sample; the rows of a larger one have
    those of one regression on the sample, believed as far.
    """
    filled = fill_missing(sample, rng)
    if len(sample) == len(log):
        return filled.log, filled.log, filled.note
    # An action too rare for the sample would have no estimate: then the model goes through the whole log.
    is_shown = np.bincount(sample.actions, minlength=sample.n_actions) > 0
    source = sample if is_shown.all() else log
    shares = source.action_sums(only=("n",)).n / len(source)
    model = _tempered(fit_logistic(without_targets(rows_of(source)), log.n_actions, RIDGE), filled.belief, shares)
    if isinstance(log, Log):
        return log.with_propensities(_predict_taken(model, log)), filled.log, filled.note
    return log.with_propensities_from(model), filled.log, filled.note


def _temper(matrix: Floats, actions: Integers, shares: Floats) -> tuple[float, Floats]:
    """s of the largest likelihood of the actions taken, and all chances with it, (n, K)."""
    apart = np.log(matrix) - np.log(shares)
    best, belief, chances = -np.inf, 0.0, matrix
    rows = np.arange(actions.size)
    for s in _STEPS:
        scores = np.log(shares) + s * apart
        scores -= scores.max(axis=1, keepdims=True)
        raw = np.exp(scores)
        raw /= raw.sum(axis=1, keepdims=True)
        likelihood = float(np.log(np.maximum(raw[rows, actions], 1e-300)).sum())
        if likelihood > best:
            best, belief, chances = likelihood, float(s), raw
    chances[rows, actions] = np.maximum(chances[rows, actions], _SMALLEST)
    return belief, chances


def _tempered(fit: Fit, belief: float, shares: Floats) -> Fit:
    """The regression whose chances are those of this one, drawn towards the shares: scores are logarithms."""
    intercepts = np.full(shares.size, -np.inf)
    shown = shares > 0.0
    intercepts[shown] = belief * fit.intercepts[shown] + (1.0 - belief) * np.log(shares[shown])
    return Fit(belief * fit.slopes, intercepts)


def _predict_taken(model: Fit, log: Log) -> Floats:
    """The chance of the action taken in every row, a batch at a time: all chances of all rows may not fit."""
    taken = np.empty(len(log))
    for start in range(0, len(log), _BATCH):
        rows = slice(start, start + _BATCH)
        actions = log.actions[rows]
        taken[rows] = model.predict(log.contexts[rows])[np.arange(actions.size), actions]
    return np.maximum(taken, _SMALLEST)
