"""Intervals of means: the one rule for what a log's weighted outcomes may be off by.

Mean plus and minus Student's quantile times the standard error holds the truth too seldom where outcomes are rare
successes (no success: an interval of width 0) or skewed (revenue, mostly 0: 70 to 88 % of 95 % intervals), so:

- Outcomes that are all 0 or 1: Wilson's (1927) interval with the number of outcomes that the mean is worth, which is
  m (1 - m) / s.e.^2, but never more than Kish's effective size N of a mean that has scattered as much (Dean and
  Pagano 2015 have the first for surveys; few successes do not know their own error: hence the second).
- Other outcomes: Hall's (1992) transformation of Student's t, which undoes the skewness of the mean,

      g(T) = T + u T^2 / 3 + u^2 T^3 / 27 + u / 6,    u = skewness * sum(v^3) / sum(v^2)^(3/2),

  v the rows' shares of the mean. The skewness is that of the rows, drawn towards that of the whole log as if that
  were 30 rows more, and the variance likewise, as if 2 (`summary.PRIOR_ROWS`). Skewness is taken of the outcomes and
  not of the influences: an outcome of much weight moves the mean and its own influence's skewness together, which
  costs more than it mends.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.summary import PRIOR_ROWS

_SKEWED_ROWS = 30.0  # that the whole log's skewness counts for
_LOST = 1e-9  # a variance below this part of the mean square is rounding


class HasOutcomeSums(Protocol):
    """Rows, sums of outcomes, of their squares and cubes and their extremes per action, (K,) each."""

    @property
    def n(self) -> Floats: ...
    @property
    def y(self) -> Floats: ...
    @property
    def yy(self) -> Floats: ...
    @property
    def yyy(self) -> Floats: ...
    @property
    def lowest(self) -> Floats: ...
    @property
    def highest(self) -> Floats: ...


class OutcomeShape(NamedTuple):
    """How a log's outcomes lie around the mean of their action."""

    is_binary: bool  # every outcome is 0 or 1
    variance: float  # of all rows
    skewness: float  # of all rows
    skewnesses: Floats  # (K,) of each action's


class MeanSpread(NamedTuple):
    """What an interval needs of means, each (m,)."""

    means: Floats
    errors: Floats  # standard errors
    sizes: Floats  # Kish's N
    scatters: Floats  # weighted variances of what was averaged
    tilts: Floats  # sum(v^3) / sum(v^2)^(3/2), v the rows' shares; 1 / sqrt(n) for equal ones


def shape_of_sums(sums: HasOutcomeSums) -> OutcomeShape:
    """From sums, so that rows and tables of any size give the same."""
    with np.errstate(divide="ignore", invalid="ignore"):
        means, squares = sums.y / sums.n, sums.yy / sums.n
        variances = squares - means**2
        cubes = sums.yyy / sums.n - 3.0 * means * squares + 2.0 * means**3
        is_lost = ~(variances > _LOST * squares) | ~np.isfinite(cubes)
        variances, cubes = np.where(is_lost, 0.0, variances), np.where(is_lost, 0.0, cubes)
        skewnesses = np.where(is_lost, 0.0, cubes / variances**1.5)
    is_inside = np.nanmin(sums.lowest) >= 0.0 and np.nanmax(sums.highest) <= 1.0
    is_binary = bool(is_inside and np.allclose(sums.y, sums.yy, rtol=1e-12, atol=0.0))
    return _pool(sums.n, variances, cubes, skewnesses, is_binary)


def shape_of_rows(actions: Integers, outcomes: Floats, n_actions: int) -> OutcomeShape:
    """From rows in memory: deviations are taken before they are cubed, so that no digits are lost."""
    n = np.bincount(actions, minlength=n_actions).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = outcomes - (np.bincount(actions, outcomes, n_actions) / n)[actions]
        scale = float(np.abs(apart).max()) or 1.0  # cubes of large outcomes overflow
        apart = apart / scale
        variances = np.nan_to_num(np.bincount(actions, apart**2, n_actions) / n)
        cubes = np.nan_to_num(np.bincount(actions, apart**3, n_actions) / n)
        skewnesses = np.nan_to_num(cubes / variances**1.5)
    is_binary = bool(np.isin(outcomes, (0.0, 1.0)).all())
    found = _pool(n, variances, cubes, skewnesses, is_binary)
    return found._replace(variance=found.variance * scale * scale)


