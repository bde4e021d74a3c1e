"""Regressions of the outcome: m_a(x), what an action's rows say of a context; by `bending`, or any estimator."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from headstart.arrays import Bools, Floats
from headstart.estimates.bending import Predicted, choose_regression
from headstart.estimates.cross_fit import cross_fit, deal_folds
from headstart.estimates.ridge import fit, predict_actions, standardise, sum_rows
from headstart.logs.log import Log
from headstart.randomness import RNG


class Regressor(Protocol):
    """What is asked of a scikit-learn regressor; it is cloned before it learns."""

    def fit(self, X: Floats, y: Floats) -> Regressor: ...

    def predict(self, X: Floats) -> Floats: ...


def predict_from(log: Log, contexts: Floats, estimator: Regressor | None = None) -> Floats:
    """m_a(x) for every action and these contexts from all rows of the log, (m, K).

    By default ridge regressions that lean on slopes common to all actions (`ridge`). An `estimator` is fitted per
    action; where there is nothing to fit (fewer than two rows of an action, no contexts) the answer is the action's
    mean, or that of all rows.
    """
    if estimator is None:
        own, users = standardise(log.contexts, contexts)
        return predict_actions(fit(sum_rows(own, log.outcomes, log.actions, log.n_actions)), users)
    from sklearn.base import clone

    predicted = np.empty((len(contexts), log.n_actions))
    for a in range(log.n_actions):
        rows = log.actions == a
        if rows.sum() >= 2 and log.n_features > 0:
            model: Regressor = clone(estimator)
            predicted[:, a] = model.fit(log.contexts[rows], log.outcomes[rows]).predict(contexts)
        else:
            predicted[:, a] = log.outcomes[rows if rows.any() else slice(None)].mean()
    return predicted


def predict_others(
    log: Log, estimator: Regressor | None = None, n_folds: int = 5, rng: RNG = 0, users: Floats | None = None
) -> Predicted:
    """m_a(x_i) for every action from rows other than i, (n, K); and for users, (m, K), averaged over the folds.

    By default lines, curves or trees, whichever is the simplest that is as good as any (`bending`). Ridge regressions
    leave out row i alone, in closed form; trees and an `estimator` its whole fold.
    """
    k = log.n_actions
    if estimator is None:
        known = log.actions, log.outcomes, k, log.propensities, log.contexts
        return choose_regression(*known, users, log.units)
    n_folds = min(n_folds, len(log))
    outside = None if users is None else np.zeros((len(users), k))

    def predict_fold(held: Bools, kept: Bools) -> Floats:
        known, asked = log.take(kept), log.contexts[held]
        if outside is None or users is None:
            return predict_from(known, asked, estimator)
        both = predict_from(known, np.vstack([asked, users]), estimator)
        outside[:] += both[len(asked) :] / n_folds
        return both[: len(asked)]

    return Predicted(
        cross_fit(deal_folds(len(log), n_folds, rng), k, predict_fold), outside, type(estimator).__name__
    )
