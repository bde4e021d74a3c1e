"""Widths of confidence bounds, as functions of the plays they rest on."""

from __future__ import annotations

import math

from headstart.kernels.compile import kernel


@kernel
def worst_width(log_n: float, plays: float) -> float:
    """sqrt(2 ln n / plays): enough for any outcome in [0, 1] (Auer et al. 2002, UCB1)."""
    return math.sqrt(2.0 * log_n / plays) if plays > 0.0 else math.inf


@kernel
def worst_bonus(beta: float, log_n: float, plays: float) -> float:
    """beta times `worst_width`; infinite without plays, also where beta or the logarithm is 0."""
    return beta * worst_width(log_n, plays) if plays > 0.0 else math.inf


@kernel
def normal_width(log_n: float, plays: float, variance: float) -> float:
    """s sqrt(n^(2 / (plays - 2)) - 1): for normal outcomes of unknown variance (Cowan, Honda and Katehakis 2018).

    About s sqrt(2 ln n / plays) for many plays; infinite for two or fewer, which say nothing of a variance.
    """
    if plays <= 2.0:
        return math.inf
    power = 2.0 * log_n / (plays - 2.0)
    return math.sqrt(variance * math.expm1(power)) if power < 700.0 else math.inf
