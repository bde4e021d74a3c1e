"""The difference between two actions from rows, by weighting and doubly robust: what refutations try to upset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.doubly_robust import robust_terms
from headstart.estimates.ridge import predict_for, standardise
from headstart.estimates.weighted import Ratio, root_sum_square, weigh_ratio
from headstart.logs.log import Log


@dataclass(frozen=True, eq=False)
class Effect:
    """A difference of means, and each row's influence on it."""

    difference: float
    influence: Floats  # (n,)
    units: Integers | None = None  # (n,) whose rows depend on each other

    @property
    def standard_error(self) -> float:
        return root_sum_square(self.influence, self.units)


def weighted_effect(log: Log, first: int, second: int, outcomes: Floats | None = None) -> Effect:
    """sum(wy) / sum(w) of the first action minus that of the second; of other outcomes if given."""
    assert log.propensities is not None
    y = log.outcomes if outcomes is None else outcomes
    weights = 1.0 / log.propensities
    ours, theirs = (np.where(log.actions == action, weights, 0.0) for action in (first, second))
    return _difference(weigh_ratio(ours * y, ours), weigh_ratio(theirs * y, theirs), log.units)


def robust_effect(log: Log, first: int, second: int) -> Effect:
    """The doubly robust difference: ridge regressions by all other rows, corrected by weighted residuals."""
    assert log.propensities is not None
    (seen,) = standardise(log.contexts)
    predicted, _ = predict_for(log.actions, log.outcomes, log.n_actions, seen)
    terms = robust_terms(log.actions, log.outcomes, 1.0 / log.propensities, predicted)
    return Effect(*weigh_ratio(terms[:, first] - terms[:, second], np.ones(len(log))), log.units)


def _difference(ours: Ratio, theirs: Ratio, units: Integers | None) -> Effect:
    return Effect(ours.value - theirs.value, ours.influence - theirs.influence, units)
