"""Draws from mixtures of Student distributions, perhaps capped: the chance of being the best."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.kernels.choice import add_panel, integrate_panel, list_available
from headstart.kernels.compile import kernel
from headstart.kernels.quadrature import N_NODES, NODES
from headstart.kernels.sorting import sort_pairs

# Where a component's panels end, in scales from its centre; those far out are for tails of low freedom, which fall
# as a power: on panels that grow by a factor the quadrature is as good as near the centre.
_BREAKS = np.array(
    [0.0, 0.75, 2.0, 3.5, 5.5, 9.0, 14.0, 22.0, 36.0, 60.0, 100.0, 180.0, 320.0]
    + [10.0 * 2.0**i for i in range(6, 19)]
)
_LEAST_WEIGHT = 1e-12  # components below cannot move a chance by more
_TAIL = math.log(1e12)
_MERGE = 0.3  # of a panel: break points nearer than that to the last one are one
_NEARLY_NORMAL = 1e8  # degrees of freedom from which a Student distribution is the normal


class Mixtures(NamedTuple):
    """What each action's draw comes from: component j with chance weights[a, j], and a cap.

    A component is centre + scale t, t Student's with freedoms[a] degrees. The draw is the lesser of it and
    cap_centre + cap_scale |t|, with a t of its own. A cap_scale of infinity: no cap.
    """

    weights: Floats  # (K, J)
    centres: Floats  # (K, J)
    scales: Floats  # (K, J) > 0
    freedoms: Floats  # (K,) infinite: the normal
    cap_centres: Floats  # (K,)
    cap_scales: Floats  # (K,)


@kernel
def _reach(freedom: float) -> float:
    """How far out, in scales, the tail of a Student distribution is below about 1e-12."""
    if freedom > _NEARLY_NORMAL:
        return math.sqrt(2.0 * _TAIL)
    return math.sqrt(freedom * math.expm1(2.0 * _TAIL / freedom))


@kernel
def _log_scale(freedom: float) -> float:
    """The logarithm of what the density's kernel is divided by, for a scale of 1."""
    if freedom > _NEARLY_NORMAL:
        return 0.5 * math.log(2.0 * math.pi)
    halves = math.lgamma(0.5 * freedom) - math.lgamma(0.5 * (freedom + 1.0))
    return 0.5 * math.log(freedom * math.pi) + halves


@kernel
def _density(x: float, centre: float, scale: float, freedom: float, log_scale: float) -> float:
    z = (x - centre) / scale
    if freedom > _NEARLY_NORMAL:
        return math.exp(-0.5 * z * z - log_scale) / scale
    return math.exp(-0.5 * (freedom + 1.0) * math.log1p(z * z / freedom) - log_scale) / scale


@kernel
def _add_points(
    centre: float, scale: float, freedom: float, is_half: bool, points: Floats, widths: Floats, n_points: int
) -> int:
    """A distribution's own panel ends, and how near to another's end each may lie; returns how many there are now."""
    reach = _reach(freedom)
    for i in range(_BREAKS.size):
        if i > 0 and _BREAKS[i - 1] > reach:
            break
        width = _MERGE * scale * (_BREAKS[i] - _BREAKS[i - 1] if i > 0 else _BREAKS[1])
        for side in (-1.0, 1.0):
            if is_half and (side < 0.0 or i == 0):
                width = 0.0 if i == 0 else width  # a cap's density jumps at its centre: that end must stay
                if side < 0.0:
                    continue
            points[n_points] = centre + side * _BREAKS[i] * scale
            widths[n_points] = width
            n_points += 1
    return n_points


