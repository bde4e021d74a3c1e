"""What safety costs: no policy gains everything from a good log and loses little to one that slanders an action."""

from __future__ import annotations

import math

from headstart.bounds.conditions import check_rounds
from headstart.checks import check_number


def safety_lower(gap: float, advantage: float, deviation: float, horizon: int, regret: float) -> float:
    """The least regret on a log that is right of any policy with at most `regret` if that log slanders an action.

    Parameters
    ----------
    gap
        By how much the log has the action below the best one.
    advantage
        By how much the action is above it instead, if the log slanders it.
    deviation
        Standard deviation of an outcome, normal in both worlds.
    horizon
        T users.
    regret
        Of the policy in the world where the log slanders the action.

    Notes
    -----
    The log is the same in both worlds, so only n plays of the action tell them apart: KL = n (gap + advantage)^2 /
    (2 deviation^2). More than T/2 plays have a chance of at most 2 n / T in the first world, fewer one of at most
    2 regret / (advantage T) in the second, and the two chances sum to at least exp(-KL) / 2 (Bretagnolle and Huber
    1979). The smallest such n, times the gap, is the bound: about gap 2 deviation^2 / (gap + advantage)^2
    ln(advantage T / (4 regret)).
    """
    lost = check_number("gap", gap, low=1e-300)
    won = check_number("advantage", advantage, low=1e-300)
    rounds, allowed = float(check_rounds(horizon)), check_number("regret", regret, low=0.0)
    told = 0.5 * ((lost + won) / check_number("deviation", deviation, low=1e-300)) ** 2

    def is_enough(n: float) -> bool:
        return 2.0 * n / rounds + 2.0 * allowed / (won * rounds) >= 0.5 * math.exp(-n * told)

    low, high = 0.0, rounds / 4.0  # at T/4 plays the left side is at least 1/2
    if is_enough(low):
        return 0.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return lost * high
