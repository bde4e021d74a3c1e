"""Numbers as people read them: a few digits, and 0 for what is 0 but for rounding."""

from __future__ import annotations

import math

_ROUNDING = 1e-12


def tell_number(value: float, digits: int = 3, scale: float = 1.0) -> str:
    """The number to so many digits. Below 1e-12 of its scale it is 0: only rounding makes a number so small.

    Not for a chance, which may be as small as it likes (`tell_chance`).
    """
    return f"{0.0 if abs(value) < _ROUNDING * scale else value:.{digits}g}"


def tell_chance(chance: float, digits: int = 2) -> str:
    """A p-value to so many digits; the smallest ones as what they are below, a dash where there is none."""
    if math.isnan(chance):
        return "-"
    return "below 1e-12" if 0.0 < chance < _ROUNDING else f"{chance:.{digits}g}"
