"""The Beta distribution: its upper tail, and what is expected above a reference of it, or of its mean after plays."""

from __future__ import annotations

import math

from headstart.kernels.compile import kernel

_MOST_STEPS = 300  # of the continued fraction; it takes a few times the root of the larger parameter
_TINY = 1e-300
_ENOUGH = 1e-14
MOST_TERMS = 64.0  # successes that are summed over one by one


@kernel
def log_beta(a: float, b: float) -> float:
    """The logarithm of B(a, b)."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@kernel
def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (Press et al. 2007, 6.4), by Lentz's method."""
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    result = d
    for m in range(1, _MOST_STEPS):
        for odd in range(2):
            if odd == 0:
                step = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
            else:
                step = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
            d, c = 1.0 + step * d, 1.0 + step / c
            d = 1.0 / (d if abs(d) > _TINY else _TINY)
            c = c if abs(c) > _TINY else _TINY
            result *= d * c
        if abs(d * c - 1.0) < _ENOUGH:
            break
    return result


@kernel
def beta_tail(a: float, b: float, x: float) -> float:
    """P(X > x) for X ~ Beta(a, b)."""
    if x <= 0.0:
        return 1.0
    if x >= 1.0:
        return 0.0
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta(a, b))
    if x < (a + 1.0) / (a + b + 2.0):
        return 1.0 - front * _fraction(a, b, x) / a
    return front * _fraction(b, a, 1.0 - x) / b


@kernel
def gain_above_beta(a: float, b: float, reference: float) -> float:
    """E max(X - reference, 0) for X ~ Beta(a, b)."""
    mean = a / (a + b)
    if reference <= 0.0:
        return mean - reference
    if reference >= 1.0:
        return 0.0
    # P of Beta(a + 1, b) above it is P of Beta(a, b) and a term more.
    more = math.exp(a * math.log(reference) + b * math.log1p(-reference) - log_beta(a, b)) / a
    above = beta_tail(a, b, reference)
    return max(mean * (above + more) - reference * above, 0.0)


@kernel
def gain_after_plays(a: float, b: float, plays: float, reference: float) -> float:
    """E max(M - reference, 0), M the mean of a Beta(a, b) chance after so many plays of it more.

    Their successes k are beta-binomial, M = (a + k) / (a + b + plays), and E M = a / (a + b): so it is that less the
    reference, plus what the k below it fall short by. Fewer than 64 of these are summed; NaN if there are more.
    """
    needed = reference * (a + b + plays) - a  # successes that lift M to the reference
    if needed >= plays:
        return 0.0
    if needed > MOST_TERMS:
        return math.nan
    short, k = 0.0, 0.0
    chance = math.exp(log_beta(a, b + plays) - log_beta(a, b))
    while k < needed:
        short += chance * (needed - k)
        chance *= (plays - k) * (a + k) / ((k + 1.0) * (b + plays - k - 1.0))
        k += 1.0
    return max(a / (a + b) - reference + short / (a + b + plays), 0.0)
