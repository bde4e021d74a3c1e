"""Doubly robust slopes: how an action's mean moves with some columns, where all of them chose the actions.

The regression of the outcome on all columns, m_a, is put on the columns x that are asked about over all n rows, and
what it left of the action's own rows is put on them by weights: b_a = S^-1 mean(x m_a) + B_a^-1 sum(v x e), v the
shares of the action's rows (1/p, cut), e their residuals, S and B_a the covariance of x plainly and by shares. It is
the best line of x through the conditional mean if the propensities or the regression are right (Robins, Rotnitzky and
Zhao 1994; the weighted line stands for the weighted mean because its divisor is as noisy as what it divides). What is
left of an outcome that columns besides x explain is then no noise of the slopes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.regression import predict_others
from headstart.estimates.ridge import CentredSums, moving_columns
from headstart.estimates.shares import cut
from headstart.estimates.summary import PRIOR_ROWS, design_effect, variance_within, widening
from headstart.estimates.weighted import kish_size
from headstart.logs.log import Log

_LEAST = 1e-9  # of a slope's variance in units of the outcome's: outcomes without noise are known no better


class AdjustedRows(NamedTuple):
    """What rows say of every action after all columns were adjusted for."""

    actions: Integers  # (n,)
    outcomes: Floats  # (n,)
    predicted: Floats  # (n, K) m_a(x_i) of all columns, by other rows than i
    shares: Floats  # (n,) what a row counts among those of its action; they sum to 1
    units: Integers | None  # (n,) rows of one unit go together


def adjust_rows(log: Log) -> AdjustedRows:
    """The rows of a log with propensities."""
    assert log.propensities is not None
    shares = np.empty(len(log))
    for a in range(log.n_actions):
        rows = np.flatnonzero(log.actions == a)
        if rows.size:
            raw = 1.0 / log.propensities[rows]
            shares[rows] = cut(raw / raw.sum(), 1.0 / np.sqrt(rows.size))
    return AdjustedRows(log.actions, log.outcomes, predict_others(log).inside, shares, log.units)


class RobustSlopes(NamedTuple):
    """Of one action."""

    slopes: Floats  # (d,)
    covariance: Floats  # (d, d)
    scatter: float  # the outcomes' variance around their line
    size: float  # Kish's, of the shares


def sum_adjusted(contexts: Floats, rows: AdjustedRows) -> CentredSums:
    """The slopes as sums of rows that would tell as much: spread s^2 V^-1, V their covariance and s^2 the outcomes'
    variance around the lines of all actions. An action's rows are Kish's size of their shares; they say nothing
    along a column, (n, d), that does not move."""
    d, k = contexts.shape[1], rows.predicted.shape[1]
    sums = CentredSums(np.zeros(k), np.zeros((k, d)), np.zeros(k), np.zeros((k, d, d)), np.zeros((k, d)), np.zeros(k))
    moving = np.flatnonzero(moving_columns(contexts))
    seen = contexts[:, moving] - contexts[:, moving].mean(axis=0)
    shown = np.flatnonzero(np.bincount(rows.actions, minlength=k)).tolist()
    found = {a: robust_slopes(seen, rows, a) for a in shown}
    variance = sum(each.size * each.scatter for each in found.values()) / sum(each.size for each in found.values())
    for a, each in found.items():
        mine = np.flatnonzero(rows.actions == a)
        sums.centres[a], sums.levels[a] = rows.shares[mine] @ contexts[mine], rows.shares[mine] @ rows.outcomes[mine]
        sums.n[a] = each.size
        if variance > 0.0 and moving.size:
            told = variance * np.linalg.inv(each.covariance)
            sums.spread[a][np.ix_(moving, moving)], sums.moment[a, moving] = told, told @ each.slopes
        sums.total[a] = variance * max(sums.n[a] - 1.0, 0.0) + each.slopes @ sums.moment[a, moving]
    return sums


def robust_slopes(contexts: Floats, rows: AdjustedRows, action: int) -> RobustSlopes:
    """The slopes of an action that was shown, with the sandwich of their influences; contexts, (n, d), have mean 0.

    As for means (`summary`) the squares of few rows lean on those of all actions, and errors are widened as Student's
    quantile is. A ridge of d rows of one unit leaves the regression alone where an action's rows tell nothing; there
    it may be off by the outcomes' deviation for a column's.
    """
    n, d = contexts.shape
    residuals = rows.outcomes - rows.predicted[np.arange(n), rows.actions]
    mine = np.flatnonzero(rows.actions == action)
    share, left, predicted = rows.shares[mine], residuals[mine], rows.predicted[:, action]
    size = kish_size(share)
    plain = np.linalg.pinv(contexts.T @ contexts / n)
    apart = predicted - predicted.mean()
    slopes = plain @ (apart @ contexts) / n
    moved = ((apart - contexts @ slopes)[:, None] * contexts) @ plain / n  # (n, d) what each row moves them by
    x = contexts[mine] - share @ contexts[mine]
    ridge = d / size
    inverse = np.linalg.inv((share * x.T) @ x + ridge * np.eye(d))
    corrected = inverse @ ((share * (left - share @ left)) @ x)
    left = left - share @ left - x @ corrected
    # Without its own pull a row's residual would be this much larger.
    pulls = share + share * np.einsum("ij,jk,ik->i", x, inverse, x)
    along = share[:, None] * (x @ inverse)  # what a residual of 1 moves the slopes by
    noise = along * (left / np.maximum(1.0 - pulls, 0.5 / mine.size))[:, None]
    believed = moved.T @ moved + variance_within(rows.actions, residuals, rows.predicted.shape[1]) * (along.T @ along)
    moved[mine] += noise
    squares = along * along
    freedom = squares.sum(axis=0) ** 2 / np.maximum((squares * squares).sum(axis=0), 1e-300)  # (d,)
    shrunk = np.sqrt(freedom / (freedom + PRIOR_ROWS)), np.sqrt(PRIOR_ROWS / (freedom + PRIOR_ROWS))
    covariance = np.outer(shrunk[0], shrunk[0]) * (moved.T @ moved) + np.outer(shrunk[1], shrunk[1]) * believed
    if rows.units is not None:
        covariance = covariance * max((design_effect(each, rows.units) for each in moved.T), default=1.0)
    slopes = slopes + corrected
    off = rows.outcomes[mine] - share @ rows.outcomes[mine] - x @ slopes
    scatter = float(share @ off**2)
    wide = np.array([widening(each) for each in freedom])
    covariance = covariance * np.outer(wide, wide) + ridge**2 * scatter * inverse @ inverse
    covariance.flat[:: d + 1] += _LEAST * float(rows.outcomes.var())
    return RobustSlopes(slopes, covariance, scatter, size)
