"""The chance of being the best when each draw comes from a mixture of Student distributions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headstart.kernels.best import N_NODES, NODES, add_panel
from headstart.kernels.compile import kernel

Floats = NDArray[np.float64]

# Where a component's panels end, in scales from its centre; those far out are for tails of low freedom, which fall
# as a power: on panels that grow by a factor the quadrature is as good as near the centre.
_BREAKS = np.array(
    [0.0, 0.75, 2.0, 3.5, 5.5, 9.0, 14.0, 22.0, 36.0, 60.0, 100.0, 180.0, 320.0]
    + [10.0 * 2.0**i for i in range(6, 19)]
)
_LEAST_WEIGHT = 1e-12  # components below cannot move a chance by more
_TAIL = math.log(1e12)
_MERGE = 0.3  # of a panel: break points nearer than that to the last one are one


@kernel
def _reach(freedom: float) -> float:
    """How far out, in scales, the tail of a Student distribution is below about 1e-12."""
    if freedom > 1e8:
        return math.sqrt(2.0 * _TAIL)
    return math.sqrt(freedom * math.expm1(2.0 * _TAIL / freedom))


@kernel
def _log_scale(scale: float, freedom: float) -> float:
    """The logarithm of what the density's kernel is divided by."""
    if freedom > 1e8:
        return math.log(scale) + 0.5 * math.log(2.0 * math.pi)
    halves = math.lgamma(0.5 * freedom) - math.lgamma(0.5 * (freedom + 1.0))
    return math.log(scale) + 0.5 * math.log(freedom * math.pi) + halves


@kernel
def _density(x: float, centre: float, scale: float, freedom: float, log_scale: float) -> float:
    z = (x - centre) / scale
    if freedom > 1e8:
        return math.exp(-0.5 * z * z - log_scale)
    return math.exp(-0.5 * (freedom + 1.0) * math.log1p(z * z / freedom) - log_scale)


@kernel
def _merged_points(
    weights: Floats, centres: Floats, scales: Floats, freedoms: Floats, rivals: NDArray[np.int64]
) -> Floats:
    """The panels' ends: every component's own, but not nearer to each other than a share of their panel."""
    n_most = 2 * _BREAKS.size * rivals.size * weights.shape[1]
    points, widths = np.empty(n_most), np.empty(n_most)
    n_points = 0
    for a in rivals:
        for j in range(weights.shape[1]):
            if weights[a, j] <= _LEAST_WEIGHT:
                continue
            reach = _reach(freedoms[a, j])
            for i in range(_BREAKS.size):
                if i > 0 and _BREAKS[i - 1] > reach:
                    break
                width = _MERGE * scales[a, j] * (_BREAKS[i] - _BREAKS[i - 1] if i > 0 else _BREAKS[1])
                for side in (-1.0, 1.0):
                    points[n_points] = centres[a, j] + side * _BREAKS[i] * scales[a, j]
                    widths[n_points] = width
                    n_points += 1
    order = np.argsort(points[:n_points])
    merged = np.empty(n_points)
    n_merged = 0
    for i in range(n_points):
        point = points[order[i]]
        if n_merged == 0 or i == n_points - 1 or point - merged[n_merged - 1] >= widths[order[i]]:
            merged[n_merged] = point
            n_merged += 1
    return merged[:n_merged]


@kernel
def probability_of_best_mixture(
    weights: Floats,
    centres: Floats,
    scales: Floats,
    freedoms: Floats,
    available: NDArray[np.bool_],
    out: Floats,
) -> None:
    """P(draw of a is the largest) for independent draws, each from its own mixture, into `out`; sums to 1.

    Arrays are (K, J): action a draws from component j with chance weights[a, j], a Student distribution with that
    centre, scale > 0 and freedom (infinite: the normal). The integral of `best.probability_of_best`, on panels
    between the components' break points. Absolute error below 1e-8 (tests compare with adaptive quadrature).
    """
    n_actions, n_components = weights.shape
    out[:] = 0.0
    rivals = np.empty(n_actions, dtype=np.int64)
    n_rivals = 0
    for a in range(n_actions):
        if available[a]:
            rivals[n_rivals] = a
            n_rivals += 1
    rivals = rivals[:n_rivals]
    if n_rivals == 1:
        out[rivals[0]] = 1.0
        return
    points = _merged_points(weights, centres, scales, freedoms, rivals)
    log_scales = np.empty((n_rivals, n_components))
    for r in range(n_rivals):
        for j in range(n_components):
            log_scales[r, j] = _log_scale(scales[rivals[r], j], freedoms[rivals[r], j])
    cumulative = np.zeros(n_rivals)
    density, below = np.empty((n_rivals, N_NODES)), np.empty((n_rivals, N_NODES))
    above = np.empty(n_rivals + 1)
    for panel in range(points.size - 1):
        half = 0.5 * (points[panel + 1] - points[panel])
        if half <= 0.0:
            continue
        middle = 0.5 * (points[panel + 1] + points[panel])
        for r in range(n_rivals):
            a = rivals[r]
            for node in range(N_NODES):
                x = middle + half * NODES[node]
                total = 0.0
                for j in range(n_components):
                    if weights[a, j] > _LEAST_WEIGHT:
                        total += weights[a, j] * _density(
                            x, centres[a, j], scales[a, j], freedoms[a, j], log_scales[r, j]
                        )
                density[r, node] = total
        add_panel(half, density, below, above, cumulative, rivals, out)
    total = out.sum()
    if not total > 0.0:  # so narrow that no number lies between the break points
        out[:] = 0.0
        best = rivals[0]
        for a in rivals:
            if centres[a, 0] > centres[best, 0]:
                best = a
        out[best] = 1.0
        return
    for a in range(n_actions):
        out[a] /= total
