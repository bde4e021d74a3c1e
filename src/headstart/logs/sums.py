"""Sums that stand for a log: what weighting estimators and the audit need of its rows, per action.

Field names say what is summed: y is the outcome, w = 1/p the weight of a row, x a context column; `wwy` is the sum of
w * w * y. A log in memory and a table of any size give the same sums, so whatever is built on them does not ask where
the rows are.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from headstart.arrays import Floats


@dataclass(frozen=True)
class ActionSums:
    """Per action, each (K,). Sums with w are NaN for a log without propensities; extremes are NaN without rows."""

    n: Floats  # rows
    y: Floats
    yy: Floats
    w: Floats
    wy: Floats
    wyy: Floats
    ww: Floats
    wwy: Floats
    wwyy: Floats
    yyy: Floats
    www: Floats
    lowest: Floats  # smallest outcome
    highest: Floats  # largest outcome
    rarest: Floats  # smallest propensity


EVERY = tuple(field.name for field in fields(ActionSums))


@dataclass(frozen=True)
class ContextSums:
    """Per action and encoded context column, each (K, d)."""

    x: Floats
    xx: Floats
    wx: Floats
    wxx: Floats
