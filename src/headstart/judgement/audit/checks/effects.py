"""The difference between two actions from rows, by weighting and doubly robust: what refutations try to upset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.arrays import Bools, Floats
from headstart.estimates.weighted import Ratio, root_sum_square, weigh_ratio
from headstart.logs.log import Log

_RIDGE = 1.0  # of standardised columns, as many rows' worth
_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Effect:
    """A difference of means, and each row's influence on it."""

    difference: float
    influence: Floats  # (n,)

    @property
    def standard_error(self) -> float:
        return root_sum_square(self.influence)


def weighted_effect(log: Log, first: int, second: int, outcomes: Floats | None = None) -> Effect:
    """sum(wy) / sum(w) of the first action minus that of the second; of other outcomes if given."""
    assert log.propensities is not None
    y = log.outcomes if outcomes is None else outcomes
    weights = 1.0 / log.propensities
    ours, theirs = (np.where(log.actions == action, weights, 0.0) for action in (first, second))
    return _difference(weigh_ratio(ours * y, ours), weigh_ratio(theirs * y, theirs))


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
    return Effect(*weigh_ratio(values, np.ones(len(log))))


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


def _difference(ours: Ratio, theirs: Ratio) -> Effect:
    return Effect(ours.value - theirs.value, ours.influence - theirs.influence)
