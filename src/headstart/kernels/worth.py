"""What it is worth to learn more of an action before the rest of the users come.

Of a belief (kernels.beliefs), component 0 is the one that trusts the log. `caps` are the most that it may hold each
action for, `caution` how many times counts what is gained if the log is wrong.
"""

from __future__ import annotations

import math
from typing import Protocol

from headstart.arrays import Floats
from headstart.kernels.arrays import total
from headstart.kernels.beliefs import Believing
from headstart.kernels.beta import gain_above_beta, gain_after_plays
from headstart.kernels.compile import kernel

_ROOT_HALF = math.sqrt(0.5)
_DENSITY_AT_0 = 1.0 / math.sqrt(2.0 * math.pi)
_FAR = 9.0  # deviations beyond which nothing is gained
_LEAST_WEIGHT = 1e-12
_DOUBLINGS = 10  # looks ahead of 1, 2, 4, ..., 512 plays
_NEARLY_NORMAL = 400.0  # successes' worth from which a Beta distribution is taken for a normal one


class Learning(Believing, Protocol):
    """A state that weighs what there is to learn."""

    @property
    def caution(self) -> float: ...
    @property
    def caps(self) -> Floats: ...
    @property
    def pending(self) -> Floats: ...


@kernel
def density(z: float) -> float:
    """Of the standard normal distribution."""
    return _DENSITY_AT_0 * math.exp(-0.5 * z * z)


@kernel
def gain_above(mean: float, deviation: float, reference: float) -> float:
    """E max(x - reference, 0) for x ~ N(mean, deviation^2)."""
    if deviation <= 0.0:
        return max(mean - reference, 0.0)
    z = (mean - reference) / deviation
    if z < -_FAR:
        return 0.0
    if z > _FAR:
        return mean - reference
    return deviation * (density(z) + z * 0.5 * math.erfc(-z * _ROOT_HALF))


@kernel
def _location(state: Learning, a: int, j: int) -> float:
    """The posterior mean by one component; the log's is capped."""
    return min(state.belief.locations[a, j], state.caps[a]) if j == 0 else state.belief.locations[a, j]


@kernel
def mean_of(state: Learning, a: int) -> float:
    """The posterior mean of an action."""
    mean = 0.0
    for j in range(state.belief.weights.shape[1]):
        mean += state.belief.weights[a, j] * _location(state, a, j)
    return mean


@kernel
def _gain(state: Learning, a: int, reference: float, plays: float, is_leader: bool) -> float:
    """By how much the best mean is expected to rise through so many more plays of a; infinitely many: at most.

    An action behind the reference gains by turning out better, a leader by turning out worse. With its component
    known, the posterior mean moves by scale sqrt(plays / (plays + size)); that plays also tell the components apart
    is taken for granted, which makes the gain of few plays a little too large. What is gained if the log is wrong
    counts `caution` times.
    """
    gain = 0.0
    for j in range(state.belief.weights.shape[1]):
        if state.belief.weights[a, j] > _LEAST_WEIGHT:
            moved = 1.0 if plays == math.inf else math.sqrt(plays / (plays + state.belief.known[a, j]))
            ahead = _location(state, a, j) - reference
            deviation = state.belief.scales[a, j] * moved
            if state.belief.is_binary:
                part = _gain_binary(ahead + reference, state.belief.known[a, j], plays, deviation, reference)
                if is_leader:
                    part -= ahead
            else:
                part = gain_above(-ahead if is_leader else ahead, deviation, 0.0)
            part *= state.belief.weights[a, j]
            gain += part if j == 0 else state.caution * part
    return gain


@kernel
def _gain_binary(mean: float, known: float, plays: float, deviation: float, reference: float) -> float:
    """E max(M - reference, 0), M the mean after so many plays of a Beta distributed chance, worth `known` plays now.

    Where few successes decide, by their chances: M is skewed then, and a Beta distribution of its mean and standard
    deviation had actions without a success yet given up too early. Elsewhere M is taken for Beta distributed.
    """
    if plays < math.inf and 0.0 < mean < 1.0:
        gain = gain_after_plays(mean * known, (1.0 - mean) * known, plays, reference)
        if not math.isnan(gain):
            return gain
    variance = deviation * deviation
    around = mean * (1.0 - mean)
    if variance <= 0.0 or variance >= around:
        return max(mean - reference, 0.0)
    size = around / variance - 1.0
    if around * size > _NEARLY_NORMAL:
        return gain_above(mean, deviation, reference)
    return gain_above_beta(mean * size, (1.0 - mean) * size, reference)


@kernel
def worth_of(state: Learning, a: int, reference: float, remaining: float, least: float, is_leader: bool) -> float:
    """Per play, what trying action a up to 512 times more would gain the users after that, at best.

    `reference` is the best mean among the other actions. Plays in flight have been bought already, and will speak
    after about as many users as there are decisions in flight: only until then is there anything to gain by buying
    more now, and no more than what they gain together, less what those alone do. Below `least` it is not computed to
    the end.
    """
    bought = state.pending[a]
    already = 0.0
    if bought > 0.0:
        already = _gain(state, a, reference, bought, is_leader)
        remaining = min(remaining, total(state.pending))
    most = remaining * (_gain(state, a, reference, math.inf, is_leader) - already)
    best = 0.0
    plays = 1.0
    for _ in range(_DOUBLINGS):
        if plays >= remaining or most <= plays * max(best, least):  # neither can more plays be worth more
            break
        gained = _gain(state, a, reference, bought + plays, is_leader) - already
        best = max(best, (remaining - plays) * gained / plays)
        plays *= 2.0
    return best
