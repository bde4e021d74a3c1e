"""Doubly robust means: a regression corrected by weighted residuals (Robins, Rotnitzky and Zhao 1994).

Right if the propensities or the regression are right. Two forms:

- `robust_terms`: per row and action m_a(x_i) + 1{a_i = a} w_i (y_i - m_a(x_i)), whose averages are means, and whose
  averages with a policy's chances are the policy's value.
- `robust_means`: the same with weights that are normalised, cut and calibrated per action, and with errors that cover
  with few rows (`summary`).
"""

from __future__ import annotations

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.population import balancing_weights
from headstart.estimates.regression import Regressor, predict_others
from headstart.estimates.ridge import fit, predict_actions, predict_for, predict_left_out, standardise, sum_rows
from headstart.estimates.summary import CorrectedMeans, Summary, correct_means
from headstart.logs.any_log import AnyLog
from headstart.logs.log import Log
from headstart.randomness import RNG


def robust_terms(actions: Integers, outcomes: Floats, weights: Floats, predicted: Floats) -> Floats:
    """What each row says of each action, (n, K): the prediction, and in its own column the weighted residual too."""
    terms, rows = predicted.copy(), np.arange(actions.size)
    residuals = outcomes - terms[rows, actions]
    terms[rows, actions] += weights * residuals
    return terms


def robust_means(
    log: Log, estimator: Regressor | None = None, users: Floats | None = None, n_folds: int = 5, rng: RNG = 0
) -> CorrectedMeans:
    """The means per action of a log with propensities; for users with these contexts, (m, d), if they are given."""
    actions, outcomes, k = log.actions, log.outcomes, log.n_actions
    assert log.propensities is not None
    standard = standardise(log.contexts, *([] if users is None else [users]))
    shares, moves = _shares(actions, k, 1.0 / log.propensities, *standard)
    if estimator is None:
        inside, outside = predict_for(actions, outcomes, k, *standard)
    else:
        inside, outside = predict_others(log, estimator, n_folds, rng, users)
    residuals = outcomes - inside[np.arange(actions.size), actions]
    # What cut and calibration changed is the difference of two answers to one question: a sign of their error.
    allowances: Floats = np.bincount(actions, moves * residuals, k).astype(np.float64)
    return correct_means(actions, outcomes, shares, inside, outside, allowances, log.units)


def _shares(
    actions: Integers, n_actions: int, weights: Floats, contexts: Floats, users: Floats | None = None
) -> tuple[Floats, Floats]:
    """A share per row, which sum to 1 over an action's rows, and how far it is from the plain one, each (n,).

    Towards another population the tilt is no error: only the cut counts as a move.
    """
    shares, moves = np.empty(actions.size), np.empty(actions.size)
    d = contexts.shape[1]
    target = np.zeros(d) if users is None else users.mean(axis=0)  # standardised: the log's means are 0
    for a in range(n_actions):
        rows = np.flatnonzero(actions == a)
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


def cut(shares: Floats, most: float) -> Floats:
    """Shares of which none is above `most` (at least 1/n); what is cut off goes to the others in proportion."""
    while True:
        over = shares > most * (1.0 + 1e-12)
        if not over.any():
            return shares
        full = shares >= most
        rest = shares[~full].sum()
        if rest <= 0.0:
            return np.full(shares.size, 1.0 / shares.size)
        shares = np.where(full, most, shares * ((1.0 - most * full.sum()) / rest))


def calibrate(shares: Floats, contexts: Floats, target: Floats) -> Floats:
    """Shares moved, by as little as can be, so that the mean of the (standardised) contexts comes nearer to the
    target.

    v_i (1 + (x_i - mean)'l), l = (S + d sum(v^2) I)^-1 (target - mean), S the weighted covariance: the calibration of
    survey sampling (Deville and Sarndal 1992) with a ridge of the size that d chance imbalances of so many rows have.
    What the regression got wrong of a linear outcome is then mostly balanced away.
    """
    mean = shares @ contexts
    centred = contexts - mean
    spread = (centred * shares[:, None]).T @ centred
    spread.flat[:: spread.shape[0] + 1] += spread.shape[0] * (shares @ shares)
    moved: Floats = shares * (1.0 + centred @ np.linalg.solve(spread, target - mean))
    return moved


def robust_table_means(table: AnyLog, sample: Log) -> CorrectedMeans:
    """The means of a table with propensities: the regression from a sample, the correction from sums over all rows.

    With a line m_a(x) = c + b'x that is fixed, mean_a = m_a(mean of x) + (sum w y - sum w m_a(x)) / sum w needs only
    sums of w, w y, w x and x, which the database gives. The lines are the ridge's of a sample; each row's influence
    varies as in the sample, so the standard errors are the sample's times sqrt(sampled rows / rows). At this size
    weights are neither cut nor calibrated. An action of which the sample has no row has no standard error.
    """
    sums, contexts = table.action_sums(), table.context_sums()
    n, k = float(sums.n.sum()), table.n_actions
    with np.errstate(divide="ignore", invalid="ignore"):
        weighted = contexts.wx / sums.w[:, None]
        levels = sums.wy / sums.w
    centre = contexts.x.sum(axis=0) / n
    known, everyone, theirs = standardise(sample.contexts, centre[None], np.nan_to_num(weighted))
    fitted = fit(sum_rows(known, sample.outcomes, sample.actions, k))
    means = (
        predict_actions(fitted, everyone)[0] + levels - predict_actions(fitted, theirs)[np.arange(k), np.arange(k)]
    )
    assert sample.propensities is not None
    weights = 1.0 / sample.propensities
    shares = weights / np.bincount(sample.actions, weights, k)[sample.actions]
    inside = predict_left_out(fitted, known, sample.actions, sample.outcomes)
    found = correct_means(sample.actions, sample.outcomes, shares, inside, units=sample.units)
    shrink = np.sqrt(len(sample) / n)
    return CorrectedMeans(
        Summary(np.where(sums.n > 0, means, np.nan), found.summary.standard_errors * shrink, found.summary.variances),
        found.errors * shrink,
        found.scatters,
        found.sizes / shrink**2,
    )
