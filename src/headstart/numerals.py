"""Numbers as people read them: a few digits, and 0 for what is 0 but for rounding."""

from __future__ import annotations

import math

_ROUNDING = 1e-12
NONE = "-"  # where there is no number


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


def tell_share(share: float | None, digits: int = 0) -> str:
    """Per cent; a dash for what is not known."""
    return NONE if share is None else f"{100.0 * share:.{digits}f} %"


def number(value: float | None, digits: int = 3) -> str:
    """A number for people; a dash where there is none."""
    if value is None or math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0.0 else "-∞"
    return f"{value:,.0f}" if abs(value) >= 1000 else tell_number(value, digits)


def tell_cell(value: object) -> str:
    """Whatever stands in a table: a number for people, a word as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NONE if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else number(float(value))
