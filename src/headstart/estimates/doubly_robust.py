"""Doubly robust means: a regression corrected by weighted residuals (Robins, Rotnitzky and Zhao 1994).

Right if the propensities or the regression are right. Two forms:

- `robust_terms`: per row and action m_a(x_i) + 1{a_i = a} w_i (y_i - m_a(x_i)), whose averages are means, and whose
  averages with a policy's chances are the policy's value.
- `robust_means`: the same with weights that are normalised, cut and calibrated per action, and with errors that cover
  with few rows (`summary`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.bending import LINES, MANY_ROWS
from headstart.estimates.intervals import MeanSpread, OutcomeShape, mean_intervals, shape_of_rows
from headstart.estimates.population import balancing_weights, find_shift
from headstart.estimates.regression import Regressor, predict_others
from headstart.estimates.ridge import fit, predict_actions, predict_for, predict_left_out, standardise, sum_rows
from headstart.estimates.summary import CorrectedMeans, Summary, correct_means
from headstart.estimates.weighted import root_sum_square
from headstart.logs.any_log import AnyLog
from headstart.logs.log import Log
from headstart.randomness import RNG

# What estimated propensities and regressions are taken to have missed of the confounding by curves, of what they
# found: sqrt(50 / rows of the action), at most all of it: two errors that fall as n^(-1/4) have such a product. Where
# the log has too few rows for trees to be tried wherever something bends, what bends otherwise is missed more often.
_MISSED_ROWS, _MISSED_BY_FEW = 50.0, 200.0


def robust_terms(actions: Integers, outcomes: Floats, weights: Floats, predicted: Floats) -> Floats:
    """What each row says of each action, (n, K): the prediction, and in its own column the weighted residual too."""
    terms, rows = predicted.copy(), np.arange(actions.size)
    residuals = outcomes - terms[rows, actions]
    terms[rows, actions] += weights * residuals
    return terms


class RobustMeans(NamedTuple):
    """Means per action with their errors, and what their intervals need besides."""

    corrected: CorrectedMeans
    left: OutcomeShape  # of the residuals; `is_binary`: of the outcomes
    how: str  # the regression of the outcome

    @property
    def summary(self) -> Summary:
        return self.corrected.summary

    def intervals(self, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends, (K,) each, by `estimates.intervals`; infinite for an action never shown."""
        found = self.corrected
        means = found.summary.means
        is_known = np.isfinite(means)
        scatters = np.clip(means * (1.0 - means), 0.0, None) if self.left.is_binary else self._scatters()
        spread = MeanSpread(means, found.errors, found.sizes, scatters, found.tilts)
        low, high = mean_intervals(spread, self.left, self.left.skewnesses, level)
        return np.where(is_known, low, -np.inf), np.where(is_known, high, np.inf)

    def _scatters(self) -> Floats:
        """Of what is averaged: the part of a squared error that is residuals', at most all of it."""
        return np.minimum(self.left.variance, self.corrected.errors**2 * self.corrected.sizes)


def robust_means(
    log: Log, estimator: Regressor | None = None, users: Floats | None = None, n_folds: int = 5, rng: RNG = 0
) -> RobustMeans:
    """The means per action of a log with propensities; for users with these contexts, (m, d), if they are given, as
    far as these differ from the log's by more than noise."""
    actions, outcomes, k = log.actions, log.outcomes, log.n_actions
    assert log.propensities is not None
    shift = 0.0 if users is None else find_shift(log.contexts, users, log.units)
    users = users if shift > 0.0 else None
    standard = standardise(log.contexts, *([] if users is None else [users]))
    target = np.zeros(standard[0].shape[1]) if users is None else shift * standard[1].mean(axis=0)
    shares, moves = _shares(actions, k, 1.0 / log.propensities, standard[0], target, is_tilted=users is not None)
    inside, outside, how = predict_others(log, estimator, n_folds, rng, users)
    missed = np.zeros(k)
    if outside is not None:
        missed = (1.0 - shift) * (outside.mean(axis=0) - inside.mean(axis=0))
        outside = inside.mean(axis=0) + shift * (outside - inside.mean(axis=0))
    residuals = outcomes - inside[np.arange(actions.size), actions]
    # What cut and calibration changed is the difference of two answers to one question: a sign of their error.
    allowances: Floats = np.hypot(np.bincount(actions, moves * residuals, k), missed)
    if log.is_estimated and users is None and estimator is None and standard[0].shape[1]:
        allowances = np.hypot(allowances, _find_missed(log, standard[0], shares, inside))
    corrected = correct_means(actions, outcomes, shares, inside, outside, allowances, log.units)
    return RobustMeans(corrected, _shape_left(actions, outcomes, residuals, k), how)


