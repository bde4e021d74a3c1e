"""Missing propensities: the one way in which audit, start, compare and the service fill them in.

The chances of all actions are estimated by cross-fitted logistic regression, then drawn towards the actions' shares
as far as the rows left out advise: p proportional to share^(1 - s) p^s, s in [0, 1] of the largest likelihood.
Chances learnt from few rows and many columns are far too sure. Where the regression's residuals show that it cannot
follow the policy (`trees.is_off`), boosted trees are grown on the same folds and drawn in the same way; they are used
if rows that they never saw are likelier by them, by more than a standard error. Without contexts, or with fewer than
ten rows, the shares are all there is to know.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.cross_fit import cross_fit, deal_folds
from headstart.estimates.periods import PERIOD
from headstart.estimates.propensity.estimation import RIDGE, RegressingFolds
from headstart.estimates.propensity.logistic import Fit, fit_logistic
from headstart.estimates.propensity.rows import rows_of, without_targets
from headstart.estimates.propensity.trees import boost_chances, is_off
from headstart.logs.any_log import AnyLog
from headstart.logs.log import Log
from headstart.randomness import RNG, as_generator

FEWEST_ROWS = 10
_FOLDS = 5
_STEPS = np.linspace(0.0, 1.0, 21)  # how much of the estimated chances is believed
_SMALLEST = 1e-9  # a chance of 0 cannot be weighted by
_BATCH = 1 << 18


@dataclass(frozen=True, eq=False)
class Filled:
    """A log with propensities that it did not have."""

    log: Log  # with the chances of every action
    belief: float  # s: how far the estimated chances are believed; 0: the shares alone
    note: str  # what was done, in words
    by_trees: bool = False  # the chances are those of boosted trees, not of the regression


def fill_missing(log: Log, rng: RNG = 0, *, tries_trees: bool = True) -> Filled:
    """The log with estimated propensities, each row's by models that never saw it; `rng` deals the folds.

    Without `tries_trees` the regression stays, whatever its residuals say.
    """
    n = len(log)
    shares = np.bincount(log.actions, minlength=log.n_actions) / n
    if log.n_features == 0 or n < FEWEST_ROWS:
        why = "" if n >= FEWEST_ROWS else ", which has so few rows"
        note = f"the chance of an action is taken to be its share of the log{why}"
        return Filled(log.with_propensities(np.tile(shares, (n, 1))), 0.0, note)
    folds = deal_folds(n, _FOLDS, as_generator(rng))
    belief, chances = _temper(cross_fit(folds, log.n_actions, RegressingFolds(log)), log.actions, shares)
    by_trees = False
    if tries_trees and is_off(log, chances):
        other_belief, others = _temper(boost_chances(log, folds), log.actions, shares)
        by_trees = _is_likelier(others, chances, log.actions)
        if by_trees:
            belief, chances = other_belief, others
    chances[:, shares == 0.0] = 0.0
    return Filled(log.with_propensities(chances), belief, _describe(log, belief, by_trees=by_trees), by_trees)


def _describe(log: Log, belief: float, *, by_trees: bool) -> str:
    known = log.encoding.without((PERIOD,))
    what = f"{len(known.names)} context columns"
    if PERIOD in log.encoding.columns:
        what += " and the period, for shares moved over time,"
    how = " by boosted trees, which follow the policy where a logistic regression does not," if by_trees else ""
    return f"propensities were estimated from {what}{how} and believed by {belief:.0%}"


def _is_likelier(ours: Floats, theirs: Floats, actions: Integers) -> bool:
    """Whether the actions taken are likelier by our chances, by more than a standard error of the difference."""
    rows = np.arange(actions.size)
    gains = np.log(ours[rows, actions]) - np.log(theirs[rows, actions])
    return bool(gains.mean() > gains.std(ddof=1) / np.sqrt(gains.size))


class FilledSample(NamedTuple):
    """A log and a sample of its rows, both with estimated propensities, and what was done, in words."""

    log: AnyLog
    sample: Log
    note: str


def fill_with_sample(log: AnyLog, sample: Log, rng: RNG = 0) -> FilledSample:
    """A log of any size and a sample of its rows, both with estimated propensities.

    The sample's are cross-fitted. A sample of all rows stands for the log itself. Otherwise the other rows' are those
    of one regression on the sample, believed as far; what a database cannot compute (trees) and a log does not hold
    (the sample's periods) is not taken to the other rows: then the sample stands for the log, and the note says so.
    """
    filled = fill_missing(sample, rng)
    if len(sample) == len(log):
        return FilledSample(filled.log, filled.log, filled.note)
    if filled.by_trees or sample.n_features != log.n_features:
        stand = f"that cannot be done to all {len(log):,} rows, so {len(sample):,} drawn by lot stand for them"
        return FilledSample(filled.log, filled.log, f"{filled.note}; {stand}")
    # An action too rare for the sample would have no estimate: then the model goes through the whole log.
    is_shown = np.bincount(sample.actions, minlength=sample.n_actions) > 0
    source = sample if is_shown.all() else log
    shares = source.action_sums(only=("n",)).n / len(source)
    model = _tempered(fit_logistic(without_targets(rows_of(source)), log.n_actions, RIDGE), filled.belief, shares)
    if isinstance(log, Log):
        return FilledSample(log.with_propensities(_predict_taken(model, log)), filled.log, filled.note)
    return FilledSample(log.with_propensities_from(model), filled.log, filled.note)


def _temper(matrix: Floats, actions: Integers, shares: Floats) -> tuple[float, Floats]:
    """s of the largest likelihood of the actions taken, and all chances with it, (n, K).

    An action that the other folds never show has an estimate of 0: it has its share of the log instead.
    """
    shares = np.maximum(shares, 1e-12)
    matrix = np.maximum(np.where(matrix > 0.0, matrix, shares), 1e-12)
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
