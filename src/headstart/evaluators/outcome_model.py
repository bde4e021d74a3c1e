"""Outcome model: a regression per action, asked what the outcome would have been (the paper's heuristics 2 and 3)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats, Integers
from headstart.checks import check_action, check_context
from headstart.errors import OptionError
from headstart.estimates.population import as_population
from headstart.estimates.regression import Regressor
from headstart.estimates.summary import Summary, correct_means
from headstart.evaluators.compiled import CompiledEvaluator
from headstart.extras import brought_by
from headstart.kernels import get_outcome, implements, is_exhausted
from headstart.logs.log import Log


class LinearOutcomeState(NamedTuple):
    slopes: Floats  # (K, d)
    intercepts: Floats  # (K,)
    budgets: Integers  # (K,) answers left


@implements(get_outcome, LinearOutcomeState)
def _get_outcome(state: LinearOutcomeState, context: Floats, action: int) -> float:
    if state.budgets[action] == 0:
        return math.nan
    state.budgets[action] -= 1
    outcome = state.intercepts[action]
    for j in range(context.size):
        outcome += state.slopes[action, j] * context[j]
    return outcome


@implements(is_exhausted, LinearOutcomeState)
def _is_exhausted(state: LinearOutcomeState) -> bool:
    for a in range(state.budgets.size):
        if state.budgets[a] > 0:
            return False
    return True


def _line_of(model: Regressor, contexts: Floats) -> tuple[Floats, float] | None:
    """Slopes and intercept, if they are the prediction (a Poisson regression has them too, behind a log)."""
    slopes, intercept = np.ravel(getattr(model, "coef_", ())), np.ravel(getattr(model, "intercept_", ()))
    if slopes.size != contexts.shape[1] or intercept.size != 1:
        return None
    predicted = np.ravel(model.predict(contexts))
    if not np.allclose(contexts @ slopes + intercept[0], predicted, rtol=1e-9, atol=1e-12):
        return None
    return slopes, float(intercept[0])


_FEW_ROWS = 5000


def _fit(estimator: Regressor, contexts: Floats, outcomes: Floats) -> Regressor:
    from sklearn.base import clone

    fresh: Regressor = clone(estimator)
    return fresh.fit(contexts, outcomes)


def _least_squares(contexts: Floats, outcomes: Floats) -> tuple[Floats, float]:
    """Slopes and intercept of ordinary least squares; the smallest slopes where they are not determined."""
    centre, level = contexts.mean(axis=0), outcomes.mean()
    slopes = np.linalg.lstsq(contexts - centre, outcomes - level)[0]
    return slopes, float(level - slopes @ centre)


def _predictions(models: list[Regressor | None], contexts: Floats) -> dict[bytes, Floats]:
    """Every model's prediction for these contexts, (K,) by the context's bytes; NaN without a model."""
    columns = [np.full(len(contexts), np.nan) if m is None else np.ravel(m.predict(contexts)) for m in models]
    return {row.tobytes(): values for row, values in zip(contexts, np.column_stack(columns), strict=True)}


class OutcomeModel(CompiledEvaluator[LinearOutcomeState]):
    """The prediction of a regression fitted to the rows of the action, as many times as there are rows.

    `estimator` is any scikit-learn regressor, cloned for each action; by default ordinary least squares.
    Linear models (those whose `coef_` and `intercept_` give the prediction) run compiled.
    Unbiased only as far as the model is right. `population` (contexts of the users to come: a matrix, a data frame or
    a Log) are the rows that virtual users are drawn from and that `summary` averages over, instead of the log's.

    Parameters
    ----------
    log
        A `Log`.
    estimator
        Any scikit-learn regressor, cloned for each action; None: ordinary least squares.
    population
        Contexts of the users to come, if they differ from the log's.

    Examples
    --------
    >>> import headstart as hs
    >>> log = hs.Log([0, 0, 0, 1, 1, 1], [0, 1, 2, 2, 1, 0], [[0.0], [1.0], [2.0], [0.0], [1.0], [2.0]])
    >>> evaluator = hs.OutcomeModel(log)
    >>> round(evaluator.get_outcome([3.0], 0), 6)
    3.0
    """

    needs_context = True

    def __init__(self, log: Log, estimator: Regressor | None = None, *, population: object = None) -> None:
        self._rows, self._users = log, None if population is None else as_population(population, log)
        self._is_least_squares = estimator is None
        counts = np.bincount(log.actions, minlength=log.n_actions)
        self.models: list[Regressor | None] = [None] * log.n_actions
        slopes, intercepts = np.zeros((log.n_actions, log.n_features)), np.zeros(log.n_actions)
        is_linear = True
        for a in np.flatnonzero(counts):
            rows = log.actions == a
            contexts, outcomes = log.contexts[rows], log.outcomes[rows]
            if estimator is None or log.n_features == 0:
                slopes[a], intercepts[a] = _least_squares(contexts, outcomes)
                continue
            model = self.models[a] = _fit(estimator, contexts, outcomes)
            line = _line_of(model, contexts)
            if line is None:
                is_linear = False
            else:
                slopes[a], intercepts[a] = line
        self._is_linear = is_linear
        # Virtual users are mostly rows of the log: predicted together, a row costs a hundredth of one alone.
        self._predicted = {} if is_linear or len(log) > _FEW_ROWS else _predictions(self.models, log.contexts)
        super().__init__(log, LinearOutcomeState(slopes, intercepts, counts.astype(np.int64)))
        if self._users is not None:
            self.contexts = self._users

    @classmethod
    def boosted(cls, log: Log) -> OutcomeModel:
        """Gradient-boosted trees: the paper's xgboost heuristic. Needs the extra `xgboost`."""
        with brought_by("xgboost"):
            from xgboost import XGBRegressor
        # Exact splits are what few rows call for, and there four times as quick as histograms.
        method = "exact" if len(log) <= _FEW_ROWS else "hist"
        return cls(log, XGBRegressor(n_jobs=1, tree_method=method))

    def summary(self) -> Summary:
        """What least squares knows per action: the mean prediction over the population, and its standard error.

        Honest as far as outcomes are linear in the contexts. An action with fewer rows than columns has an infinite
        standard error: its slopes are not determined. Other estimators say nothing of their error.
        """
        if not self._is_least_squares:
            raise OptionError(
                "a model other than least squares does not know its own error: "
                "DoublyRobust(log, estimator) corrects it by weighted residuals and does"
            )
        log, state = self._rows, self._state
        users = log.contexts if self._users is None else self._users
        # Least squares is a weighted mean of outcomes, with weights that balance the contexts exactly.
        shares, is_known = np.zeros(len(log)), np.zeros(log.n_actions, dtype=np.bool_)
        inside = log.contexts @ state.slopes.T + state.intercepts
        means = (inside if self._users is None else users @ state.slopes.T + state.intercepts).mean(axis=0)
        for a in range(log.n_actions):
            rows = np.flatnonzero(log.actions == a)
            if rows.size:
                centre = log.contexts[rows].mean(axis=0)
                apart = log.contexts[rows] - centre
                pull, _, rank, _ = np.linalg.lstsq(apart.T, users.mean(axis=0) - centre, rcond=None)
                shares[rows] = 1.0 / rows.size + pull
                is_known[a] = rows.size > rank + 1
                # A fitted residual is smaller than the true one by its leverage (HC2).
                leverages = 1.0 / rows.size + np.einsum("ij,ji->i", apart, np.linalg.pinv(apart))
                left = log.outcomes[rows] - inside[rows, a]
                inside[rows, a] = log.outcomes[rows] - left / np.sqrt(np.maximum(1.0 - leverages, 1e-9))
        outside = None if self._users is None else users @ state.slopes.T + state.intercepts
        estimate = correct_means(log.actions, log.outcomes, shares, inside, outside, units=log.units).summary
        shown = np.where(np.isnan(estimate.means), np.nan, means)
        return replace(estimate, means=shown, standard_errors=np.where(is_known, estimate.standard_errors, np.inf))

    @property
    def kernel_state(self) -> LinearOutcomeState | None:
        """None when the models are not linear: then the plain loop is the way."""
        return self._state if self._is_linear else None

    def get_outcome(self, context: ArrayLike | None, action: int) -> float | None:
        """The predicted outcome, or None once the action has been answered as often as it has rows."""
        if self._is_linear:
            return super().get_outcome(context, action)
        seen = check_context(context, self.contexts.shape[1])
        index = check_action(action, self.n_actions)
        if self._state.budgets[index] == 0:
            return None
        self._state.budgets[index] -= 1
        known = self._predicted.get(seen.tobytes())
        if known is not None:
            return float(known[index])
        model = self.models[index]
        assert model is not None  # it has rows left, so it had some to learn from
        return float(model.predict(seen.reshape(1, -1))[0])
