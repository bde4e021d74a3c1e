"""Missing propensities: the one way in which audit, start, compare and the service fill them in.

The chances of all actions are estimated by cross-fitted logistic regression, then drawn towards the actions' shares
as far as the rows left out advise: p proportional to share^(1 - s) p^s, s in [0, 1] of the largest likelihood.
Chances learnt from few rows and many columns are far too sure. Where the regression's residuals show that it cannot
follow the policy, others are fitted on the same folds and drawn in the same way: with squares, kinks and products
of the columns (`curves.is_curved`), and boosted trees (`trees.is_off`). Each is used if rows that it never saw are
likelier by it, by more than a standard error. At last the chances are calibrated on the rows left out: those of an
action are scaled until they add up to its rows. Without contexts, or with fewer than ten rows, the
shares are all there is to know.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.cross_fit import cross_fit, deal_folds
from headstart.estimates.periods import PERIOD
from headstart.estimates.propensity.curves import curve_chances, expand, is_curved
from headstart.estimates.propensity.estimation import RIDGE, RegressingFolds
from headstart.estimates.propensity.logistic import Fit, fit_logistic
from headstart.estimates.propensity.rows import rows_of, without_targets
from headstart.estimates.propensity.trees import boost_chances, is_off
from headstart.logs.any_log import AnyLog
from headstart.logs.log import Log
from headstart.numerals import tell_count
from headstart.randomness import RNG, as_generator

FEWEST_ROWS = 10
_FOLDS = 5
_STEPS = np.linspace(0.0, 1.0, 21)  # how much of the estimated chances is believed
_SMALLEST = 1e-9  # a chance of 0 cannot be weighted by
_MANY_ROWS = 2_000  # with which trees are tried wherever curves are better
_RAKES = 10  # the factors are near 1, and each turn takes off most of what is left
_BATCH = 1 << 18


LINE, CURVE, TREES = "", "with curves of them", "by boosted trees"


@dataclass(frozen=True, eq=False)
class Filled:
    """A log with propensities that it did not have."""

    log: Log  # with the chances of every action
    belief: float  # s: how far the estimated chances are believed; 0: the shares alone
    note: str  # what was done, in words
    how: str = LINE  # whose chances they are: the regression's (LINE), CURVE or TREES


class _Candidate(NamedTuple):
    how: str
    belief: float
    chances: Floats


def fill_missing(log: Log, rng: RNG = 0, *, tries_others: bool = True) -> Filled:
    """The log with estimated propensities, each row's by models that never saw it; `rng` deals the folds.

    Without `tries_others` the regression stays, whatever its residuals say.
    """
    n = len(log)
    shares = np.bincount(log.actions, minlength=log.n_actions) / n
    if log.n_features == 0 or n < FEWEST_ROWS:
        why = "" if n >= FEWEST_ROWS else ", which has so few rows"
        note = f"the chance of an action is taken to be its share of the log{why}"
        return Filled(log.with_estimated_propensities(np.tile(shares, (n, 1))), 0.0, note)
    folds = deal_folds(n, _FOLDS, as_generator(rng))
    best = _Candidate(LINE, *_temper(cross_fit(folds, log.n_actions, RegressingFolds(log)), log.actions, shares))
    if tries_others:
        expanded, is_bent = expand(log), is_off(log, best.chances)
        if expanded is not None and is_curved(log, best.chances, expanded):
            best = _likelier(best, CURVE, curve_chances(log, expanded, folds), log.actions, shares)
        if is_bent or (best.how == CURVE and n >= _MANY_ROWS):  # what bends may bend more than curves can
            best = _likelier(best, TREES, boost_chances(log, folds), log.actions, shares)
    chances = _rake(best.chances, log.actions)
    return Filled(log.with_estimated_propensities(chances), best.belief, _describe(log, best), best.how)


def _describe(log: Log, best: _Candidate) -> str:
    known = log.encoding.without((PERIOD,))
    what = tell_count(len(known.names), "context column")
    if PERIOD in log.encoding.columns:
        what += " and the period, for shares moved over time,"
    how = f" {best.how}, which follow the policy where a line does not," if best.how else ""
    taken = (
        "taken as they came" if best.belief == 1.0 else f"drawn towards the plain shares by {1.0 - best.belief:.0%}"
    )
    return f"propensities were estimated from {what}{how} and {taken}"


def _likelier(best: _Candidate, how: str, matrix: Floats, actions: Integers, shares: Floats) -> _Candidate:
    """The other chances, drawn as far as they should be, if the actions taken are likelier by them."""
    other = _Candidate(how, *_temper(matrix, actions, shares))
    return other if _is_likelier(other.chances, best.chances, actions) else best


def _rake(chances: Floats, actions: Integers) -> Floats:
    """Chances of which an action's add up to its rows, (n, K): each action's are scaled by one factor, in turn with
    each row's adding up to 1 (Deming and Stephan 1940). An action without rows has none."""
    counts = np.bincount(actions, minlength=chances.shape[1]).astype(np.float64)
    for _ in range(_RAKES):
        chances = chances * (counts / np.maximum(chances.sum(axis=0), 1e-300))
        chances /= chances.sum(axis=1, keepdims=True)
    rows = np.arange(actions.size)
    chances[rows, actions] = np.maximum(chances[rows, actions], _SMALLEST)
    return chances


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
    of one regression on the sample, believed as far; what a database cannot compute (curves, trees) and a log does
    not hold (the sample's periods) is not taken to the other rows: then the sample stands for the log, and the note
    says so.
    """
    filled = fill_missing(sample, rng)
    if len(sample) == len(log):
        return FilledSample(filled.log, filled.log, filled.note)
    if filled.how != LINE or sample.n_features != log.n_features:
        stand = f"that cannot be done to all {len(log):,} rows, so {len(sample):,} drawn by lot stand for them"
        return FilledSample(filled.log, filled.log, f"{filled.note}; {stand}")
    # An action too rare for the sample would have no estimate: then the model goes through the whole log.
    is_shown = np.bincount(sample.actions, minlength=sample.n_actions) > 0
    source = sample if is_shown.all() else log
    shares = source.action_sums(only=("n",)).n / len(source)
    model = _tempered(fit_logistic(without_targets(rows_of(source)), log.n_actions, RIDGE), filled.belief, shares)
    if isinstance(log, Log):
        return FilledSample(log.with_estimated_propensities(_predict_taken(model, log)), filled.log, filled.note)
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
