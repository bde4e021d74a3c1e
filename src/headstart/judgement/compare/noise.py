"""How sure a mean over shuffles of one log is.

A row bears on it in two ways. It is one of the terms that the mean is made of: its influence is what it contributed
over all shuffles, centred, and the sum of squared influences is known precisely. And it taught the policies
something, so that they chose otherwise. For this S more logs are made by drawing rows with replacement (bootstrap),
each then gone through in 3 shuffles, and in each run the choices are valued by one fixed regression g of all rows, as
the gain over the actions that the log shows: g has no outcome's noise in it, so that few runs tell how choices differ
from log to log. With T the mean outcome, the variance is

    sum of squared influences + 2 cov(g, T) - var(g) + W_g / S,

the middle terms being between logs (what shuffles do to them, a third of what is seen within logs, taken off) and W_g
the variance of g between shuffles of one log. It is var(T - g) + 2 cov(g, T - g) + var(g), the first term known from
the influences, and never taken for less than them: few logs do not know a negative covariance well. Where rows belong
to units (the visits of one user), units are drawn and influences are added up within a unit before they are squared:
rows of one unit are not independent.

Where actions are rare, errors have a long side. A log whose rows of a rare action had no luck says both that it is
worth little and, as policies do not choose it then, that little depends on it; were it better than it looked, they
would choose it. Bootstrap logs in which its rows have more luck show what then: T of these logs, above and below
their mean, gives a deviation for either side (`sides`), and an interval reaches as far on a side as the larger of the
two errors says.
"""

from __future__ import annotations

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.simulation.rejection import Life

REPEATS = 3  # shuffles of each bootstrap log


class LifeTally:
    """What the runs of one policy add up to."""

    def __init__(self, n_rows: int, shuffles: int, checkpoints: Integers) -> None:
        self.shuffles, self._checkpoints = shuffles, checkpoints
        n_runs = (1 + REPEATS) * shuffles
        self.means, self.gains = np.empty(n_runs), np.empty(n_runs)
        self.accepted, self.lent, self.again, self.counted = (np.empty(n_runs) for _ in range(4))
        self.curves = np.empty((shuffles, checkpoints.size))
        self._weights, self._worths = np.zeros(n_rows), np.zeros(n_rows)
        self.seconds = 0.0

    def add(self, run: int, life: Life, outcomes: Floats, gain: float, seconds: float) -> None:
        """`gain` is what the choices are worth by a fixed regression."""
        curve = life.curve(outcomes)
        rows, terms, weights = life.contributions(outcomes)
        self.means[run], self.gains[run], self.accepted[run] = curve[-1], gain, curve.size
        self.lent[run], self.again[run], self.counted[run] = life.n_lent, life.n_again, rows.size
        self.seconds += seconds
        if run >= self.shuffles:
            return
        self.curves[run] = curve[np.minimum(self._checkpoints, curve.size) - 1]
        # No row comes twice in a shuffle.
        shares = weights / (weights.sum() * self.shuffles)
        self._weights[rows] += shares
        self._worths[rows] += terms * shares

    @property
    def mean(self) -> float:
        return float(self.means[: self.shuffles].mean())

    def influences(self) -> Floats:
        """What each row moved the mean by, (n,)."""
        influences: Floats = self._worths - self.mean * self._weights
        return influences


def standard_error(
    means: Floats, gains: Floats, influences: Floats, shuffles: int, units: Integers | None = None
) -> float:
    """Of the mean over shuffles: of means and gains, the log's own shuffles come first, then the bootstrap logs'."""
    if units is not None:
        influences = np.bincount(units, influences).astype(np.float64)
    own, others = gains[:shuffles], gains[shuffles:].reshape(shuffles, REPEATS)
    outcomes = means[shuffles:].reshape(shuffles, REPEATS)
    of_shuffle = (((own - own.mean()) ** 2).sum() + _within(others, others)) / (3 * shuffles - 1)  # W_g
    between = _between(others, others) - of_shuffle / REPEATS
    shared = _between(others, outcomes) - _within(others, outcomes) / (2 * shuffles) / REPEATS
    direct = float(influences @ influences)
    return float(np.sqrt(max(direct, direct + 2.0 * shared - between + of_shuffle / shuffles)))


def sides(means: Floats, shuffles: int) -> tuple[float, float]:
    """The deviations of the mean over shuffles, below and above, from the mean outcomes of the bootstrap logs alone.

    Twice the sum of squares on a side, over S - 1; what 3 shuffles of a log leave to chance beyond S of them is taken
    off.
    """
    outcomes = means[shuffles:].reshape(shuffles, REPEATS)
    chance = _within(outcomes, outcomes) / (2 * shuffles) * (1.0 / REPEATS - 1.0 / shuffles)
    apart = outcomes.mean(axis=1) - outcomes.mean()
    parts = np.minimum(apart, 0.0), np.maximum(apart, 0.0)
    below, above = (2.0 * float(part @ part) / (shuffles - 1) for part in parts)
    return float(np.sqrt(max(below - chance, 0.0))), float(np.sqrt(max(above - chance, 0.0)))


def _within(one: Floats, other: Floats) -> float:
    """Sum of products of two quantities around the mean of their log, (logs, REPEATS) each."""
    return float(((one - one.mean(axis=1, keepdims=True)) * (other - other.mean(axis=1, keepdims=True))).sum())


def _between(one: Floats, other: Floats) -> float:
    """The covariance of two quantities' means per log."""
    return float(np.cov(one.mean(axis=1), other.mean(axis=1))[0, 1])
