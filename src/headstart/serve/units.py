"""Units: whose decisions these are (a person, a device, a shop), and for how long one keeps its action."""

from __future__ import annotations

from typing import NamedTuple

from headstart.checks import check_number
from headstart.errors import OptionError

MAX_UNIT = 200
FOR_EVER = "for ever"


class Unit(NamedTuple):
    """In the place of an event id: the unit's newest decision is meant."""

    name: str


def check_unit(unit: object) -> str:
    """1 to 200 printable characters."""
    if not isinstance(unit, str) or not 1 <= len(unit) <= MAX_UNIT or not unit.isprintable():
        raise OptionError(f"unit must be 1 to {MAX_UNIT} printable characters, got {unit!r:.80}")
    return unit


def read_sticky(at: str, value: object) -> float | None:
    """Seconds for which a unit keeps its action, from the draw on; None is for ever."""
    if value is None or value == FOR_EVER:
        return None
    if isinstance(value, str):
        raise OptionError(f'{at} must be a number of seconds or "{FOR_EVER}", got {value!r}')
    return check_number(at, value, 0.0, 1e10)
