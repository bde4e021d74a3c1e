"""The divergence of Bernoulli distributions, and the bound that it gives."""

from __future__ import annotations

import math

from headstart.kernels.compile import kernel

_MOST_STEPS = 50  # it takes 4 to 8


@kernel
def divergence(p: float, q: float) -> float:
    """kl(p, q) = p ln(p / q) + (1 - p) ln((1 - p) / (1 - q)), for 0 < q < 1; 0 ln 0 is 0."""
    first = p * math.log(p / q) if p > 0.0 else 0.0
    second = (1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if p < 1.0 else 0.0
    return first + second


@kernel
def divergence_upper(p: float, level: float) -> float:
    """The largest q with kl(p, q) <= level.

    Newton from above: kl is convex in q, so the steps go down and never past the root. The start is the smaller of
    Pinsker's bound and 1 - exp(-(level + entropy) / (1 - p)), which is what leaving out p ln(1 / q) >= 0 gives.
    """
    if p >= 1.0 or level <= 0.0:
        return min(p, 1.0)
    if p <= 0.0:
        return -math.expm1(-level)
    rest = 1.0 - p
    entropy = -p * math.log(p) - rest * math.log(rest)
    q = min(p + math.sqrt(0.5 * level), -math.expm1(-(level + entropy) / rest))
    for _ in range(_MOST_STEPS):
        if q <= p or q >= 1.0:  # at the ends of what floating point can tell apart
            return min(max(q, p), 1.0)
        step = (divergence(p, q) - level) * q * (1.0 - q) / (q - p)
        q -= step
        if abs(step) <= 1e-15 * q:
            break
    return min(max(q, p), 1.0)
