"""Outcomes over time: weighted means per period and action, and whether levels and contrasts moved.

A mean of a period is that of its rows, weighted as in `weighted`; its variance is the larger of what its own rows
show and what the action's rows show in all periods: few rows of a rare success do not know their own. A change is
the chi-square of the periods' values around their common mean (Cochran's Q), or that of their trend, as an F where
variances are of few rows or units. Means of few rows are not normal: periods are taken together until each has rows
enough, the more the heavier the tails of the outcome.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from headstart.arrays import Bools, Floats, Integers

_COARSER = (5, 3, 2)  # periods that the finest ones are taken together to, if they must be
_FEWEST_WORTH = 20.0  # effective rows of an action in a period
_TAILS = 4.0  # its rows there, in units of their kurtosis: 12 of normal outcomes, 400 of one success in a hundred


@dataclass(frozen=True, eq=False)
class TimedRows:
    """The rows of a log as they are looked at over time."""

    labels: Integers  # (n,) the period of each row
    n_periods: int
    actions: Integers  # (n,)
    n_actions: int
    outcomes: Floats  # (n,)
    weights: Floats  # (n,) 1/p
    units: Integers | None  # (n,)

    def coarser(self, n_periods: int) -> TimedRows:
        """The same with adjacent periods taken together."""
        return replace(self, labels=self.labels * n_periods // self.n_periods, n_periods=n_periods)

    def take(self, rows: Bools) -> TimedRows:
        """These rows alone, periods numbered as before."""
        units = None if self.units is None else self.units[rows]
        return replace(
            self,
            labels=self.labels[rows],
            actions=self.actions[rows],
            outcomes=self.outcomes[rows],
            weights=self.weights[rows],
            units=units,
        )


@dataclass(frozen=True, eq=False)
class PeriodMeans:
    """Per period and action, each (P, K)."""

    rows: Integers
    means: Floats  # NaN without rows
    errors: Floats  # standard errors, clustered by unit; NaN without rows
    sizes: Floats  # effective rows; 0 without any
    influences: Floats  # (n,) of each row on the mean of its own period and action
    is_enough: Bools  # rows enough for the mean to be near normal


def weigh_periods(rows: TimedRows) -> PeriodMeans:
    """The weighted mean of every action in every period."""
    shape, n_cells = (rows.n_periods, rows.n_actions), rows.n_periods * rows.n_actions
    cells = rows.labels * rows.n_actions + rows.actions

    def add(values: Floats) -> Floats:
        return np.bincount(cells, values, n_cells).astype(np.float64)

    def add_by_action(values: Floats) -> Floats:
        return np.bincount(rows.actions, values, rows.n_actions).astype(np.float64)

    counts, w = np.bincount(cells, minlength=n_cells), rows.weights / rows.weights.max()
    total, squares = add(w), add(w * w)
    with np.errstate(divide="ignore", invalid="ignore"):
        means, sizes = add(w * rows.outcomes) / total, np.where(squares > 0, total**2 / squares, 0.0)
        factors = np.where(sizes > 1.0, sizes / (sizes - 1.0), 1.0)
        apart = rows.outcomes - means[cells]
        influences = np.sqrt(factors[cells]) * w * apart / total[cells]
        scatters = add_by_action(w * apart**2) / add_by_action(w)
        common = np.tile(scatters, rows.n_periods) * factors / sizes
        own = (
            add(influences**2)
            if rows.units is None
            else _add_squares_of_units(influences, cells, rows.units, n_cells)
        )
        errors = np.where(counts > 0, np.sqrt(np.maximum(own, common)), np.nan)
        pulled = w * apart
        kurtosis = add_by_action(np.ones(cells.size)) * add_by_action(pulled**4) / add_by_action(pulled**2) ** 2
    needed = _TAILS * np.nan_to_num(kurtosis, nan=np.inf)
    is_enough = (sizes.reshape(shape) >= _FEWEST_WORTH) & (counts.reshape(shape) >= needed)
    return PeriodMeans(
        counts.reshape(shape),
        means.reshape(shape),
        errors.reshape(shape),
        sizes.reshape(shape),
        influences,
        is_enough,
    )


def _add_squares_of_units(influences: Floats, cells: Integers, units: Integers, n_cells: int) -> Floats:
    """The sum of squares of what each unit has to do with a cell, (cells,)."""
    n_units = int(units.max()) + 1
    pairs, place = np.unique(cells * n_units + units, return_inverse=True)
    sums = np.bincount(place, influences, pairs.size)
    return np.bincount(pairs // n_units, sums**2, n_cells).astype(np.float64)


def compare_contrast(rows: TimedRows, action: int) -> float:
    """The chance that an action's difference to the others moves so much over the periods if no action's mean did.

    Each of the others counts by its share of all rows, in every period alike.
    """
    level = _around_means(rows)
    is_other = rows.actions != action
    pair = replace(
        level,
        actions=is_other.astype(np.int64),
        n_actions=2,
        weights=np.where(is_other, level.weights, rows.weights),
    )
    best: tuple[TimedRows, PeriodMeans, Integers] | None = None
    for n_periods in (rows.n_periods, *(n for n in _COARSER if n < rows.n_periods)):
        merged = pair.coarser(n_periods)
        means = weigh_periods(merged)
        judged = np.flatnonzero(means.is_enough.all(axis=1))
        if best is None or judged.size == n_periods or judged.size > best[2].size:
            best = merged, means, judged
        if judged.size == n_periods:  # nothing is gained by fewer
            break
    assert best is not None
    merged, means, judged = best
    if judged.size < 2:
        return 1.0
    values, variances = means.means[judged, 0] - means.means[judged, 1], (means.errors[judged] ** 2).sum(axis=1)
    freedom = float(means.sizes[judged].sum()) - 2.0 * judged.size
    signed = np.where(merged.actions == 0, 1.0, -1.0) * means.influences
    return _compare(values, variances, signed, merged, judged, freedom)


def compare_level(rows: TimedRows) -> tuple[Floats, Floats, float]:
    """How far outcomes of each period are from their action's mean, (P,), the standard errors, and the chance that
    they move so much if no action's mean did. Each action counts by its share of all rows."""
    level = replace(_around_means(rows), actions=np.zeros_like(rows.actions), n_actions=1)
    means = weigh_periods(level)
    judged = np.flatnonzero(means.is_enough[:, 0])
    values, errors = means.means[:, 0], means.errors[:, 0]
    if judged.size < 2:
        return values, errors, 1.0
    freedom = float(means.sizes[judged].sum()) - judged.size
    p_value = _compare(values[judged], errors[judged] ** 2, means.influences, level, judged, freedom)
    return values, errors, p_value


