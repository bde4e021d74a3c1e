"""The chance of being the best among draws that are jointly normal and depend on each other.

The scores are mu_a + b_a'zeta with zeta standard normal. Along one direction of zeta they are straight lines, so
on every line parallel to it the best action changes at the corners of an upper envelope and the chances are
differences of the normal distribution: exact. What is left are the other r - 1 dimensions, r being the rank of
the scores' differences, at most one less than the actions: a lattice with eight fixed shifts, whose
spread tells the error, integrates over them a function that is smooth, not an indicator.
"""

from __future__ import annotations

import math

import numpy as np

from headstart.arrays import Floats, Integers, Words
from headstart.kernels.compile import kernel
from headstart.kernels.random import draw_uniform, normal_quantile

_N_SHIFTS = 8
_FIRST_POINTS = 64  # per shift
_MOST_POINTS = 16384
# Generating vector of lattices of 2^6 to 2^14 points, each within the next: built component by component for the
# least squared error P_2 with weights 1 / j^2, the worst ratio to the best over the nine sizes decides (the
# construction of Cools, Kuo and Nuyens 2006).
_LATTICE = np.array([
    1, 12849, 7495, 11425, 14187, 7989, 11807, 4037, 12167, 9133, 6039, 1477, 9853, 4371, 2451, 797, 6929, 5331,
    7141, 10373, 5289, 3361, 3085, 7035, 4323, 6881, 979, 6949, 1275, 1705, 8047, 6893, 6995, 4883, 5029, 2883,
    4191, 7279, 6673, 6181, 2267, 5065, 469, 7349, 7441, 3185, 5895, 6167, 7299, 5497, 2319, 667, 269, 3425, 4767,
    6815, 7831, 3301, 573, 125, 2725, 311, 6791, 2081,
])  # fmt: skip
_SEED = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93], dtype=np.uint64)
_TOLERANCE = 1e-4  # of the standard error over the shifts
_RANK_TOLERANCE = 1e-10  # of a direction's standard deviation, against the largest
_ROOT_HALF = math.sqrt(0.5)


@kernel
def _fill_order(values: Floats, out: Integers) -> None:
    """The indices that sort the values upwards, equal ones by index. Short lists: by insertion."""
    for k in range(values.size):
        i = k
        while i > 0 and values[out[i - 1]] > values[k]:
            out[i] = out[i - 1]
            i -= 1
        out[i] = k


@kernel
def _fill_spread(means: Floats, out: Floats) -> None:
    """A number in [-1, 1] per action, those most likely to be the best farthest apart: 1, -1, 0, -1/2, 1/2, ..."""
    order = np.empty(means.size, dtype=np.int64)
    _fill_order(-means, order)
    for k in range(order.size):
        value, digit, rest = 0.0, 0.5, k - 1
        while rest > 0:  # van der Corput's sequence
            value += digit * (rest % 2)
            rest //= 2
            digit *= 0.5
        out[order[k]] = 1.0 if k == 0 else 2.0 * value - 1.0


@kernel
def _remove(loadings: Floats, direction: Floats, out: Floats) -> None:
    """Take the part along a unit vector out of each row; `out` gets how much that was."""
    n, m = loadings.shape
    for a in range(n):
        along = 0.0
        for j in range(m):
            along += loadings[a, j] * direction[j]
        out[a] = along
        for j in range(m):
            loadings[a, j] -= along * direction[j]


