"""Doubly robust means: a regression corrected by weighted residuals (Robins, Rotnitzky and Zhao 1994).

Right if the propensities or the regression are right. Two forms:

- `robust_terms`: per row and action m_a(x_i) + 1{a_i = a} w_i (y_i - m_a(x_i)), whose averages are means, and whose
  averages with a policy's chances are the policy's value.
- `robust_means`: the same with weights that are normalised, cut and calibrated per action, and with errors that cover
  with few rows (`summary`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.intervals import MeanSpread, OutcomeShape, mean_intervals, shape_of_rows
from headstart.estimates.missed import missed_by
from headstart.estimates.population import find_shift
from headstart.estimates.regression import Regressor, predict_others
from headstart.estimates.ridge import standardise
from headstart.estimates.shares import move_beyond_chance, share_rows
from headstart.estimates.summary import CorrectedMeans, Summary, correct_means
from headstart.logs.log import Log
from headstart.randomness import RNG


def robust_terms(actions: Integers, outcomes: Floats, weights: Floats, predicted: Floats) -> Floats:
    """What each row says of each action, (n, K): the prediction, and in its own column the weighted residual too."""
    terms, rows = predicted.copy(), np.arange(actions.size)
    residuals = outcomes - terms[rows, actions]
    terms[rows, actions] += weights * residuals
    return terms


class RobustMeans(NamedTuple):
    """Means per action with their errors, and what their intervals need besides."""

    corrected: CorrectedMeans
    left: OutcomeShape  # of the residuals; `is_binary`: of the outcomes
    how: str  # the regression of the outcome
    doubtful: tuple[int, ...] = ()  # actions whose intervals may be too short (`missed`)

    @property
    def summary(self) -> Summary:
        return replace(self.corrected.summary, doubtful=self.doubtful)

    def intervals(self, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends, (K,) each, by `estimates.intervals`; infinite for an action never shown."""
        found = self.corrected
        means = found.summary.means
        is_known = np.isfinite(means)
        scatters = np.clip(means * (1.0 - means), 0.0, None) if self.left.is_binary else self._scatters()
        spread = MeanSpread(means, found.errors, found.sizes, scatters, found.tilts)
        low, high = mean_intervals(spread, self.left, self.left.skewnesses, level)
        return np.where(is_known, low, -np.inf), np.where(is_known, high, np.inf)

    def _scatters(self) -> Floats:
        """Of what is averaged: the part of a squared error that is residuals', at most all of it."""
        return np.minimum(self.left.variance, self.corrected.errors**2 * self.corrected.sizes)


def robust_means(
    log: Log, estimator: Regressor | None = None, users: Floats | None = None, n_folds: int = 5, rng: RNG = 0
) -> RobustMeans:
    """The means per action of a log with propensities; for users with these contexts, (m, d), if they are given, as
    far as these differ from the log's by more than noise."""
    actions, outcomes, k = log.actions, log.outcomes, log.n_actions
    assert log.propensities is not None
    shift = 0.0 if users is None else find_shift(log.contexts, users, log.units)
    users = users if shift > 0.0 else None
    standard = standardise(log.contexts, *([] if users is None else [users]))
    tilt = None if users is None else shift * standard[1].mean(axis=0)
    shares, moves = share_rows(actions, k, 1.0 / log.propensities, standard[0], tilt)
    predicted = predict_others(log, estimator, n_folds, rng, users)
    inside, outside = predicted.inside, predicted.outside
    missed = np.zeros(k)
    if outside is not None:
        missed = (1.0 - shift) * (outside.mean(axis=0) - inside.mean(axis=0))
        outside = inside.mean(axis=0) + shift * (outside - inside.mean(axis=0))
    residuals = outcomes - inside[np.arange(actions.size), actions]
    allowances: Floats = np.hypot(move_beyond_chance(actions, moves * residuals, k, log.units), missed)
    doubtful: tuple[int, ...] = ()
    if users is None and estimator is None:
        curves = missed_by(log, inside, shares)
        allowances, doubtful = np.hypot(allowances, curves.allowances), curves.doubtful
    corrected = correct_means(actions, outcomes, shares, inside, outside, allowances, log.units)
    return RobustMeans(corrected, shape_left(actions, outcomes, residuals, k), predicted.how, doubtful)


def shape_left(actions: Integers, outcomes: Floats, residuals: Floats, n_actions: int) -> OutcomeShape:
    """Of the residuals; `is_binary`: of the outcomes."""
    left = shape_of_rows(actions, residuals, n_actions)
    return left._replace(is_binary=bool(np.isin(outcomes, (0.0, 1.0)).all()))
