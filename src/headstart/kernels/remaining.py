"""How many users are to come: what learning is worth is worth it to them."""

from __future__ import annotations

from headstart.kernels.compile import kernel

NOT_TOLD = 0.0  # a horizon that nobody named
LEAST = 300.0  # users to come at least, where it is not told


@kernel
def users_to_come(horizon: float, n: float, last: float) -> float:
    """Of n users so far, those after them.

    Display: what the horizon leaves, and at least the share `last` of it, or of those so far once it is passed, for a
    stream that goes on. Not told: as many as have come, and at least 300 (the doubling trick, without beginning
    anew: what a stream of any length explores is what one twice as long would).
    """
    if horizon > NOT_TOLD:
        return max(horizon - n, last * max(horizon, n))
    return max(n, LEAST)