def _pool(n: Floats, variances: Floats, cubes: Floats, skewnesses: Floats, is_binary: bool) -> OutcomeShape:
    total, freedom = float(n.sum()), max(float(n.sum() - np.count_nonzero(n)), 1.0)
    spread, cube = float(n @ variances), float(n @ cubes)
    skewness = (cube / total) / (spread / total) ** 1.5 if spread > 0.0 else 0.0
    return OutcomeShape(is_binary, spread / freedom, skewness, skewnesses)


def skewness_of(values: Floats, weights: Floats) -> float:
    """The weighted third moment over the weighted variance to the power 3/2; 0 where nothing varies."""
    apart = values - (weights @ values) / weights.sum()
    scale = float(np.abs(apart).max()) or 1.0
    apart = apart / scale
    spread = float(weights @ apart**2 / weights.sum())
    return float(weights @ apart**3 / weights.sum()) / spread**1.5 if spread > 0.0 else 0.0


def tilt_of(shares: Floats) -> float:
    """sum(v^3) / sum(v^2)^(3/2) of shares or weights of any scale."""
    return float((shares**3).sum() / (shares @ shares) ** 1.5)


def mean_intervals(found: MeanSpread, shape: OutcomeShape, skewnesses: Floats, level: float) -> tuple[Floats, Floats]:
    """Lower and upper ends at this level, (m,) each; `skewnesses` are those of the rows of each mean."""
    from headstart.special import ndtri, stdtrit

    means, sizes = found.means, np.maximum(found.sizes, 1e-9)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        pooled = (sizes * found.errors**2 + PRIOR_ROWS * shape.variance / sizes) / (sizes + PRIOR_ROWS)
        errors = np.sqrt(pooled)
        skewness = (sizes * skewnesses + _SKEWED_ROWS * shape.skewness) / (sizes + _SKEWED_ROWS)
        # What is averaged may scatter less than outcomes do (residuals of a regression): so does its skewness count.
        u = skewness * found.tilts * np.clip(found.scatters / sizes / pooled, 0.0, 1.0) ** 1.5
        quantiles = stdtrit(np.maximum(sizes - 1.0, 0.0) + PRIOR_ROWS, 0.5 + level / 2.0)
        low, high = means - errors * undo_skewness(quantiles, u), means - errors * undo_skewness(-quantiles, u)
        if shape.is_binary:
            is_outside = (means < 0.0) | (means > 1.0)  # weighted terms and corrected predictions may be
            nearest = found._replace(means=np.clip(means, 0.0, 1.0))
            of_wilson = _wilson(nearest, float(ndtri(0.5 + level / 2.0)))
            low = np.where(is_outside, np.minimum(of_wilson[0], np.clip(low, 0.0, 1.0)), of_wilson[0])
            high = np.where(is_outside, np.maximum(of_wilson[1], np.clip(high, 0.0, 1.0)), of_wilson[1])
    return low, high


def undo_skewness(quantiles: Floats, u: Floats) -> Floats:
    """g^-1: the value of T whose transformed value is this quantile."""
    safe = np.where(np.abs(u) < 1e-8, 1.0, u)
    return np.where(np.abs(u) < 1e-8, quantiles, 3.0 / safe * (np.cbrt(1.0 + safe * (quantiles - safe / 6.0)) - 1.0))


def _wilson(found: MeanSpread, quantile: float) -> tuple[Floats, Floats]:
    """Wilson's interval with the sample size that the mean is worth."""
    means, sizes = found.means, np.maximum(found.sizes, 1e-9)
    worth = means * (1.0 - means) / np.maximum(found.errors**2, found.scatters / sizes)
    n = np.where(np.isfinite(worth) & (worth > 0.0), worth, sizes)
    q = quantile**2 / n
    centre = (means + q / 2.0) / (1.0 + q)
    half = np.sqrt(q * means * (1.0 - means) + q**2 / 4.0) / (1.0 + q)
    return np.maximum(0.0, centre - half), np.minimum(1.0, centre + half)
