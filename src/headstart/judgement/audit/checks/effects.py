"""The difference between two actions from rows, by weighting and doubly robust: what refutations try to upset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.arrays import Bools, Floats
from headstart.logs.log import Log

_RIDGE = 1.0  # of standardised columns, as many rows' worth
_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Effect:
    """A difference of means, its standard error, and each row's part in it (mean 0)."""

    difference: float
    standard_error: float
    influence: Floats  # (n,)


def weighted_effect(log: Log, first: int, second: int, outcomes: Floats | None = None) -> Effect:
    """sum(wy) / sum(w) of the first action minus that of the second; of other outcomes if given."""
    assert log.propensities is not None
    y = log.outcomes if outcomes is None else outcomes
    n = len(log)
    difference, influence = 0.0, np.zeros(n)
    for action, sign in ((first, 1.0), (second, -1.0)):
        w = np.where(log.actions == action, 1.0 / log.propensities, 0.0)
        mean = float(w @ y / w.sum())
        difference += sign * mean
        influence += sign * n * w * (y - mean) / w.sum()
    return Effect(difference, _error_of(influence), influence)


def robust_effect(log: Log, first: int, second: int, contexts: Floats | None = None) -> Effect:
    """The doubly robust difference: cross-fitted ridge regressions, corrected by weighted residuals.

    `contexts` in place of the log's changes what the regressions see, and nothing else.
    """
    assert log.propensities is not None
    seen = log.contexts if contexts is None else contexts
    values = np.zeros(len(log))
    for action, sign in ((first, 1.0), (second, -1.0)):
        mine = log.actions == action
        predicted = cross_predict(seen, log.outcomes, mine)
        values += sign * (predicted + np.where(mine, (log.outcomes - predicted) / log.propensities, 0.0))
    difference = float(values.mean())
    influence = values - difference
    return Effect(difference, _error_of(influence), influence)


def cross_predict(contexts: Floats, outcomes: Floats, known: Bools) -> Floats:
    """What the contexts predict in every row, by ridge regression on the known rows of the other folds."""
    n, d = contexts.shape
    folds = np.arange(n) * 7919 % _FOLDS  # rows are sorted: deal them out evenly
    predicted = np.empty(n)
    for fold in range(_FOLDS):
        inside, fitted = folds == fold, known & (folds != fold)
        if not fitted.any():
            fitted = known
        centre, level = contexts[fitted].mean(axis=0), outcomes[fitted].mean()
        spread = contexts[fitted].std(axis=0)
        scale = np.divide(1.0, spread, out=np.zeros(d), where=spread > 1e-12 * np.maximum(np.abs(centre), 1e-300))
        x = (contexts[fitted] - centre) * scale
        slopes = np.linalg.solve(x.T @ x + _RIDGE * np.eye(d), x.T @ (outcomes[fitted] - level)) if d else np.empty(0)
        predicted[inside] = level + ((contexts[inside] - centre) * scale) @ slopes
    return predicted


def _error_of(influence: Floats) -> float:
    return float(influence.std(ddof=1) / np.sqrt(influence.size)) if influence.size > 1 else float("inf")
