"""Multinomial logistic regression over rows of any number: a fused pass for the gradient, L-BFGS between passes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from headstart import kernels
from headstart.arrays import Floats
from headstart.estimates.propensity.newton import solve_factored
from headstart.estimates.propensity.rows import LabelledRows, Rows, Survey
from headstart.kernels.logistic import add_softmax_rows

_PIECE = 16_384  # rows whose gradient one thread adds up; the sum over pieces has a fixed order
_MEMORY = 10  # steps that L-BFGS remembers
_MOST_PASSES = 500

Evaluate = Callable[[Floats], tuple[float, Floats]]  # (K, d + 1) -> loss, gradient (K, d + 1)


def minimise_by_passes(
    rows: Rows, survey: Survey, ridge: float, theta: Floats, factor: Floats | None, tolerance: float, n_jobs: int
) -> Floats:
    """The minimum of mean loss + ridge / 2 |slopes|^2 over all rows, in standardised columns, (K, d + 1).

    `factor`, (p, p), is that of a guess of the Hessian: a sample's makes the whole fit a matter of a few passes.
    """
    with ThreadPoolExecutor(n_jobs) as pool:
        return _lbfgs(_objective(rows, survey, ridge, pool), theta, factor, tolerance)


def count_jobs(n_jobs: int | None) -> int:
    """Threads: those asked for, else one a core."""
    return n_jobs or os.cpu_count() or 1


def _objective(rows: Rows, survey: Survey, ridge: float, pool: ThreadPoolExecutor) -> Evaluate:
    scale = 1.0 / survey.spread
    add = kernels.compiled(add_softmax_rows)

    def add_block(block: LabelledRows, theta: Floats) -> tuple[float, Floats]:
        starts = range(0, block.actions.size, _PIECE)
        gradients = np.zeros((len(starts), *theta.shape))

        def add_piece(i: int) -> float:
            stop = min(starts[i] + _PIECE, block.actions.size)
            return float(add(*block, survey.centre, scale, theta, starts[i], stop, gradients[i]))

        places = range(len(starts))
        losses = list(map(add_piece, places) if len(starts) == 1 else pool.map(add_piece, places))
        return sum(losses), gradients.sum(axis=0)

    def evaluate(theta: Floats) -> tuple[float, Floats]:
        loss, gradient = 0.0, np.zeros(theta.shape)
        for block in rows():
            of_block, slope = add_block(block, theta)
            loss += of_block
            gradient += slope
        gradient /= survey.weight
        gradient[:, :-1] += ridge * theta[:, :-1]
        return loss / survey.weight + 0.5 * ridge * float((theta[:, :-1] ** 2).sum()), gradient

    return evaluate


def _lbfgs(evaluate: Evaluate, theta: Floats, factor: Floats | None, tolerance: float) -> Floats:
    """Limited-memory BFGS (Nocedal 1980) with halved steps, until the next one promises less than `tolerance`.

    The loss is convex, so every step's curvature is positive and no other line search is needed.
    """
    loss, gradient = evaluate(theta)
    steps: list[Floats] = []
    changes: list[Floats] = []
    gain = np.inf
    for _ in range(_MOST_PASSES):
        direction = -_two_loops(gradient.reshape(-1), steps, changes, factor).reshape(theta.shape)
        gain = -float((gradient * direction).sum())
        if gain <= 2.0 * tolerance:
            return theta
        length = 1.0 if steps or factor is not None else min(1.0, 1.0 / np.sqrt((gradient**2).sum()))
        while True:
            new_loss, new_gradient = evaluate(theta + length * direction)
            # Below 1e-14 of the loss rounding hides whether it fell.
            if new_loss <= loss - 1e-4 * length * gain + 1e-14 * abs(loss):
                break
            length /= 2.0
            if length < 1e-10:
                return theta
        step, change = (length * direction).reshape(-1), (new_gradient - gradient).reshape(-1)
        theta, loss, gradient = theta + length * direction, new_loss, new_gradient
        if step @ change > 0.0:
            steps, changes = [*steps[1 - _MEMORY :], step], [*changes[1 - _MEMORY :], change]
    warnings.warn(
        f"propensities: {_MOST_PASSES} steps did not reach the minimum; the mean loss may be {gain / 2:.1e} above it",
        RuntimeWarning,
        stacklevel=2,
    )
    return theta


def _two_loops(gradient: Floats, steps: list[Floats], changes: list[Floats], factor: Floats | None) -> Floats:
    """The approximate inverse Hessian times the gradient (Nocedal and Wright 2006, Algorithm 7.4)."""
    result = gradient.copy()
    shares = []
    for step, change in zip(reversed(steps), reversed(changes), strict=True):
        shares.append((step @ result) / (step @ change))
        result -= shares[-1] * change
    if factor is not None:
        result = solve_factored(factor, result)
    elif steps:
        result *= (steps[-1] @ changes[-1]) / (changes[-1] @ changes[-1])
    for step, change, share in zip(steps, changes, reversed(shares), strict=True):
        result += step * (share - (change @ result) / (step @ change))
    return result
