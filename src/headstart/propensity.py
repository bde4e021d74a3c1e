"""P(action | context): estimated where the log has none, trimmed out loud, and known for any context."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart import kernels
from headstart.checks import check_context, check_number
from headstart.errors import LogError, OptionError
from headstart.kernels import fill_propensities, implements
from headstart.log import Log
from headstart.randomness import RNG, as_generator


class TrimmingWarning(UserWarning):
    """Propensities were so small that they were raised: the estimate is biased where that happened."""


def estimate_propensities(
    log: Log, classifier: Any = None, *, n_folds: int = 5, trim: float = 0.0, rng: RNG = 0
) -> Log:
    """The log with P(A = a | x_i) estimated for every row and action, each row by models that never saw it.

    Parameters
    ----------
    classifier
        Any scikit-learn classifier with `predict_proba`; by default logistic regression on standardised
        columns. Its classes are action indices.
    n_folds
        Cross-fitting: the rows are cut into this many parts and each part is predicted from the others.
    trim
        Propensities of the action taken that are smaller are raised to this. A TrimmingWarning says how
        many; 0 trims nothing.
    rng
        Deals the rows into folds.

    Notes
    -----
    An action that the other folds never show has an estimate of 0, which cannot be weighted by; it gets its
    share of the log instead, and a TrimmingWarning says how often.
    """
    from sklearn.base import clone

    trim = check_number("trim", trim, 0.0, 1.0)
    if not 2 <= n_folds <= len(log):
        raise OptionError(f"n_folds must be in 2..{len(log)} (the rows of the log), got {n_folds}")
    shares = np.bincount(log.actions, minlength=log.n_actions) / len(log)
    if log.n_features == 0:
        matrix = np.tile(shares, (len(log), 1))
    else:
        model = _default_classifier() if classifier is None else classifier
        folds = as_generator(rng).permutation(np.arange(len(log)) % n_folds)
        matrix = np.zeros((len(log), log.n_actions))
        for fold in range(n_folds):
            inside, outside = folds == fold, folds != fold
            if np.unique(log.actions[outside]).size == 1:
                matrix[inside, log.actions[outside][0]] = 1.0
                continue
            fitted = clone(model).fit(log.contexts[outside], log.actions[outside])
            matrix[np.ix_(inside, fitted.classes_)] = fitted.predict_proba(log.contexts[inside])
    taken = matrix[np.arange(len(log)), log.actions]
    lost = taken <= 0.0
    if lost.any():
        _raise_taken(matrix, log.actions, lost, shares[log.actions])
        warnings.warn(
            f"{int(lost.sum())} of {len(log)} propensities were estimated as 0 and became the action's share",
            TrimmingWarning,
            stacklevel=2,
        )
    small = matrix[np.arange(len(log)), log.actions] < trim
    if small.any():
        _raise_taken(matrix, log.actions, small, np.full(len(log), trim))
        warnings.warn(
            f"{int(small.sum())} of {len(log)} propensities were below {trim:g} and were raised to it",
            TrimmingWarning,
            stacklevel=2,
        )
    return log.with_propensities(matrix)


def _raise_taken(
    matrix: NDArray[np.float64], actions: NDArray[np.int64], rows: NDArray[np.bool_], values: NDArray[np.float64]
) -> None:
    """Set the chance of the action taken in these rows; the other actions share what is left as before."""
    chosen = np.flatnonzero(rows)
    before, after = matrix[chosen, actions[chosen]], values[chosen]
    matrix[chosen] *= ((1.0 - after) / (1.0 - before))[:, None]
    matrix[chosen, actions[chosen]] = after


def _default_classifier() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


class LogisticState(NamedTuple):
    slopes: NDArray[np.float64]  # (K, d)
    intercepts: NDArray[np.float64]  # (K,) -inf for an action the log never shows


@implements(fill_propensities, LogisticState)
def _fill_logistic(state: Any, context: Any, out: Any) -> None:
    top = -np.inf
    for a in range(out.size):
        score = state.intercepts[a]
        for j in range(context.size):
            score += state.slopes[a, j] * context[j]
        out[a] = score
        top = max(top, score)
    total = 0.0
    for a in range(out.size):
        out[a] = math.exp(out[a] - top)
        total += out[a]
    for a in range(out.size):
        out[a] /= total


def _fill(state: Any, context: Any, out: Any) -> None:
    kernels.fill_propensities(state, context, out)


class LogisticPropensity:
    """The logging policy as a multinomial logistic regression: a propensity vector for any context.

    Fitted to the log's whole propensity vectors where it has them (as soft labels), otherwise to the
    actions taken.
    """

    def __init__(self, log: Log) -> None:
        from sklearn.linear_model import LogisticRegression

        self.n_actions = log.n_actions
        slopes = np.zeros((log.n_actions, log.n_features))
        if log.propensity_matrix is None:
            contexts, labels, weights = log.contexts, log.actions, None
        else:
            contexts = np.repeat(log.contexts, log.n_actions, axis=0)
            labels = np.tile(np.arange(log.n_actions), len(log))
            weights = log.propensity_matrix.reshape(-1)
        shares = np.bincount(labels, weights, log.n_actions) / len(log)
        with np.errstate(divide="ignore"):
            intercepts = np.log(shares)
        if log.n_features and (shares > 0).sum() > 1:
            self._fit(LogisticRegression(C=1e3, max_iter=2000), contexts, labels, weights, slopes, intercepts)
        self.kernel_state = LogisticState(slopes, intercepts)
        self._entry: Any = None  # bound when first asked for

    def _fit(
        self,
        model: Any,
        contexts: NDArray[np.float64],
        labels: NDArray[np.int64],
        weights: NDArray[np.float64] | None,
        slopes: NDArray[np.float64],
        intercepts: NDArray[np.float64],
    ) -> None:
        centre, spread = contexts.mean(axis=0), contexts.std(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        kept = slice(None) if weights is None else weights > 0
        model.fit((contexts[kept] - centre) / spread, labels[kept], None if weights is None else weights[kept])
        coefficients, constants = model.coef_, model.intercept_
        if len(model.classes_) == 2:  # scikit-learn keeps only the second class's score
            coefficients = np.vstack([np.zeros_like(coefficients), coefficients])
            constants = np.concatenate([[0.0], constants])
        slopes[model.classes_] = coefficients / spread
        intercepts[model.classes_] = constants - (coefficients / spread) @ centre

    def __call__(self, context: ArrayLike) -> NDArray[np.float64]:
        """P(action | context) for every action, (K,)."""
        seen, out = check_context(context, self.kernel_state.slopes.shape[1]), np.empty(self.n_actions)
        if self._entry is None:
            self._entry = kernels.entry(_fill, self.kernel_state, seen, out)
        self._entry(self.kernel_state, seen, out)
        return out

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_entry": None}


def check_vector(vector: ArrayLike, n_actions: int) -> NDArray[np.float64]:
    """A propensity vector that a user's function returned: n_actions chances that sum to 1."""
    checked = np.ascontiguousarray(vector, dtype=np.float64)
    if checked.shape != (n_actions,) or not (checked >= 0).all() or abs(checked.sum() - 1.0) > 1e-6:
        raise LogError(f"a propensity function must return {n_actions} chances that sum to 1, got {vector!r}")
    return checked
