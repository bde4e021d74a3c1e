"""Anchor-TS: the median of a draw from users, one from log and users, and the users' mean (Li et al. 2026)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats, Words
from headstart.checks import check_n_actions
from headstart.estimates.summary import Summary
from headstart.experiments.relatives.known import KnownMeans, as_known
from headstart.kernels import implements, kernel, play, probabilities, update
from headstart.kernels.quadrature import N_NODES, NODES, WEIGHTS
from headstart.kernels.random import draw_normal, draw_uniform
from headstart.kernels.tally import Tally, new_tally, update_tally
from headstart.oracles.compiled import CompiledOracle
from headstart.oracles.scores import play_largest, score
from headstart.randomness import RNG, as_words

_BREAKS = np.array([-9.0, -5.5, -3.5, -2.0, -0.75, 0.0, 0.75, 2.0, 3.5, 5.5, 9.0])  # of a draw, in its deviations


class AnchorTSState(NamedTuple):
    tally: Tally
    known: KnownMeans
    rng: Words  # (4,)


@kernel
def _draws(state: AnchorTSState, action: int) -> tuple[float, float, float, float]:
    """Mean and deviation of the users' draw, then of log and users together."""
    n, size = state.tally.counts[action], state.known.sizes[action]
    mean, scale = state.tally.means[action], state.known.scale
    both = (n * mean + size * state.known.means[action]) / (n + size)
    return mean, scale / math.sqrt(n), both, scale / math.sqrt(n + size)


@implements(score, AnchorTSState)
def _score(state: AnchorTSState, context: Floats, action: int, level: float) -> float:
    mean, width, both, narrow = _draws(state, action)
    online = mean + width * draw_normal(state.rng)
    hybrid = both + narrow * draw_normal(state.rng)
    return max(min(online, hybrid), min(max(online, hybrid), mean))


@kernel
def _count_unplayed(state: AnchorTSState, available: Bools) -> int:
    n = 0
    for a in range(available.size):
        if available[a] and state.tally.counts[a] == 0.0:
            n += 1
    return n


@implements(play, AnchorTSState)
def _play(state: AnchorTSState, context: Floats, available: Bools) -> int:
    n = _count_unplayed(state, available)
    if n == 0:
        return play_largest(state, context, available)
    skip = int(draw_uniform(state.rng) * n)
    chosen = -1
    for a in range(available.size):
        if available[a] and state.tally.counts[a] == 0.0:
            if skip == 0:
                chosen = a
            skip -= 1
    return chosen


@kernel
def _below(x: float, centre: float, width: float) -> float:
    return 0.5 * math.erfc(-(x - centre) / (width * math.sqrt(2.0)))


@kernel
def _chance_below(state: AnchorTSState, action: int, x: float, is_included: bool) -> float:
    """P(median <= x), or < x: both draws below it on the near side of the mean, one of them on the far side."""
    mean, width, both, narrow = _draws(state, action)
    online, hybrid = _below(x, mean, width), _below(x, both, narrow)
    if x > mean or (x == mean and is_included):
        return 1.0 - (1.0 - online) * (1.0 - hybrid)
    return online * hybrid


@kernel
def _density(state: AnchorTSState, action: int, x: float) -> float:
    mean, width, both, narrow = _draws(state, action)
    z, u = (x - mean) / width, (x - both) / narrow
    online, hybrid = _below(x, mean, width), _below(x, both, narrow)
    if x > mean:
        online, hybrid = 1.0 - online, 1.0 - hybrid
    peak = 1.0 / math.sqrt(2.0 * math.pi)
    return peak * (math.exp(-0.5 * z * z) / width * hybrid + math.exp(-0.5 * u * u) / narrow * online)


@kernel
def _points(state: AnchorTSState, available: Bools) -> Floats:
    """Panels' ends: every draw's own, the means among them."""
    points, n = np.empty(2 * _BREAKS.size * available.size), 0
    for a in range(available.size):
        if available[a]:
            mean, width, both, narrow = _draws(state, a)
            for each in _BREAKS:
                points[n], points[n + 1] = mean + each * width, both + each * narrow
                n += 2
    return np.sort(points[:n])


@implements(probabilities, AnchorTSState)
def _probabilities(state: AnchorTSState, context: Floats, available: Bools, out: Floats) -> None:
    """By quadrature, and the atoms at the users' means, the lowest index first among equals."""
    out[:] = 0.0
    n = _count_unplayed(state, available)
    if n > 0:
        for a in range(out.size):
            out[a] = 1.0 / n if available[a] and state.tally.counts[a] == 0.0 else 0.0
        return
    points = _points(state, available)
    for a in range(out.size):
        if not available[a]:
            continue
        mean = state.tally.means[a]
        atom = _chance_below(state, a, mean, True) - _chance_below(state, a, mean, False)
        for b in range(out.size):
            if available[b] and b != a:
                atom *= _chance_below(state, b, mean, b > a)
        out[a] += atom
        for panel in range(points.size - 1):
            half = 0.5 * (points[panel + 1] - points[panel])
            for node in range(N_NODES):
                x = points[panel] + half * (1.0 + NODES[node])
                part = half * WEIGHTS[node] * _density(state, a, x)
                for b in range(out.size):
                    if available[b] and b != a:
                        part *= _chance_below(state, b, x, True)
                out[a] += part
    out /= out.sum()


implements(update, AnchorTSState)(update_tally)


class AnchorTS(CompiledOracle[AnchorTSState]):
    """Thompson sampling whose index of an action is the median of three numbers, and so never far from its users.

    A draw from the posterior of the users' outcomes, N(ȳ, v/n); one from that of log and users together, N(pooled
    mean, v/(n + N)); and ȳ itself. A log that flatters an action is overruled by the other two, one that slanders it
    too; one that is right narrows the draw.

    How it is read: Bochao Li, Yao Fu, Wei Chen and Fang Kong, "Sample-Mean Anchored Thompson Sampling for
    Offline-to-Online Learning with Distribution Shift" (arXiv 2605.10289), from its abstract. What is ours: N is the
    effective size and the log's mean the doubly robust one (`evaluator.summary()`), v the log's pooled variance; an
    action that no user was shown yet comes first, drawn by lot.
    """

    def __init__(self, summary: Summary, rng: RNG = None) -> None:
        n = check_n_actions(len(summary.means))
        super().__init__(n, AnchorTSState(new_tally(n), as_known(summary, n), as_words(rng)))