def _around_means(rows: TimedRows) -> TimedRows:
    """Outcomes less their action's mean, weighted so that each action counts by its share of all rows."""
    shares = np.bincount(rows.actions, minlength=rows.n_actions) / rows.actions.size
    sums = np.bincount(rows.actions, rows.weights, rows.n_actions)
    with np.errstate(divide="ignore", invalid="ignore"):
        middles = np.bincount(rows.actions, rows.weights * rows.outcomes, rows.n_actions) / sums
    return replace(rows, outcomes=rows.outcomes - middles[rows.actions], weights=rows.weights * shares[rows.actions])


def _compare(
    values: Floats, variances: Floats, influences: Floats, rows: TimedRows, judged: Integers, freedom: float
) -> float:
    """The chance of values so far from one common value, (J,), given their variances and, between periods that share
    units, covariances: the smaller of that of their scatter and of their trend over the periods, twice."""
    from headstart.special import fdtrc

    covariance = np.diag(variances)
    if rows.units is not None:
        place = np.full(rows.n_periods, -1)
        place[judged] = np.arange(judged.size)
        kept = place[rows.labels] >= 0
        names, units = np.unique(rows.units[kept], return_inverse=True)
        freedom = min(freedom, float(names.size - 1))
        cells = place[rows.labels[kept]] * names.size + units
        sums = np.bincount(cells, influences[kept], judged.size * names.size).reshape(judged.size, names.size)
        together = sums @ sums.T
        covariance = together + np.diag(np.maximum(variances - np.diag(together), 0.0))
    if not (np.isfinite(covariance).all() and (np.diag(covariance) > 0.0).all()) or freedom < 1.0:
        return 1.0
    n, scale = judged.size - 1, 1.0
    if rows.units is not None:  # a covariance of few units: Hotelling's T squared
        scale, freedom = (freedom - n + 1.0) / freedom, freedom - n + 1.0
    if freedom < 1.0:
        return 1.0
    precision = np.linalg.pinv(covariance, hermitian=True)
    apart = values - float(precision.sum(axis=0) @ values) / float(precision.sum())
    ramp = judged - float(precision.sum(axis=0) @ judged) / float(precision.sum())
    scatter = scale * float(apart @ precision @ apart)
    trend = scale * float(ramp @ precision @ apart) ** 2 / float(ramp @ precision @ ramp)
    return min(1.0, 2.0 * min(float(fdtrc(n, freedom, scatter / n)), float(fdtrc(1, freedom, trend))))


def is_missing_by_chance(rows: float, share_of_time: float, n_chosen: float) -> float:
    """The chance that rows which might be of any time all lie outside a share of it: one of `n_chosen` shares."""
    return float(min(1.0, n_chosen * (1.0 - share_of_time) ** rows))