@kernel
def _merged_points(draws: Mixtures, rivals: Integers) -> Floats:
    """The panels' ends: every component's own, but not nearer to each other than a share of their panel."""
    n_components = draws.weights.shape[1]
    n_most = 2 * _BREAKS.size * rivals.size * (n_components + 1)
    points, widths = np.empty(n_most), np.empty(n_most)
    n_points = 0
    for a in rivals:
        for j in range(n_components):
            if draws.weights[a, j] > _LEAST_WEIGHT:
                n_points = _add_points(
                    draws.centres[a, j], draws.scales[a, j], draws.freedoms[a], False, points, widths, n_points
                )
        if draws.cap_scales[a] < np.inf:
            n_points = _add_points(
                draws.cap_centres[a], draws.cap_scales[a], draws.freedoms[a], True, points, widths, n_points
            )
    sort_pairs(points, widths, 0, n_points)
    merged = np.empty(n_points)
    n_merged = 0
    for i in range(n_points):
        if n_merged == 0 or i == n_points - 1 or points[i] - merged[n_merged - 1] >= widths[i]:
            merged[n_merged] = points[i]
            n_merged += 1
    return merged[:n_merged]


@kernel
def _fill_density(draws: Mixtures, action: int, middle: float, half: float, out: Floats) -> None:
    """The density of an action's components together at a panel's nodes."""
    freedom = draws.freedoms[action]
    log_scale = _log_scale(freedom)
    for node in range(N_NODES):
        out[node] = 0.0
    for j in range(draws.weights.shape[1]):
        weight, centre, scale = draws.weights[action, j], draws.centres[action, j], draws.scales[action, j]
        if weight > _LEAST_WEIGHT:
            for node in range(N_NODES):
                out[node] += weight * _density(middle + half * NODES[node], centre, scale, freedom, log_scale)


@kernel
def _fill_cap_density(draws: Mixtures, action: int, middle: float, half: float, out: Floats) -> None:
    freedom = draws.freedoms[action]
    log_scale = _log_scale(freedom)
    centre, scale = draws.cap_centres[action], draws.cap_scales[action]
    for node in range(N_NODES):
        x = middle + half * NODES[node]
        out[node] = 2.0 * _density(x, centre, scale, freedom, log_scale) if x > centre else 0.0


@kernel
def probability_of_best_mixture(draws: Mixtures, available: Bools, out: Floats) -> None:
    """P(draw of a is the largest) for independent draws, into `out`; sums to 1.

    The integral of `kernels.choice.probability_of_best`, on panels between the components' break points. With a cap,
    1 - F = (1 - F_components)(1 - F_cap). Absolute error below 1e-8 (tests compare with scipy's distributions).
    """
    rivals = list_available(available)
    n_rivals = rivals.size
    out[:] = 0.0
    if n_rivals == 1:
        out[rivals[0]] = 1.0
        return
    points = _merged_points(draws, rivals)
    cumulative, uncapped, caps = np.zeros(n_rivals), np.zeros(n_rivals), np.zeros(n_rivals)
    density, below = np.empty((n_rivals, N_NODES)), np.empty((n_rivals, N_NODES))
    above = np.empty(n_rivals + 1)
    own_below, cap, cap_below = np.empty(N_NODES), np.empty(N_NODES), np.empty(N_NODES)
    for panel in range(points.size - 1):
        half = 0.5 * (points[panel + 1] - points[panel])
        if half <= 0.0:
            continue
        middle = 0.5 * (points[panel + 1] + points[panel])
        for r in range(n_rivals):
            a = rivals[r]
            _fill_density(draws, a, middle, half, density[r])
            if draws.cap_scales[a] < np.inf:
                _fill_cap_density(draws, a, middle, half, cap)
                uncapped[r] = integrate_panel(half, density[r], uncapped[r], own_below)
                caps[r] = integrate_panel(half, cap, caps[r], cap_below)
                for node in range(N_NODES):
                    freely = density[r, node] * (1.0 - cap_below[node])
                    density[r, node] = freely + cap[node] * (1.0 - own_below[node])
        add_panel(half, density, below, above, cumulative, rivals, out)
    total = out.sum()
    if not total > 0.0:  # so narrow that no number lies between the break points: the draws are the centres
        best = rivals[0]
        for a in rivals:
            if draws.centres[a, 0] > draws.centres[best, 0]:
                best = a
        out[best] = 1.0
        return
    for a in range(out.size):
        out[a] /= total
