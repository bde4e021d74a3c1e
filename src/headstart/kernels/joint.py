"""The chance of being the best among draws that are jointly normal and depend on each other.

The scores are mu_a + b_a'zeta with zeta standard normal. Along one direction of zeta they are straight lines, so
on every line parallel to it the best action changes at the corners of an upper envelope and the chances are
differences of the normal distribution: exact. What is left are the other r - 1 dimensions, r being the rank of
the scores' differences, at most one less than the actions: a lattice fills them (Richtmyer's, as in Genz 1992,
with eight fixed shifts that tell the error), and integrates a smooth function, not an indicator.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.kernels.compile import kernel
from headstart.kernels.random import draw_uniform, normal_quantile

Floats = NDArray[np.float64]

_N_SHIFTS = 8
_FIRST_POINTS = 64  # per shift
_MOST_POINTS = 16384
_TOLERANCE = 1e-5  # of the standard error over the shifts
_RANK_TOLERANCE = 1e-10  # of a direction's standard deviation, against the largest
_ROOT_HALF = math.sqrt(0.5)


@kernel
def _decompose(loadings: Any, out: Any) -> int:
    """Rows b_a, without what all share, in the fewest directions: `out` (n, r), the widest first. Returns r.

    Gram-Schmidt with the longest remainder first; `loadings` is used up.
    """
    n, m = loadings.shape
    for j in range(m):
        mean = 0.0
        for a in range(n):
            mean += loadings[a, j] / n
        for a in range(n):
            loadings[a, j] -= mean
    direction = np.empty(m)
    first = 0.0
    for rank in range(out.shape[1]):
        longest, square = 0, -1.0
        for a in range(n):
            length = 0.0
            for j in range(m):
                length += loadings[a, j] * loadings[a, j]
            if length > square:
                longest, square = a, length
        norm = math.sqrt(square)
        if rank == 0:
            first = norm
        if norm <= _RANK_TOLERANCE * first:
            return rank
        for j in range(m):
            direction[j] = loadings[longest, j] / norm
        for a in range(n):
            along = 0.0
            for j in range(m):
                along += loadings[a, j] * direction[j]
            out[a, rank] = along
            for j in range(m):
                loadings[a, j] -= along * direction[j]
    return out.shape[1]


@kernel
def _normal_below(x: float) -> float:
    return 0.5 * math.erfc(-x * _ROOT_HALF)


@kernel
def _add_line(levels: Any, slopes: Any, order: Any, hull: Any, corners: Any, out: Any) -> None:
    """Add to `out` the chance of each line to be the highest at a standard normal point.

    `order` sorts the slopes; `hull` holds the lines of the upper envelope from left to right, `corners` where
    each begins. Of equal lines the lowest index counts.
    """
    size = 0
    for k in range(order.size):
        a = order[k]
        start = -np.inf
        is_dominated = False
        while size > 0:
            top = hull[size - 1]
            steeper = slopes[a] - slopes[top]
            if steeper <= 0.0:
                if levels[a] > levels[top] or (levels[a] == levels[top] and a < top):
                    size -= 1
                    continue
                is_dominated = True
                break
            start = (levels[top] - levels[a]) / steeper
            if start <= corners[size - 1]:
                size -= 1
                start = -np.inf
                continue
            break
        if not is_dominated:
            hull[size] = a
            corners[size] = start
            size += 1
    below = 0.0
    for h in range(size - 1):
        upto = _normal_below(corners[h + 1])
        out[hull[h]] += upto - below
        below = upto
    out[hull[size - 1]] += 1.0 - below


@kernel
def _fill_primes(out: Any) -> None:
    found = 0
    candidate = 2
    while found < out.size:
        is_prime = True
        for k in range(found):
            p = int(out[k])
            if p * p > candidate:
                break
            if candidate % p == 0:
                is_prime = False
                break
        if is_prime:
            out[found] = candidate
            found += 1
        candidate += 1


@kernel
def joint_probability_of_best(means: Any, loadings: Any, out: Any) -> None:
    """P(score of a is the largest), scores mu_a + b_a'zeta, into `out` (n,); `loadings` (n, m) is used up.

    Exact (to rounding) for two actions and wherever the differences have rank one; otherwise to a standard error
    of 1e-5, or what 8 x 16,384 lattice points give. Deterministic: the same scores have the same chances.
    """
    n = means.size
    parts = np.zeros((n, max(1, min(n - 1, loadings.shape[1]))))
    rank = _decompose(loadings, parts)
    slopes = parts[:, 0].copy()
    order = np.argsort(slopes)
    hull, corners = np.empty(n, dtype=np.int64), np.empty(n)
    out[:] = 0.0
    if rank <= 1:
        _add_line(means, slopes, order, hull, corners, out)
        return
    rest = rank - 1
    steps = np.empty(rest)
    _fill_primes(steps)
    for j in range(rest):
        steps[j] = math.sqrt(steps[j]) % 1.0
    words = np.array([1, 2, 3, 4], dtype=np.uint64)
    shifts = np.empty((_N_SHIFTS, rest))
    for s in range(_N_SHIFTS):
        for j in range(rest):
            shifts[s, j] = draw_uniform(words)
    sums = np.zeros((_N_SHIFTS, n))
    zeta, levels = np.empty(rest), np.empty(n)
    done, upto = 0, _FIRST_POINTS
    while True:
        for i in range(done, upto):
            for s in range(_N_SHIFTS):
                for j in range(rest):
                    u = (shifts[s, j] + (i + 1) * steps[j]) % 1.0
                    u = abs(2.0 * u - 1.0)  # the baker's transform: the lattice then sees a periodic function
                    zeta[j] = normal_quantile(min(max(u, 1e-16), 1.0 - 1e-16))
                for a in range(n):
                    level = means[a]
                    for j in range(rest):
                        level += parts[a, j + 1] * zeta[j]
                    levels[a] = level
                _add_line(levels, slopes, order, hull, corners, sums[s])
        done = upto
        worst = 0.0
        for a in range(n):
            mean, square = 0.0, 0.0
            for s in range(_N_SHIFTS):
                mean += sums[s, a] / (_N_SHIFTS * done)
            for s in range(_N_SHIFTS):
                square += (sums[s, a] / done - mean) ** 2
            worst = max(worst, square / (_N_SHIFTS * (_N_SHIFTS - 1)))
            out[a] = mean
        if math.sqrt(worst) <= _TOLERANCE or done >= _MOST_POINTS:
            return
        upto = 2 * done
