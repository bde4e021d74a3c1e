"""Propensities of a policy that bends: the logistic regression with curves of the columns.

Tried where the residuals of the plain one go with some curve by more than noise (a score test: no fit is needed to
see it), and used where rows left out are likelier by it.
"""

from __future__ import annotations

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.cross_fit import cross_fit
from headstart.estimates.curves import propose_curves
from headstart.estimates.propensity.estimation import RegressingFolds
from headstart.estimates.ridge import standardise
from headstart.logs.log import Log

_MOST_SLOPES = 1_000  # of all actions: beyond, a fit takes seconds
_CHANCE = 0.05  # of a false alarm, over all curves and actions; it costs time and nothing else


def expand(log: Log) -> Floats | None:
    """The columns that move, in standard units, with as many curves as there may be; None: there may be none."""
    (standard,) = standardise(log.contexts)
    for curves in reversed(propose_curves(standard)):
        expanded = curves.expand(standard)
        if expanded.shape[1] * log.n_actions <= _MOST_SLOPES:
            return expanded
    return None


def is_curved(log: Log, chances: Floats, expanded: Floats) -> bool:
    """Whether the residuals of some action go with some column or curve beyond noise."""
    from headstart.special import ndtri

    taken = log.actions[:, None] == np.arange(log.n_actions)
    sums = (taken - chances).T @ expanded
    variances = (chances * (1.0 - chances)).T @ expanded**2
    limit = -float(ndtri(_CHANCE / 2.0 / sums.size))
    return bool((np.abs(sums) > limit * np.sqrt(np.maximum(variances, 1e-300))).any())


def curve_chances(log: Log, expanded: Floats, folds: Integers) -> Floats:
    """Every row's chances by the regression with curves of the other folds, (n, K)."""
    bent = Log(log.actions, log.outcomes, expanded, n_actions=log.n_actions)
    return cross_fit(folds, log.n_actions, RegressingFolds(bent))
