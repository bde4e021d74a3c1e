"""Cells: an action in a group of users, and whether its rows there stand for as many users as the group has.

Groups are everybody, the leaves of a tree (judged on the half of the rows that it was not grown on), or periods of
time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.totals import cluster_squares, judge_counts, judge_sums, judge_totals, least_chances
from headstart.logs.log import Log
from headstart.logs.sums import ActionSums


@dataclass(frozen=True, eq=False)
class GroupCells:
    """Per group and action, each (G, K)."""

    rows: Floats
    users: Floats  # of the group
    ratios: Floats  # W / n, or observed over expected rows where whole vectors of chances are known
    variances: Floats  # of the ratios, with one row of the action's largest weight added: few rows may hide them
    p_values: Floats  # NaN where the log shows no row of the action


def count_cells(log: Log, labels: Integers, n_groups: int, largest: float, *, has_vectors: bool) -> GroupCells:
    """The cells of these rows. `largest` is the largest weight in the log, of whatever action: an action whose rare
    rows happen to be missing would not show its own."""
    assert log.propensities is not None
    k, w = log.n_actions, 1.0 / log.propensities
    shape, codes = (n_groups, k), labels * k + log.actions
    rows, total = (_add(codes, values, shape) for values in (np.ones_like(w), w))
    users = np.tile(np.bincount(labels, minlength=n_groups)[:, None].astype(float), (1, k))
    if has_vectors and log.propensity_matrix is not None:
        return _of_vectors(log, labels, rows, users)
    floors: Floats | float = 0.0
    if log.units is None:
        squares, most = _add(codes, w * (w - 1.0), shape), np.full(shape, largest)
        floors = least_chances(log.propensities, codes, shape)
    else:
        squares, most = _clustered(log, labels, w, shape)
        most = np.fmax(most, largest)
    is_shown = np.bincount(log.actions, minlength=k) > 0
    p_values = judge_totals(total, squares, most, users, users, floors)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (squares + np.nan_to_num(most) ** 2) / users**2
        return GroupCells(rows, users, total / users, spread, np.where(is_shown, p_values, np.nan))


def largest_weight(sums: ActionSums) -> float:
    """Of any row of the log."""
    return float(1.0 / np.nanmin(sums.rarest))


@dataclass(frozen=True, eq=False)
class JudgedActions:
    """Everybody as one group: per action, each (K,)."""

    errors: Floats  # standard errors of W_a / n
    off: Floats  # how far the ratio is from what it may be
    p_values: Floats  # 1 without rows


def judge_actions(
    sums: ActionSums, sample: Log, reached: Floats, never: Floats, *, has_vectors: bool
) -> JudgedActions:
    """The totals of all rows against the users who had a chance of each action, `reached` times 1 - `never` at least.

    By whole vectors, the sample's rows against the sum of their chances. By units, the sample's share of a variance
    that is between rows of one unit is scaled by the square of the number of rows, for so do the pairs of rows.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios, largest = sums.w / reached, np.where(sums.n > 0.0, largest_weight(sums), np.nan)
        variances = np.maximum(sums.ww - sums.w, 0.0)
        floors = _floors(sums, sample)
        if sample.units is not None and sample.propensities is not None:
            w, more = 1.0 / sample.propensities, float(sums.n.sum()) / len(sample)
            squares, most = cluster_squares(sample.units, sample.actions, w, np.ones(w.size), sums.n.size)
            alone = np.bincount(sample.actions, w * (w - 1.0), sums.n.size)
            variances = np.maximum(variances + more**2 * (squares - alone), 0.0)
            largest = np.fmax(largest, most * more)
        off = np.where(ratios < 1.0, np.minimum(ratios - 1.0 + never, 0.0), ratios - 1.0)
        p_values = judge_totals(sums.w, variances, largest, reached * (1.0 - never), reached, floors)
        errors = np.sqrt(variances) / reached
    if has_vectors and sample.propensity_matrix is not None:
        whole = count_cells(sample, np.zeros(len(sample), np.int64), 1, np.nan, has_vectors=True)
        off, p_values = np.nan_to_num(whole.ratios[0] - 1.0), whole.p_values[0]
    return JudgedActions(errors, off, np.nan_to_num(p_values, nan=1.0))


def _floors(sums: ActionSums, sample: Log) -> Floats | float:
    """What the chances of so few rows of each action are at least, (K,), where the sample is the whole log: with more
    rows than are looked at, that is nothing."""
    if sample.propensities is None or sample.units is not None or len(sample) < float(sums.n.sum()):
        return 0.0
    floors: Floats = least_chances(sample.propensities, sample.actions, (1, sums.n.size))[0]
    return floors


def _of_vectors(log: Log, labels: Integers, rows: Floats, users: Floats) -> GroupCells:
    """By whole vectors: rows against the sum of chances, each row a draw with its own."""
    chances = log.propensity_matrix
    assert chances is not None
    expected, variances = np.zeros(rows.shape), np.zeros(rows.shape)
    for a in range(log.n_actions):
        p = chances[:, a]
        expected[:, a] = np.bincount(labels, p, len(rows))
        variances[:, a] = np.bincount(labels, p * (1.0 - p), len(rows))
    if log.units is None:
        p_values = judge_counts(rows, expected, variances, users)
    else:
        variances, steps = _clustered_counts(log, labels, chances, rows.shape)
        p_values = judge_sums(rows - expected, variances, steps)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(expected > 0.0, rows / expected, np.nan)
        spread = np.where(expected > 0.0, (variances + 1.0) / expected**2, np.nan)
    return GroupCells(rows, users, ratios, spread, np.where((expected > 0.0) | (rows > 0.0), p_values, np.nan))


def _clustered(log: Log, labels: Integers, w: Floats, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """The squares of units' totals, and the largest unit's, group by group."""
    squares, largest = np.zeros(shape), np.full(shape, np.nan)
    assert log.units is not None
    for g in range(shape[0]):
        mine = labels == g
        if mine.any():
            centre = np.ones(int(mine.sum()))
            squares[g], largest[g] = cluster_squares(log.units[mine], log.actions[mine], w[mine], centre, shape[1])
    return squares, largest


def _clustered_counts(log: Log, labels: Integers, chances: Floats, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Squares of what each unit's rows are beyond its chances, and the largest of these."""
    squares, steps = np.zeros(shape), np.ones(shape)
    assert log.units is not None
    _, unit = np.unique(log.units, return_inverse=True)
    codes, cell = np.unique(unit * shape[0] + labels, return_inverse=True)
    group = codes % shape[0]
    for a in range(shape[1]):
        beyond = np.bincount(cell, (log.actions == a) - chances[:, a])
        squares[:, a] = np.bincount(group, beyond**2, shape[0])
        np.maximum.at(steps[:, a], group, np.abs(beyond))
    return squares, steps


def _add(codes: Integers, values: Floats, shape: tuple[int, int]) -> Floats:
    return np.bincount(codes, values, shape[0] * shape[1]).astype(np.float64).reshape(shape)
