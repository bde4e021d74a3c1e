"""Multinomial logistic regression of the action on the context, and the propensity vector it gives to any context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart import kernels
from headstart.arrays import Bools, Floats
from headstart.checks import check_context, check_number
from headstart.errors import ContextError, LogError
from headstart.estimates.propensity.newton import minimise_by_newton
from headstart.estimates.propensity.passes import count_jobs, minimise_by_passes
from headstart.estimates.propensity.rows import (
    HasBatches,
    Rows,
    Survey,
    keep_actions,
    rows_of,
    survey_rows,
    without_targets,
)
from headstart.kernels import Entry, fill_propensities, implements
from headstart.kernels.arrays import make_chances
from headstart.logs.log import Log

_NEWTON_LIMIT = 250  # parameters; beyond, the Hessian of a sample costs more than the passes it saves
_TINY = 30  # parameters: a Hessian of so few costs less than the passes it saves, always
_ROWS_PER_PARAMETER = 20
_FEW_ROWS = 2_000
_SMOOTHING = 0.01
_TOLERANCE = 1e-13  # of the mean loss: some 5e-7 in the scores
_ROUGH_TOLERANCE = 1e-6  # for a sample, whose minimum is off by more than that


@dataclass(frozen=True)
class Fit:
    """A fitted regression, and what another fit to nearly the same rows can begin with."""

    slopes: Floats  # (K, d) of the columns as they are
    intercepts: Floats  # (K,) -inf for an action the rows never show
    theta: Floats | None = None  # (present actions, d + 1) in standardised columns
    factor: Floats | None = None  # (p, p) Cholesky's, of a Hessian near the minimum

    def predict(self, contexts: Floats) -> Floats:
        """P(action given context) of every row, (n, K)."""
        scores = contexts @ self.slopes.T
        scores += self.intercepts
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        return scores


def fit_logistic(
    rows: Rows, n_actions: int, ridge: float, *, start: Fit | None = None, n_jobs: int | None = None
) -> Fit:
    """Minimise sum of w_i loss_i + ridge / 2 |slopes of standardised columns|^2; intercepts are free.

    scikit-learn's LogisticRegression(C=1 / ridge) on standardised columns has the same minimum; like it, two
    actions are penalised through the difference of their slopes. Up to 4,000 rows, or 40 a parameter, Newton's
    method finds it (to 250 parameters). Beyond, an evenly spaced sample of half to all that size gives the start and
    the curvature for L-BFGS over all rows, some ten passes in all, each holding one block of rows.

    Parameters
    ----------
    rows
        Called for each pass.
    start
        A fit to nearly the same rows, used in place of the sample.
    n_jobs
        Threads, by default one a core; the result does not depend on it.
    """
    survey = survey_rows(rows, n_actions, lambda d: max(_FEW_ROWS, _ROWS_PER_PARAMETER * n_actions * (d + 1)))
    present = survey.shares > 0
    slopes = np.zeros((n_actions, survey.centre.size))
    with np.errstate(divide="ignore"):
        intercepts = np.log(survey.shares / survey.shares.sum())
    if survey.centre.size == 0 or present.sum() == 1:
        return Fit(slopes, intercepts)
    penalty = ridge * (2.0 if present.sum() == 2 else 1.0) / survey.weight
    theta, factor, is_done = _begin(survey, present, penalty, intercepts[present], start)
    if not is_done:
        narrowed, jobs = keep_actions(rows, present), count_jobs(n_jobs)
        theta = minimise_by_passes(narrowed, survey, penalty, theta, factor, _TOLERANCE, jobs)
    slopes[present] = theta[:, :-1] / survey.spread
    intercepts[present] = theta[:, -1] - slopes[present] @ survey.centre
    return Fit(slopes, intercepts, theta, factor)


def _begin(
    survey: Survey, present: Bools, penalty: float, intercepts: Floats, start: Fit | None
) -> tuple[Floats, Floats | None, bool]:
    """Where L-BFGS begins, the Hessian's factor it begins with, and whether this is the minimum already."""
    block, is_all = survey.sample, survey.sample.actions.size == survey.n_rows
    theta = np.zeros((intercepts.size, survey.centre.size + 1))
    theta[:, -1] = intercepts - intercepts.mean()
    if theta.size > _NEWTON_LIMIT:
        return theta, None, False
    if start is not None and start.theta is not None and start.theta.shape == theta.shape:
        theta = start.theta
        if not is_all or theta.size > _TINY:  # a few passes cost less than one new Hessian
            return theta, start.factor, False
    contexts = np.ones((block.actions.size, theta.shape[1]))
    contexts[:, :-1] = (block.contexts - survey.centre) / survey.spread
    labels = block.labels(present.size)[:, present]
    if not is_all:  # the sample may miss a rare action, whose intercept would then run away
        labels = (1.0 - _SMOOTHING) * labels + _SMOOTHING * survey.shares[present] / survey.weight
    weights = block.weights if block.weights.size else np.ones(len(contexts))
    accuracy = _TOLERANCE if is_all else _ROUGH_TOLERANCE
    theta, factor = minimise_by_newton(contexts, labels, weights / weights.sum(), penalty, theta, accuracy)
    return theta, factor, is_all