@kernel
def _decompose(means: Floats, loadings: Floats, out: Floats) -> int:
    """Rows b_a, without what all share, in the fewest orthogonal directions: `out` (r, n). Returns r.

    The first direction is the line's. It tells the likely winners well apart, for where two actions have the
    same slope their choice is a jump in what the lattice must integrate. Then Gram-Schmidt, the longest
    remainder first. `loadings` is used up.
    """
    n, m = loadings.shape
    spread, direction = np.empty(n), np.zeros(m)
    _fill_spread(means, spread)
    for j in range(m):
        mean = 0.0
        for a in range(n):
            mean += loadings[a, j] / n
        for a in range(n):
            loadings[a, j] -= mean
            direction[j] += spread[a] * loadings[a, j]
    first = 0.0
    for rank in range(out.shape[0]):
        longest, square = 0, -1.0
        for a in range(n):
            length = 0.0
            for j in range(m):
                length += loadings[a, j] * loadings[a, j]
            if length > square:
                longest, square = a, length
        first = max(first, math.sqrt(square))
        if math.sqrt(square) <= _RANK_TOLERANCE * first:
            return rank
        norm = 0.0
        for j in range(m):
            norm += direction[j] * direction[j]
        if rank > 0 or math.sqrt(norm) <= _RANK_TOLERANCE * first:
            norm = square
            for j in range(m):
                direction[j] = loadings[longest, j]
        for j in range(m):
            direction[j] /= math.sqrt(norm)
        _remove(loadings, direction, out[rank])
    return out.shape[0]


@kernel
def _normal_below(x: float) -> float:
    return 0.5 * math.erfc(-x * _ROOT_HALF)


@kernel
def _add_line(levels: Floats, slopes: Floats, order: Integers, hull: Integers, corners: Floats, out: Floats) -> None:
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
def _fill_point(i: int, n_points: int, shift: Floats, words: Words, out: Floats) -> None:
    """Standard normals from the i-th of n_points shifted lattice points."""
    for j in range(out.size):
        if j < _LATTICE.size:
            u = (shift[j] + (i * _LATTICE[j] % n_points) / n_points) % 1.0
            u = abs(2.0 * u - 1.0)  # the baker's transform: the lattice then sees a periodic function
        else:  # the narrowest directions of very many
            u = draw_uniform(words)
        out[j] = normal_quantile(min(max(u, 1e-16), 1.0 - 1e-16))


@kernel
def joint_probability_of_best(means: Floats, loadings: Floats, out: Floats) -> float:
    """P(score of a is the largest), scores mu_a + b_a'zeta, into `out` (n,); `loadings` (n, m) is used up.

    Exact (to rounding) for two actions and wherever the differences have rank one; otherwise to a standard error
    of 1e-4, or what 8 x 16,384 lattice points give: some 2e-4 for twenty actions. Returns that standard error.
    Deterministic: the same scores have the same chances.
    """
    n = means.size
    parts = np.zeros((max(1, min(n - 1, loadings.shape[1])), n))
    rank = _decompose(means, loadings, parts)
    slopes = parts[0]
    order, hull, corners = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n)
    _fill_order(slopes, order)
    out[:] = 0.0
    if rank <= 1:
        _add_line(means, slopes, order, hull, corners, out)
        return 0.0
    rest = rank - 1
    words = _SEED.copy()
    shifts = np.empty((_N_SHIFTS, rest))
    for s in range(_N_SHIFTS):
        for j in range(rest):
            shifts[s, j] = draw_uniform(words)
    sums = np.zeros((_N_SHIFTS, n))
    zeta, levels = np.empty(rest), np.empty(n)
    n_points = _FIRST_POINTS
    start, step = 0, 1
    while True:
        for i in range(start, n_points, step):
            for s in range(_N_SHIFTS):
                _fill_point(i, n_points, shifts[s], words, zeta)
                for a in range(n):
                    levels[a] = means[a]
                for j in range(rest):
                    for a in range(n):
                        levels[a] += parts[j + 1, a] * zeta[j]
                _add_line(levels, slopes, order, hull, corners, sums[s])
        worst = 0.0
        for a in range(n):
            mean, square = 0.0, 0.0
            for s in range(_N_SHIFTS):
                mean += sums[s, a] / (_N_SHIFTS * n_points)
            for s in range(_N_SHIFTS):
                square += (sums[s, a] / n_points - mean) ** 2
            worst = max(worst, square / (_N_SHIFTS * (_N_SHIFTS - 1)))
            out[a] = mean
        if math.sqrt(worst) <= _TOLERANCE or n_points >= _MOST_POINTS:
            return math.sqrt(worst)
        n_points *= 2
        start, step = 1, 2  # the even points of the doubled lattice are the ones already done
