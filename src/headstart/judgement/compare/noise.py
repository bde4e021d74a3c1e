"""How sure a mean over shuffles of one log is.

It has two sources of noise: another shuffle of the same rows (variance W, seen between the shuffles) and other rows
(variance D, which no shuffle shows). So S more logs are made by drawing rows with replacement (bootstrap), each then
gone through in 3 shuffles: the variance of their means estimates D + W / 3, that within them W. The mean of the log's
own S shuffles then has variance D + W / S. It is never taken smaller than the sum over rows of squared influences, an
influence being what a row contributed to the mean over all shuffles, centred: that part of it is known precisely, but
knows nothing of what the row taught the policy.
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
        self.means = np.empty((1 + REPEATS) * shuffles)
        self.accepted = np.empty(self.means.size)
        self.curves = np.empty((shuffles, checkpoints.size))
        self._weights, self._worths = np.zeros(n_rows), np.zeros(n_rows)
        self.seconds = 0.0

    def add(self, run: int, life: Life, outcomes: Floats, seconds: float) -> None:
        curve = life.curve(outcomes)
        self.means[run], self.accepted[run] = curve[-1], curve.size
        self.seconds += seconds
        if run >= self.shuffles:
            return
        self.curves[run] = curve[np.minimum(self._checkpoints, curve.size) - 1]
        rows, terms = life.contributions(outcomes)  # no row comes twice in a shuffle
        self._weights[rows] += 1.0 / (rows.size * self.shuffles)
        self._worths[rows] += terms / (rows.size * self.shuffles)

    @property
    def mean(self) -> float:
        return float(self.means[: self.shuffles].mean())

    def influences(self) -> Floats:
        """What each row moved the mean by, (n,)."""
        influences: Floats = self._worths - self.mean * self._weights
        return influences


def standard_error(means: Floats, influences: Floats, shuffles: int) -> float:
    """Of the mean over shuffles: means of the log's own shuffles first, those of the bootstrap logs after them."""
    own, others = means[:shuffles], means[shuffles:].reshape(shuffles, REPEATS)
    within = ((own - own.mean()) ** 2).sum() + ((others - others.mean(axis=1, keepdims=True)) ** 2).sum()
    of_shuffle = within / (shuffles - 1 + shuffles * (REPEATS - 1))  # W
    of_rows = max(others.mean(axis=1).var(ddof=1) - of_shuffle / REPEATS, 0.0)  # D
    return float(np.sqrt(max(of_rows + of_shuffle / shuffles, float((influences**2).sum()))))