def _shape_left(actions: Integers, outcomes: Floats, residuals: Floats, n_actions: int) -> OutcomeShape:
    left = shape_of_rows(actions, residuals, n_actions)
    return left._replace(is_binary=bool(np.isin(outcomes, (0.0, 1.0)).all()))


def _find_missed(log: Log, contexts: Floats, shares: Floats, inside: Floats) -> Floats:
    """What curves that nobody found may have moved each mean by, (K,), in the measure of those that were found.

    Found is how far the mean is from what lines alone would have said, chance taken off: regressions that are lines,
    and rows that count alike but for their linear imbalance. Where policy and outcomes are lines the two agree; where
    they bend together it is confounding. What all actions show together counts for each.
    """
    actions, outcomes, k = log.actions, log.outcomes, log.n_actions
    plain, _ = _shares(actions, k, np.ones(actions.size), contexts, np.zeros(contexts.shape[1]))
    lines, _ = predict_for(actions, outcomes, k, contexts)
    rows, apart = np.arange(actions.size), inside - lines
    moved = shares * (outcomes - inside[rows, actions]) - plain * (outcomes - lines[rows, actions])
    squares = np.zeros(k)
    for a in range(k):
        influence = (apart[:, a] - apart[:, a].mean()) / actions.size + np.where(actions == a, moved, 0.0)
        noise = root_sum_square(influence, log.units)
        squares[a] = (apart[:, a].mean() + moved[actions == a].sum()) ** 2 - noise * noise
    counts = np.bincount(actions, minlength=k)
    together = float(squares[counts > 0].mean())
    rows_missed = _MISSED_ROWS if actions.size >= MANY_ROWS else _MISSED_BY_FEW
    missed = np.minimum(1.0, np.sqrt(rows_missed / np.maximum(counts, 1)))
    return np.where(counts > 0, missed * np.sqrt(np.maximum(np.maximum(squares, together), 0.0)), 0.0)


def _shares(
    actions: Integers,
    n_actions: int,
    weights: Floats,
    contexts: Floats,
    target: Floats,
    *,
    is_tilted: bool = False,
) -> tuple[Floats, Floats]:
    """A share per row, which sum to 1 over an action's rows, and how far it is from the plain one, each (n,).

    `target` is where the contexts' means belong: at 0, the log's own, or tilted to another population's. The tilt is
    no error: then only the cut counts as a move.
    """
    shares, moves = np.empty(actions.size), np.empty(actions.size)
    d = contexts.shape[1]
    for a in range(n_actions):
        rows = np.flatnonzero(actions == a)
        if rows.size == 0:
            continue
        plain = weights[rows] / weights[rows].sum()
        share = cut(plain, 1.0 / np.sqrt(rows.size))
        if d and not is_tilted:
            share = calibrate(share, contexts[rows], target)
        moves[rows] = plain - share
        if d and is_tilted:  # far from the rows' own means: weights that stay positive
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


def robust_table_means(table: AnyLog, sample: Log) -> RobustMeans:
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
    residuals = sample.outcomes - inside[np.arange(len(sample)), sample.actions]
    corrected = CorrectedMeans(
        Summary(np.where(sums.n > 0, means, np.nan), found.summary.standard_errors * shrink, found.summary.variances),
        found.errors * shrink,
        found.scatters,
        found.sizes / shrink**2,
        found.tilts * shrink,
    )
    return RobustMeans(corrected, _shape_left(sample.actions, sample.outcomes, residuals, k), LINES)
