"""Multinomial logistic regression by Newton's method, for few rows and few parameters."""

from __future__ import annotations

import numpy as np

from headstart import kernels
from headstart.arrays import Floats, Integers
from headstart.errors import LogError
from headstart.kernels.cholesky import factor_cholesky, solve_cholesky
from headstart.kernels.logistic import add_softmax_curvature

_MOST_STEPS = 100
_MOST_HALVINGS = 40


def minimise_by_newton(
    contexts: Floats, labels: Floats, weights: Floats, ridge: float, theta: Floats, tolerance: float
) -> tuple[Floats, Floats]:
    """The minimum of mean loss + ridge / 2 |slopes|^2, and the Cholesky factor of the Hessian there, (p, p).

    Parameters
    ----------
    contexts
        (n, d + 1), standardised, the last column 1.
    labels, weights
        (n, K) chances to be learnt; (n,) weights, summing to 1.
    theta
        (K, d + 1) where to begin; the last column are intercepts, which are not penalised.
    tolerance
        Stop when the next step would lower the mean loss by less.

    Notes
    -----
    Steps are halved until the loss falls, so it ends from any start: the loss is convex. Adding a constant to all
    intercepts changes nothing; a term that wants their sum where it is makes the Hessian regular.
    """
    n_actions, width = theta.shape
    penalty = np.full(theta.shape, ridge)
    penalty[:, -1] = 0.0
    pairs, squares = _places(n_actions), _places(width)
    where = pairs[:, None, :, None], squares[None, :, None, :]
    fixed = np.diag(penalty.reshape(-1))
    fixed[width - 1 :: width, width - 1 :: width] += 1.0 / n_actions
    add = kernels.compiled(add_softmax_curvature)
    rows = (contexts, labels, weights)

    def evaluate(at: Floats) -> tuple[float, Floats, Floats]:
        gradient, curvature = penalty * at, np.zeros((pairs.max() + 1, squares.max() + 1))
        loss = 0.5 * float((gradient * at).sum())
        loss += add(*rows, at, gradient, curvature)
        return loss, gradient, curvature

    loss, gradient, curvature = evaluate(theta)
    for _ in range(_MOST_STEPS):
        factor = _factor(curvature[where].reshape(theta.size, theta.size) + fixed)
        step = solve_factored(factor, gradient.reshape(-1)).reshape(theta.shape)
        gain = float((gradient * step).sum())
        if gain <= 2.0 * tolerance:
            return theta - step, factor
        for _ in range(_MOST_HALVINGS):
            tried = evaluate(theta - step)
            if tried[0] <= loss - 1e-4 * gain:
                break
            step, gain = step / 2.0, gain / 2.0
        else:  # rounding: the loss cannot be told from its minimum
            return theta, factor
        theta, (loss, gradient, curvature) = theta - step, tried
    return theta, factor


def solve_factored(factor: Floats, vector: Floats) -> Floats:
    """The solution of H x = vector, from H's Cholesky factor."""
    solution = vector.copy()
    kernels.compiled(solve_cholesky)(factor, solution)
    return solution


def _factor(hessian: Floats) -> Floats:
    """The Cholesky factor; of a little more than the Hessian where rounding has made it indefinite."""
    extra = 1e-14 * float(np.trace(hessian))
    while extra < np.inf:
        factor = hessian.copy()
        if kernels.compiled(factor_cholesky)(factor):
            return factor
        hessian = hessian + extra * np.eye(len(hessian))
        extra *= 10.0
    raise LogError("the regression of actions on contexts has no curvature: its contexts are not finite numbers")


def _places(size: int) -> Integers:
    """Where the entry (i, j) of a symmetric matrix stands in its lower triangle, row by row, (size, size)."""
    places = np.empty((size, size), dtype=np.int64)
    rows, columns = np.tril_indices(size)
    places[rows, columns] = places[columns, rows] = np.arange(rows.size)
    return places
