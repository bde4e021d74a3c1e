"""Choosing the best, and the chance of being the best."""

from __future__ import annotations

import math

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.kernels.compile import kernel
from headstart.kernels.quadrature import CUMULATIVE, N_NODES, NODES, WEIGHTS
from headstart.kernels.sorting import sort_pairs

NORMAL = 0  # parameters: mean, standard deviation
BETA = 1  # parameters: a, b, both at least 1

# How far from the mean, in standard deviations, a density's panels end. A Beta near its border has an
# exponential tail, hence the far ones.
_BREAKS_NORMAL = np.array([-9.0, -5.5, -3.5, -2.0, -0.75, 0.75, 2.0, 3.5, 5.5, 9.0])
_BREAKS_BETA = np.concatenate([[-40.0, -20.0, -13.0], _BREAKS_NORMAL, [13.0, 20.0, 40.0]])


@kernel
def best_available(values: Floats, available: Bools) -> int:
    """The available action with the largest value; ties go to the lowest index."""
    best = -1
    best_value = -np.inf
    for a in range(values.size):
        if available[a] and (best < 0 or values[a] > best_value):
            best = a
            best_value = values[a]
    return best


@kernel
def greedy_available(counts: Floats, means: Floats, available: Bools) -> int:
    """The lowest available action never played, or else the one with the largest mean."""
    for a in range(counts.size):
        if available[a] and counts[a] == 0.0:
            return a
    return best_available(means, available)


@kernel
def count_available(available: Bools) -> int:
    n = 0
    for a in range(available.size):
        if available[a]:
            n += 1
    return n


@kernel
def fill_uniform(available: Bools, out: Floats) -> None:
    """The same chance for every available action."""
    share = 1.0 / count_available(available)
    for a in range(out.size):
        out[a] = share if available[a] else 0.0


@kernel
def list_available(available: Bools) -> Integers:
    """The indices of available actions, in order."""
    found, n = np.empty(available.size, dtype=np.int64), 0
    for a in range(available.size):
        if available[a]:
            found[n] = a
            n += 1
    return found[:n]


@kernel
def draw_available(u: float, available: Bools) -> int:
    """The available action that a uniform number picks, each with the same chance."""
    skip = int(u * count_available(available))
    last = -1
    for a in range(available.size):
        if available[a]:
            last = a
            if skip == 0:
                return a
            skip -= 1
    return last


@kernel
def _moments(family: int, p: float, q: float) -> tuple[float, float]:
    if family == NORMAL:
        return p, q
    n = p + q
    return p / n, math.sqrt(p * q / (n * n * (n + 1.0)))


@kernel
def _density(family: int, p: float, q: float, log_scale: float, x: float) -> float:
    if family == NORMAL:
        z = (x - p) / q
        return math.exp(-0.5 * z * z - log_scale)
    if x <= 0.0 or x >= 1.0:
        return 0.0
    return math.exp((p - 1.0) * math.log(x) + (q - 1.0) * math.log1p(-x) - log_scale)


@kernel
def _log_scale(family: int, p: float, q: float) -> float:
    if family == NORMAL:
        return math.log(q) + 0.5 * math.log(2.0 * math.pi)
    return math.lgamma(p) + math.lgamma(q) - math.lgamma(p + q)


@kernel
def _find_rivals(family: int, p: Floats, q: Floats, available: Bools, breaks: Floats) -> tuple[Integers, Floats]:
    """The actions that may have the largest draw, and where panels begin and end, sorted.

    Below the first point some draw lies almost surely above: nothing there can be the largest.
    """
    floor = -np.inf
    for a in range(available.size):
        if available[a]:
            mean, deviation = _moments(family, p[a], q[a])
            floor = max(floor, mean + breaks[0] * deviation)
    points, rivals = np.empty(available.size * breaks.size + 1), np.empty(available.size, dtype=np.int64)
    n_points = n_rivals = 0
    for a in range(available.size):
        if not available[a]:
            continue
        mean, deviation = _moments(family, p[a], q[a])
        if mean + breaks[-1] * deviation <= floor:
            continue
        rivals[n_rivals] = a
        n_rivals += 1
        for z in breaks:
            point = mean + z * deviation
            if family == BETA:
                point = min(max(point, 0.0), 1.0)
            if point > floor:
                points[n_points] = point
                n_points += 1
    points[n_points] = floor if family == NORMAL else max(floor, 0.0)
    sort_pairs(points, points, 0, n_points + 1)  # each is its own item
    return rivals[:n_rivals], points[: n_points + 1]


