"""Weighted means per action and how far off they may be: the one rule that every room follows.

m = sum(w y) / sum(w) over the rows of an action (Hajek 1971), w = 1/p. It is a ratio, so a row moves it by about

    psi_i = f w_i (y_i - m) / sum(w),   f^2 = N / (N - 1),   N = sum(w)^2 / sum(w^2),

its influence, and the standard error is the root of the influences' sum of squares (linearisation: Cochran 1977,
6.4). Influences of different means may be added and subtracted row by row before they are squared, which gives the
error of a difference; summed within a unit first, they give an error by units, for rows that depend on each other.

The factor f makes up for residuals that are taken around the rows' own mean. N is Kish's (1965) effective size: with
equal weights it is the number of rows and the error is s / sqrt(n) exactly, and rows without weight do not count. n
in its place is the survey convention, and too small: with weights that do not know the outcomes, the sum of squares
is short by a factor of 1 - 2 sum(v^3) / sum(v^2) + sum(v^2), v = w / sum(w), which is below (N - 1) / N, and that is
below (n - 1) / n. What even N leaves out is what Student's quantile with N - 1 degrees of freedom is for.

The variance of one outcome is the weighted one times the same f^2; with equal weights s^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.summary import Summary


class HasWeightedSums(Protocol):
    """Sums over the rows of each action, (K,) each, as in `ActionSums`: `wwy` is that of w * w * y."""

    @property
    def w(self) -> Floats: ...
    @property
    def wy(self) -> Floats: ...
    @property
    def wyy(self) -> Floats: ...
    @property
    def ww(self) -> Floats: ...
    @property
    def wwy(self) -> Floats: ...
    @property
    def wwyy(self) -> Floats: ...


class WeightedSums(NamedTuple):
    """These sums and no others."""

    w: Floats
    wy: Floats
    wyy: Floats
    ww: Floats
    wwy: Floats
    wwyy: Floats


def unweighted(n: Floats, y: Floats, yy: Floats) -> WeightedSums:
    """Every row with weight 1: from the number of rows, the sum of outcomes and that of their squares."""
    return WeightedSums(n, y, yy, n, y, yy)


@dataclass(frozen=True, eq=False)
class WeightedMeans:
    """Per action, each (K,)."""

    means: Floats  # NaN for an action without rows
    standard_errors: Floats  # infinite where N is not above 1: one row does not know its own error
    sizes: Floats  # N, Kish's; 0 without rows
    scatters: Floats  # sum(w (y - m)^2) / sum(w): the variance as the rows show it; 0 without rows

    @property
    def variances(self) -> Floats:
        """Of one outcome, times N / (N - 1); NaN where N is not above 1."""
        return self.scatters * _factors(self.sizes)

    @property
    def summary(self) -> Summary:
        """The same for those who start from a log."""
        return Summary(self.means, self.standard_errors, self.variances)


def weigh_sums(sums: HasWeightedSums) -> WeightedMeans:
    """From sums, so that rows and tables of any size give the same."""
    means, sizes = _divide(sums.w, sums.wy, sums.ww)
    with np.errstate(divide="ignore", invalid="ignore"):
        scatters = np.maximum(sums.wyy / sums.w - means**2, 0.0)
        squares = np.maximum(sums.wwyy - 2.0 * means * sums.wwy + means**2 * sums.ww, 0.0)
        errors = np.sqrt(squares * _factors(sizes)) / sums.w
    return WeightedMeans(means, np.where(sizes > 1.0, errors, np.inf), sizes, np.where(sizes > 0.0, scatters, 0.0))


def weigh_rows(actions: Integers, outcomes: Floats, weights: Floats, n_actions: int) -> WeightedMeans:
    """From rows in memory: deviations are taken before they are squared, so that no digits are lost."""
    weights = weights / weights.max()  # the answers do not change, and no square overflows
    total = _add(actions, weights, n_actions)
    squares = _add(actions, weights * weights, n_actions)
    means, sizes = _divide(total, _add(actions, weights * outcomes, n_actions), squares)
    apart = outcomes - means[actions]
    scatter = _add(actions, weights * apart * apart, n_actions)
    spread = _add(actions, (weights * apart) ** 2, n_actions)
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.sqrt(spread * _factors(sizes)) / total
    scatters = np.divide(scatter, total, out=np.zeros(n_actions), where=squares > 0)
    return WeightedMeans(means, np.where(sizes > 1.0, errors, np.inf), sizes, scatters)


class Ratio(NamedTuple):
    """A sum of terms over a sum of divisors, and what each row has to do with it."""

    value: float
    influence: Floats  # (n,); infinite where the divisors are worth no more than one row

    @property
    def standard_error(self) -> float:
        return root_sum_square(self.influence)


def weigh_ratio(terms: Floats, divisors: Floats) -> Ratio:
    """sum(terms) / sum(divisors) over all rows: the rule for any mean of rows.

    Divisors w 1{A = a} and terms w y 1{A = a} are an action's weighted mean; divisors 1 are a plain mean of terms.
    """
    total = float(divisors.sum())
    value = float(terms.sum()) / total
    size = kish_size(divisors)
    if size <= 1.0:
        return Ratio(value, np.full(terms.size, np.inf))
    return Ratio(value, (terms - value * divisors) * (math.sqrt(size / (size - 1.0)) / total))


def root_sum_square(influence: Floats, units: Integers | None = None) -> float:
    """The standard error of an estimate, or of a difference of estimates, by its rows' influences.

    Rows of one unit are summed before they are squared, times G / (G - 1) for G units (Liang and Zeger 1986).
    """
    if units is not None:
        added = sum_units(influence, units)
        return math.sqrt(float(added @ added) * added.size / (added.size - 1.0)) if added.size > 1 else math.inf
    return float(np.sqrt(influence @ influence))


def sum_units(values: Floats, units: Integers) -> Floats:
    """The sum of the values of each unit's rows, in the order of the units' numbers."""
    sums: Floats = np.bincount(np.unique(units, return_inverse=True)[1], values).astype(np.float64, copy=False)
    return sums


def kish_size(weights: Floats) -> float:
    """(sum w)^2 / sum w^2: rows of equal weight that would be as noisy; 0 without weight."""
    total, squares = float(weights.sum()), float(weights @ weights)
    return float(_whole(np.asarray(total * total / squares))) if squares > 0.0 else 0.0


def _factors(sizes: Floats) -> Floats:
    """f^2 = N / (N - 1); NaN where N is not above 1."""
    return np.divide(sizes, sizes - 1.0, out=np.full(sizes.shape, np.nan), where=sizes > 1.0)


def _add(actions: Integers, values: Floats, n_actions: int) -> Floats:
    """Sums of values per action."""
    return np.bincount(actions, values, n_actions).astype(np.float64, copy=False)


def _divide(total: Floats, sums: Floats, squares: Floats) -> tuple[Floats, Floats]:
    """Means and effective sizes from the sums of w, w y and w^2."""
    n_actions = total.size
    is_shown = squares > 0
    means = np.divide(sums, total, out=np.full(n_actions, np.nan), where=is_shown)
    return means, _whole(np.divide(total * total, squares, out=np.zeros(n_actions), where=is_shown))


def _whole(sizes: Floats) -> Floats:
    """Equal weights give a whole number, which rounding must not push below itself: floor would lose a play."""
    whole = np.rint(sizes)
    return np.where(np.abs(sizes - whole) <= 1e-9 * sizes, whole, sizes)
