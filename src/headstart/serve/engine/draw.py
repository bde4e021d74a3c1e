"""How an action is drawn: from exactly the vector that is logged, by a number that the event id decides.

The oracle's own `play` is not asked: its randomness is nobody's to check. Here everything a decision depends on is in
the log, so it can be drawn again, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

_TO_UNIT = 2.0**-53


def draw_by_id(purpose: str, seed: int, experiment: str, event_id: str) -> float:
    """A number in [0, 1) with 53 random bits that anyone can compute again.

    `purpose` tells apart the draws of one event: whether it is held out, and its action.
    """
    text = f"{purpose}\0{seed}\0{experiment}\0{event_id}".encode("utf-8", "surrogatepass")
    return (int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> 11) * _TO_UNIT


def mix_floor(chances: Sequence[float], available: Sequence[int], epsilon: float) -> list[float]:
    """(1 - epsilon) p + epsilon / K over the K available actions, 0 for the others; sums to 1 but for rounding."""
    total = sum([chances[a] for a in available])
    floor = epsilon / len(available)
    mixed = [0.0] * len(chances)
    if total > 0.0:
        kept = (1.0 - epsilon) / total
        for a in available:
            mixed[a] = kept * chances[a] + floor
    else:  # a policy that gives no chance to any of these says nothing about them
        for a in available:
            mixed[a] = 1.0 / len(available)
    return mixed


def mix_safe(chances: Sequence[float], safe: int, share: float) -> list[float]:
    """share * p + (1 - share) for the safe action: what it is drawn from while an experiment decides for a share."""
    mixed = [share * chance for chance in chances]
    mixed[safe] += 1.0 - share
    return mixed


def draw_action(probabilities: Sequence[float], uniform: float) -> int:
    """The action whose stretch of the cumulative sum holds `uniform`; never one without a chance."""
    reached = 0.0
    last = -1
    for action, chance in enumerate(probabilities):
        if chance > 0.0:
            reached += chance
            if uniform < reached:
                return action
            last = action
    return last  # the sum fell short of 1 by rounding
