"""Calibration: of the users to whom an action was given a chance of p, did a share of p see it?"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.checks import check_whole
from headstart.errors import LogError
from headstart.logs.log import Log


@dataclass(frozen=True, eq=False)
class Calibration:
    """Predicted against observed shares, per action and bin of the predicted chance; NaN in a bin without rows."""

    action_names: tuple[Hashable, ...]
    predicted: Floats  # (K, B) mean chance
    observed: Floats  # (K, B) share of rows that took the action
    standard_errors: Floats  # (K, B) of observed - predicted, if the chances are true
    counts: Integers  # (K, B)

    @property
    def error(self) -> float:
        """Mean of |observed - predicted| over rows and actions (the expected calibration error)."""
        return self._mean(np.abs(self.observed - self.predicted))

    @property
    def error_by_chance(self) -> float:
        """What `error` would be on average if the chances were true: the mean of a normal's absolute value."""
        return self._mean(self.standard_errors * np.sqrt(2.0 / np.pi))

    def _mean(self, values: Floats) -> float:
        return float(np.nansum(values * self.counts) / self.counts.sum())


def calibration(log: Log, n_bins: int = 10) -> Calibration:
    """How well the log's propensity vectors agree with the actions taken.

    Each action's rows are cut into bins of nearly equal numbers by their chance of it; equal chances share a bin, so
    few different chances have fewer bins. Needs the chance of every action (`estimate_propensities` gives it).

    Parameters
    ----------
    log
        A log with the chance of every action in every row.
    n_bins
        At most so many for each action.

    Returns
    -------
    Calibration
        Predicted and observed shares with their errors, and rows, by action and bin, (K, n_bins) each.

    Raises
    ------
    LogError
        If the log has no propensity vectors.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(200, 2))
    >>> a = rng.integers(2, size=200)
    >>> log = hs.Log(a, x[:, 0] * a + rng.normal(size=200), x, np.full(200, 0.5))
    >>> found = hs.calibration(hs.estimate_propensities(log), n_bins=4)
    >>> found.counts.sum(axis=1)
    array([200, 200])
    """
    n_bins = check_whole("n_bins", n_bins)
    matrix = log.propensity_matrix
    if matrix is None:
        raise LogError(
            "calibration needs the chance of every action in every row: hs.estimate_propensities(log) gives them"
        )
    shape = (log.n_actions, n_bins)
    counts = np.zeros(shape, dtype=np.int64)
    predicted, observed, errors = (np.full(shape, np.nan) for _ in range(3))
    for a in range(log.n_actions):
        chances, taken = matrix[:, a], (log.actions == a).astype(np.float64)
        edges = np.unique(np.quantile(chances, np.arange(1, n_bins) / n_bins, method="inverted_cdf"))
        bins = np.searchsorted(edges, chances, side="left")  # a bin holds its upper edge
        counts[a] = np.bincount(bins, minlength=n_bins)
        full = counts[a] > 0
        size = counts[a][full]
        predicted[a, full] = np.bincount(bins, chances, n_bins)[full] / size
        observed[a, full] = np.bincount(bins, taken, n_bins)[full] / size
        variance = np.bincount(bins, np.clip(chances * (1.0 - chances), 0.0, None), n_bins)[full]
        errors[a, full] = np.sqrt(variance) / size
    return Calibration(log.action_names, predicted, observed, errors, counts)
