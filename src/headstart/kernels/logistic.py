"""Multinomial logistic regression in one pass: scores, softmax, loss and gradient of a row while it is in the cache.

Rows go through in blocks of `BLOCK`, standardised on the way, and each block is held twice, by rows and by columns:
the loops below then run along memory without a sum across it, which is what a compiler can vectorise without
reordering additions. The gradient of rows start..stop depends on nothing but those rows, so that whoever adds up such
pieces in a fixed order has the same bits from any number of threads.
"""

from __future__ import annotations

import math

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.kernels.arrays import make_chances
from headstart.kernels.compile import kernel

BLOCK = 64


@kernel
def _load(
    contexts: Floats, first: int, size: int, centre: Floats, scale: Floats, rows: Floats, columns: Floats
) -> None:
    for r in range(size):
        for j in range(centre.size):
            rows[r, j] = (contexts[first + r, j] - centre[j]) * scale[j]
    for j in range(centre.size):
        for r in range(size):
            columns[j, r] = rows[r, j]


@kernel
def _score(theta: Floats, size: int, columns: Floats, scores: Floats) -> None:
    """theta_a'(z, 1) of every row and action; four columns at a time, since each turn reads and writes the scores."""
    d = columns.shape[0]
    for a in range(theta.shape[0]):
        score = scores[a]
        for r in range(size):
            score[r] = theta[a, d]
        j = 0
        while j + 4 <= d:
            w0, w1, w2, w3 = theta[a, j], theta[a, j + 1], theta[a, j + 2], theta[a, j + 3]
            x0, x1, x2, x3 = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
            for r in range(size):
                score[r] += (w0 * x0[r] + w1 * x1[r]) + (w2 * x2[r] + w3 * x3[r])
            j += 4
        while j < d:
            w0, x0 = theta[a, j], columns[j]
            for r in range(size):
                score[r] += w0 * x0[r]
            j += 1


@kernel
def _normalise(size: int, scores: Floats, logs: Floats, top: Floats) -> None:
    """Scores become chances; `logs` gets the log of the sum of exp(score), which is the loss of a score of 0."""
    n_actions = scores.shape[0]
    for r in range(size):
        top[r] = scores[0, r]
        logs[r] = 0.0
    for a in range(1, n_actions):
        for r in range(size):
            top[r] = max(top[r], scores[a, r])
    for a in range(n_actions):
        for r in range(size):
            scores[a, r] = math.exp(scores[a, r] - top[r])
            logs[r] += scores[a, r]
    for a in range(n_actions):
        for r in range(size):
            scores[a, r] /= logs[r]
    for r in range(size):
        logs[r] = top[r] + math.log(logs[r])


@kernel
def _add_gradient(size: int, residuals: Floats, rows: Floats, gradient: Floats) -> None:
    """gradient_a += sum of residual_a (z, 1); four rows at a time, for the same reason as in `_score`."""
    d = rows.shape[1]
    for a in range(residuals.shape[0]):
        e, g = residuals[a], gradient[a]
        r = 0
        while r + 4 <= size:
            e0, e1, e2, e3 = e[r], e[r + 1], e[r + 2], e[r + 3]
            x0, x1, x2, x3 = rows[r], rows[r + 1], rows[r + 2], rows[r + 3]
            for j in range(d):
                g[j] += (e0 * x0[j] + e1 * x1[j]) + (e2 * x2[j] + e3 * x3[j])
            g[d] += (e0 + e1) + (e2 + e3)
            r += 4
        while r < size:
            for j in range(d):
                g[j] += e[r] * rows[r, j]
            g[d] += e[r]
            r += 1


def add_softmax_rows(
    contexts: Floats,
    actions: Integers,
    targets: Floats,
    weights: Floats,
    centre: Floats,
    scale: Floats,
    theta: Floats,
    start: int,
    stop: int,
    gradient: Floats,
) -> float:
    """Add the gradient of rows start..stop to `gradient` (K, d + 1) and return their loss, both summed by weight.

    The loss of a row is -sum_a t_a log p_a(z), z = (x - centre) scale, p the softmax of theta_a'(z, 1). t is the row
    of `targets` (n, K), or 1 for the row's action if `targets` is empty; its weight is 1 if `weights` is.
    """
    n_actions, d = theta.shape[0], centre.size
    rows, columns = np.empty((BLOCK, d)), np.empty((d, BLOCK))
    scores, raw = np.empty((n_actions, BLOCK)), np.empty((n_actions, BLOCK))
    logs, top = np.empty(BLOCK), np.empty(BLOCK)
    is_soft, is_weighted = targets.shape[0] > 0, weights.size > 0
    loss = 0.0
    for first in range(start, stop, BLOCK):
        size = min(BLOCK, stop - first)
        _load(contexts, first, size, centre, scale, rows, columns)
        _score(theta, size, columns, scores)
        for a in range(n_actions):
            for r in range(size):
                raw[a, r] = scores[a, r]
        _normalise(size, scores, logs, top)
        for r in range(size):
            weight = weights[first + r] if is_weighted else 1.0
            if is_soft:
                for a in range(n_actions):
                    target = targets[first + r, a]
                    loss += weight * target * (logs[r] - raw[a, r])
                    scores[a, r] -= target
            else:
                action = actions[first + r]
                loss += weight * (logs[r] - raw[action, r])
                scores[action, r] -= 1.0
            if is_weighted:
                for a in range(n_actions):
                    scores[a, r] *= weight
        _add_gradient(size, scores, rows, gradient)
    return loss


@kernel
def _softmax(theta: Floats, context: Floats, chances: Floats) -> float:
    """Chances of one row whose last column is 1; the log of the sum of exp(score) is returned."""
    top = -np.inf
    for a in range(chances.size):
        score = 0.0
        for j in range(context.size):
            score += theta[a, j] * context[j]
        chances[a] = score
        top = max(top, score)
    return top + math.log(make_chances(chances, top))


def add_softmax_curvature(
    contexts: Floats, labels: Floats, weights: Floats, theta: Floats, gradient: Floats, curvature: Floats
) -> float:
    """Add the gradient (K, w) and the Hessian of all rows to these, and return their loss; `contexts` has w columns.

    A row's Hessian is p_a (1{a = b} - p_b) z z'. Both factors are symmetric, so `curvature` holds one line for each
    pair a >= b and in it the lower triangle of z z', row by row: one long loop for each pair.
    """
    n_actions, width = theta.shape
    chances, square = np.empty(n_actions), np.empty(curvature.shape[1])
    loss = 0.0
    for i in range(contexts.shape[0]):
        row, weight = contexts[i], weights[i]
        if weight == 0.0:
            continue
        log_total = _softmax(theta, row, chances)
        for a in range(n_actions):
            label = labels[i, a]
            if label != 0.0:
                score = 0.0
                for j in range(width):
                    score += theta[a, j] * row[j]
                loss += weight * label * (log_total - score)
            residual = weight * (chances[a] - label)
            for j in range(width):
                gradient[a, j] += residual * row[j]
        place = 0
        for j in range(width):
            for k in range(j + 1):
                square[place] = row[j] * row[k]
                place += 1
        pair = 0
        for a in range(n_actions):
            for b in range(a + 1):
                factor = weight * chances[a] * ((1.0 if a == b else 0.0) - chances[b])
                line = curvature[pair]
                for t in range(square.size):
                    line[t] += factor * square[t]
                pair += 1
    return loss