class LogisticState(NamedTuple):
    slopes: Floats  # (K, d)
    intercepts: Floats  # (K,) -inf for an action the log never shows


@implements(fill_propensities, LogisticState)
def _fill_logistic(state: LogisticState, context: Floats, out: Floats) -> None:
    top = -np.inf
    for a in range(out.size):
        score = state.intercepts[a]
        for j in range(context.size):
            score += state.slopes[a, j] * context[j]
        out[a] = score
        top = max(top, score)
    make_chances(out, top)


def _fill(state: LogisticState, context: Floats, out: Floats) -> None:
    kernels.fill_propensities(state, context, out)


class LogisticPropensity:
    """The logging policy as a multinomial logistic regression: a propensity vector for any context.

    Parameters
    ----------
    log
        A Log, or a table of any size: anything with `n_actions` and `batches(n_rows)`, which is gone through some
        ten times with one batch in memory.
    ridge
        The penalty: the fit minimises the sum of losses plus ridge / 2 times the sum of squared slopes, of
        standardised columns.
    uses_vectors
        Whether to learn from the log's whole propensity vectors, where it has them, as soft labels; otherwise from
        the actions taken.
    n_jobs
        Threads, by default one a core; the result does not depend on it.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(200, 2))
    >>> a = rng.integers(2, size=200)
    >>> log = hs.Log(a, x[:, 0] * a + rng.normal(size=200), x, np.full(200, 0.5))
    >>> model = hs.LogisticPropensity(log)
    >>> model([0.0, 0.0]).round(1)
    array([0.5, 0.5])
    """

    def __init__(
        self, log: Log | HasBatches, ridge: float = 1e-3, *, uses_vectors: bool = True, n_jobs: int | None = None
    ) -> None:
        penalty = check_number("ridge", ridge, low=1e-9)
        rows = rows_of(log) if uses_vectors else without_targets(rows_of(log))
        self.n_actions: int = log.n_actions
        self._fit = fit_logistic(rows, log.n_actions, penalty, n_jobs=n_jobs)
        self.kernel_state = LogisticState(self._fit.slopes, self._fit.intercepts)
        self._entry = Entry(_fill)

    @property
    def slopes(self) -> Floats:
        """(K, d): P(a given x) is proportional to exp(intercepts_a + slopes_a'x)."""
        return self.kernel_state.slopes.copy()

    @property
    def intercepts(self) -> Floats:
        """(K,); -inf for an action that the log never shows."""
        return self.kernel_state.intercepts.copy()

    def predict(self, contexts: ArrayLike) -> Floats:
        """P(action given context) for every row and action, (n, K)."""
        rows = np.asarray(contexts, dtype=np.float64)
        d = self.kernel_state.slopes.shape[1]
        if rows.ndim != 2 or rows.shape[1] != d:
            raise ContextError(f"contexts must have {d} columns, got shape {rows.shape}")
        return self._fit.predict(rows)

    def __call__(self, context: ArrayLike) -> Floats:
        """P(action given context) for every action, (K,)."""
        seen, out = check_context(context, self.kernel_state.slopes.shape[1]), np.empty(self.n_actions)
        self._entry(self.kernel_state, seen, out)
        return out


def check_vector(vector: ArrayLike, n_actions: int) -> Floats:
    """A propensity vector that a user's function returned: n_actions chances that sum to 1."""
    checked = np.ascontiguousarray(vector, dtype=np.float64)
    if checked.shape != (n_actions,) or not (checked >= 0).all() or abs(checked.sum() - 1.0) > 1e-6:
        raise LogError(f"a propensity function must return {n_actions} chances that sum to 1, got {vector!r}")
    return checked
