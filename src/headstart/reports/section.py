"""A section of a report: a question, the answer in words, the numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headstart.numerals import NONE


@dataclass(frozen=True)
class Section:
    """A question, the answer in a sentence or two, and the numbers."""

    key: str
    title: str
    sentences: tuple[str, ...]
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    n_left_out: int = 0  # rows that would have made the table too long
    status: str = "fine"  # the gravest reason that comes from here


def as_percent(value: float) -> str:
    if math.isnan(value):
        return NONE
    if value == 0.0:
        return "0 %"
    return f"{100 * value:.1f} %" if value >= 0.001 else "< 0.1 %"
