"""Likeness: the chance that an action's users, weighted, differ as much from everybody in a column, if p is true.

A column of numbers is judged by T = sum of w z over the action's rows, z its rank, centred and in standard
deviations: its mean is 0. Of the values themselves a few far ones would decide, and just these the action's rows may
lack, and with them the variance. A column of two values (a category is one) by the rarer value: the action's rows
that have it must stand for as many users as have it, which is exact where they are few (`estimates.totals`).
"""

from __future__ import annotations

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.estimates.totals import cluster_squares, judge_sums, judge_totals, least_chances
from headstart.logs.log import Log


def judge_columns(sample: Log, chosen: Integers, largest: float, *, is_logged: bool) -> Floats:
    """Per column that is chosen and action, (columns, K); NaN for an action that the sample does not show.

    `largest` is the largest weight in the log. Where the whole vectors of chances were logged, variances are known.
    """
    p_values = np.full((len(chosen), sample.n_actions), np.nan)
    has_vectors = is_logged and sample.propensity_matrix is not None and sample.units is None
    vectors = _Vectors(sample) if has_vectors else None
    for i, j in enumerate(chosen):
        column = sample.contexts[:, j]
        is_one = column == column.max()
        if is_one.all() or (column[~is_one] != column.min()).any():
            z = _ranks(column)
            p_values[i] = _judge_number(sample, z, largest) if vectors is None else vectors.judge(z)
        else:
            rarer = is_one if 2 * is_one.sum() <= column.size else ~is_one
            p_values[i] = _judge_value(sample, rarer, largest) if vectors is None else vectors.judge(rarer * 1.0)
    p_values[:, np.bincount(sample.actions, minlength=sample.n_actions) == 0] = np.nan
    return p_values


def _ranks(column: Floats) -> Floats:
    """Ranks, equal values sharing their middle one, with mean 0 and spread 1."""
    _, place, count = np.unique(column, return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - (count - 1) / 2.0
    ranks = middle[place] - (column.size + 1) / 2.0
    standard: Floats = ranks / max(float(ranks.std()), 1e-300)
    return standard


def _judge_value(sample: Log, inside: Bools, largest: float) -> Floats:
    """Whether each action's rows inside stand for as many users as there are inside, (K,)."""
    assert sample.propensities is not None
    w, actions, k = 1.0 / sample.propensities[inside], sample.actions[inside], sample.n_actions
    n, most = np.array(float(inside.sum())), np.full(k, largest)
    floors: Floats | float = 0.0
    if sample.units is None:
        squares = _add(actions, w * (w - 1.0), k)
        floors = least_chances(sample.propensities[inside], actions, (1, k))[0]
    else:
        squares, units = cluster_squares(sample.units[inside], actions, w, np.ones(w.size), k)
        most = np.fmax(units, most)
    return judge_totals(_add(actions, w, k), squares, most, n, n, floors)


def _judge_number(sample: Log, z: Floats, largest: float) -> Floats:
    """Whether each action's weighted sum of z is 0, (K,).

    Its variance is the sum of w (w - 1) z^2, by units that of (sum of w z - sum of z)^2. One more row of the largest
    weight, a standard deviation off, is added: few rows may hide a heavy one.
    """
    assert sample.propensities is not None
    w, actions, k = 1.0 / sample.propensities, sample.actions, sample.n_actions
    heaviest = np.full(k, largest)
    if sample.units is None:
        squares, cubes = _add(actions, w * (w - 1.0) * z * z, k), _add(actions, np.abs(w * z) ** 3, k)
    else:
        squares, steps = cluster_squares(sample.units, actions, w * z, z, k)
        cubes, heaviest = squares * np.nan_to_num(steps), np.fmax(heaviest, steps)
    variances = squares + heaviest**2
    return judge_sums(_add(actions, w * z, k), variances, (cubes + heaviest**3) / variances)


class _Vectors:
    """The same by whole vectors of chances: the mean and the variance of a weighted sum are sums over all users."""

    def __init__(self, sample: Log) -> None:
        chances = sample.propensity_matrix
        assert chances is not None
        assert sample.propensities is not None
        self._had = (chances > 0.0).astype(np.float64)  # (n, K) a user without a chance is not stood for
        self._w = np.divide(1.0, chances, out=np.zeros(chances.shape), where=chances > 0.0)
        self._sample, self._taken = sample, 1.0 / sample.propensities

    def judge(self, z: Floats) -> Floats:
        """Chances of sums of w z as far from that of z as these, (K,)."""
        sums = _add(self._sample.actions, self._taken * z, self._sample.n_actions)
        squares = z * z
        variances = squares @ self._w - squares @ self._had
        cubes = (squares * np.abs(z)) @ (self._w * self._w)
        steps = np.divide(cubes, variances, out=np.ones(cubes.size), where=variances > 0.0)
        return judge_sums(sums - z @ self._had, variances, steps)


def _add(actions: Integers, values: Floats, n_actions: int) -> Floats:
    """Sums of values per action."""
    return np.bincount(actions, values, n_actions).astype(np.float64, copy=False)