@kernel
def probability_of_best(family: int, p: Floats, q: Floats, available: Bools, out: Floats) -> None:
    """P(draw of a is the largest) for independent draws, into `out`; sums to 1.

    P_a = integral of f_a(x) prod_(b != a) F_b(x) dx, by 16-point Gauss-Legendre on panels between
    the densities' own break points; F_b at the nodes by integrating the same interpolant, so no special
    function is needed. Absolute error below 1e-9 (tests compare with adaptive quadrature).
    Cost O(K^2) where the densities overlap; what lies surely below the best is cut off.
    """
    breaks = _BREAKS_NORMAL if family == NORMAL else _BREAKS_BETA
    out[:] = 0.0
    rivals, points = _find_rivals(family, p, q, available, breaks)
    n_rivals = rivals.size
    if n_rivals == 1:
        out[rivals[0]] = 1.0
        return
    scales = np.empty(n_rivals)
    cumulative = np.zeros(n_rivals)
    for r in range(n_rivals):
        a = rivals[r]
        scales[r] = _log_scale(family, p[a], q[a])
        # What lies below the floor: needed, since F_b starts there and not at 0.
        cumulative[r] = _mass_below(family, p[a], q[a], scales[r], points[0], breaks)
    density, below = np.empty((n_rivals, N_NODES)), np.empty((n_rivals, N_NODES))
    above = np.empty(n_rivals + 1)  # products of F over the rivals from r on
    for panel in range(points.size - 1):
        half = 0.5 * (points[panel + 1] - points[panel])
        if half <= 0.0:
            continue
        middle = 0.5 * (points[panel + 1] + points[panel])
        for r in range(n_rivals):
            a = rivals[r]
            for j in range(N_NODES):
                density[r, j] = _density(family, p[a], q[a], scales[r], middle + half * NODES[j])
        add_panel(half, density, below, above, cumulative, rivals, out)
    total = out.sum()
    if not total > 0.0:  # so narrow that no number lies between the break points: the draws are the means
        out[:] = 0.0
        out[best_available(p, available)] = 1.0
        return
    for a in range(available.size):
        out[a] /= total


@kernel
def integrate_panel(half: float, density: Floats, start: float, below: Floats) -> float:
    """The mass below each node of a panel into `below`, from `start` at its beginning; returns that at its end."""
    total = 0.0
    for j in range(N_NODES):
        partial = 0.0
        for i in range(N_NODES):
            partial += CUMULATIVE[j, i] * density[i]
        below[j] = min(max(start + half * partial, 0.0), 1.0)
        total += WEIGHTS[j] * density[j]
    return start + half * total


@kernel
def add_panel(
    half: float, density: Floats, below: Floats, above: Floats, cumulative: Floats, rivals: Integers, out: Floats
) -> None:
    """Add to `out` each rival's chance of the largest draw lying in one panel of half-width `half`.

    `density` has each rival's density at the panel's nodes, `cumulative` its mass below the panel, which is moved to
    the panel's end; `below` and `above` are scratch.
    """
    n_rivals = cumulative.size
    for r in range(n_rivals):
        cumulative[r] = integrate_panel(half, density[r], cumulative[r], below[r])
    for j in range(N_NODES):
        above[n_rivals] = 1.0
        for r in range(n_rivals - 1, -1, -1):
            above[r] = above[r + 1] * below[r, j]
        before = half * WEIGHTS[j]
        for r in range(n_rivals):
            out[rivals[r]] += before * density[r, j] * above[r + 1]
            before *= below[r, j]


@kernel
def _mass_below(family: int, p: float, q: float, log_scale: float, x: float, breaks: Floats) -> float:
    mean, deviation = _moments(family, p, q)
    mass = 0.0
    for i in range(breaks.size - 1):
        low = mean + breaks[i] * deviation
        high = min(mean + breaks[i + 1] * deviation, x)
        if family == BETA:
            low = max(low, 0.0)
            high = min(high, 1.0)
        if high <= low:
            continue
        half = 0.5 * (high - low)
        for j in range(N_NODES):
            mass += half * WEIGHTS[j] * _density(family, p, q, log_scale, low + half * (1.0 + NODES[j]))
    return mass
