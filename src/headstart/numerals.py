"""Numbers as people read them: a few digits, words for the very large and small, 0 for what is 0 but for rounding."""

from __future__ import annotations

import math

_ROUNDING = 1e-12
_LEAST_CHANCE = 1e-4  # of a p-value that is told as it is
_FEW_PLACES, _MANY_DIGITS = 1e-4, 1e6  # beyond them nobody counts the digits
_SCALES = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_PARTS = ((1e-6, "millionths"), (1e-9, "billionths"))
NONE = "-"  # where there is no number


def tell_number(value: float, digits: int = 3, scale: float = 1.0) -> str:
    """The number to so many digits. Below 1e-12 of its scale it is 0: only rounding makes a number so small.

    What would need an exponent is told in millions, billions, millionths or billionths. Not for a chance, which may
    be as small as it likes (`tell_chance`).
    """
    if abs(value) < _ROUNDING * scale:
        return "0"
    unit, word = find_unit(abs(value))
    told = f"{value / unit:.{digits}g}" if abs(value / unit) < 10**digits - 0.5 else f"{value / unit:,.0f}"
    return f"{told} {word.removesuffix('s') if told == '1' else word}" if word else told


def find_unit(size: float) -> tuple[float, str]:
    """The unit in which a number of this size has few digits, and its name; (1.0, "") where it is plain as it is."""
    if _MANY_DIGITS <= size < math.inf:
        return next(each for each in _SCALES if size >= each[0])
    if _ROUNDING <= size < _FEW_PLACES:
        return next((each for each in _PARTS if size >= each[0]), _PARTS[-1])
    return 1.0, ""


def tell_chance(chance: float, digits: int = 2) -> str:
    """A p-value to so many digits; the smallest ones as what they are below, a dash where there is none."""
    if math.isnan(chance):
        return "-"
    return f"below {_LEAST_CHANCE:.4f}" if 0.0 < chance < _LEAST_CHANCE else f"{chance:.{digits}g}"


def tell_share(share: float | None, digits: int = 0) -> str:
    """Per cent; a dash for what is not known."""
    return NONE if share is None else f"{100.0 * share:.{digits}f} %"


def number(value: float | None, digits: int = 3) -> str:
    """A number for people; a dash where there is none."""
    if value is None or math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0.0 else "-∞"
    return f"{value:,.0f}" if 1000 <= abs(value) < _MANY_DIGITS else tell_number(value, digits)


def signed(value: float, digits: int = 3) -> str:
    """A gain or a loss, for people; nothing is 0, whatever its sign."""
    told = number(value, digits)
    return f"+{told}" if value > 0.0 and told != "0" else told


def more(value: float, digits: int = 3) -> str:
    """A difference in words: 3.2 more, 3.2 less, or as much."""
    told = number(abs(value), digits)
    return "as much" if told == "0" else f"{told} {'more' if value > 0.0 else 'less'}"


def tell_count(n: int, what: str) -> str:
    """So many of something, whose plural has an s."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def tell_cell(value: object) -> str:
    """Whatever stands in a table: a number for people, a word as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NONE if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else number(float(value))
