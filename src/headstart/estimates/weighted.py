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
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Floats, Integers
from headstart.estimates.summary import Summary
from headstart.kernels import Entry, compiled, kernel
from headstart.kernels.arrays import largest


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
        return np.array([scatter * _factor(size) for scatter, size in zip(self.scatters, self.sizes, strict=True)])

    @property
    def summary(self) -> Summary:
        """The same for those who start from a log."""
        return Summary(self.means, self.standard_errors, self.variances)


def weigh_sums(sums: HasWeightedSums) -> WeightedMeans:
    """From sums, so that rows and tables of any size give the same."""
    out = np.empty((4, sums.w.size))
    plain = _as_own(sums.w), _as_own(sums.wy), _as_own(sums.wyy)
    weighted = _as_own(sums.ww), _as_own(sums.wwy), _as_own(sums.wwyy)
    compiled(_fill_from_sums, allocates=False)(*plain, *weighted, out)
    return WeightedMeans(*out)


def weigh_rows(actions: Integers, outcomes: Floats, weights: Floats, n_actions: int) -> WeightedMeans:
    """From rows in memory: deviations are taken before they are squared, so that no digits are lost."""
    out = np.empty((4, n_actions))
    given = _as_own(actions, np.int64), _as_own(outcomes), _as_own(weights)
    _FROM_ROWS(*given, np.zeros((5, n_actions)), out)
    return WeightedMeans(*out)


def _as_own(values: NDArray[np.generic], kind: type = np.float64) -> NDArray[Any]:
    """The values in one piece and as if they could not be written to: one compiled function does for all callers."""
    own: NDArray[Any] = np.ascontiguousarray(values, dtype=kind)
    if own.flags.writeable:
        own = own.view()
        own.setflags(write=False)
    return own


def _fill_from_sums(w: Floats, wy: Floats, wyy: Floats, ww: Floats, wwy: Floats, wwyy: Floats, out: Floats) -> None:
    means, errors, sizes, scatters = out[0], out[1], out[2], out[3]
    for a in range(w.size):
        means[a], sizes[a] = _mean(w[a], wy[a], ww[a]), _size(w[a], ww[a])
        m = means[a]
        scatters[a] = _no_less_than_0(wyy[a] / w[a] - m * m) if sizes[a] > 0.0 else 0.0
        errors[a] = _error(w[a], _no_less_than_0(wwyy[a] - 2.0 * m * wwy[a] + m * m * ww[a]), sizes[a])


def _fill_from_rows(actions: Integers, outcomes: Floats, weights: Floats, sums: Floats, out: Floats) -> None:
    """Weights over the largest of them: the answers do not change, and no square overflows."""
    top = largest(weights) if weights.size else 1.0
    w, wy, ww, scatter, spread = sums[0], sums[1], sums[2], sums[3], sums[4]
    means, errors, sizes, scatters = out[0], out[1], out[2], out[3]
    for i in range(actions.size):
        a, weight = actions[i], weights[i] / top
        w[a] += weight
        wy[a] += weight * outcomes[i]
        ww[a] += weight * weight
    for a in range(w.size):
        means[a], sizes[a] = _mean(w[a], wy[a], ww[a]), _size(w[a], ww[a])
    for i in range(actions.size):
        a = actions[i]
        apart = outcomes[i] - means[a]
        moved = weights[i] / top * apart
        scatter[a] += moved * apart
        spread[a] += moved * moved
    for a in range(w.size):
        scatters[a] = scatter[a] / w[a] if ww[a] > 0.0 else 0.0
        errors[a] = _error(w[a], spread[a], sizes[a])


_FROM_ROWS = Entry(_fill_from_rows, allocates=False, keeps_gil=False)


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
    return float(_size(float(weights.sum()), float(weights @ weights)))


@kernel
def _mean(total: float, sums: float, squares: float) -> float:
    """From the sums of w, w y and w^2; NaN without rows."""
    return sums / total if squares > 0.0 else math.nan


@kernel
def _size(total: float, squares: float) -> float:
    """N from the sums of w and w^2; 0 without weight.

    Equal weights give a whole number, which rounding must not push below itself: floor would lose a play.
    """
    if not squares > 0.0:
        return 0.0
    size = total * total / squares
    whole = float(np.rint(size))
    return whole if abs(size - whole) <= 1e-9 * size else size


@kernel
def _factor(size: float) -> float:
    """f^2 = N / (N - 1); NaN where N is not above 1."""
    return size / (size - 1.0) if size > 1.0 else math.nan


@kernel
def _error(total: float, squares: float, size: float) -> float:
    """The root of the influences' sum of squares, `squares` being that of w (y - m)."""
    return math.sqrt(squares * _factor(size)) / total if size > 1.0 else math.inf


@kernel
def _no_less_than_0(value: float) -> float:
    """What rounding made negative is 0; NaN, of sums that nobody asked for, stays NaN."""
    return 0.0 if value < 0.0 else value
