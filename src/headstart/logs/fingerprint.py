"""Fingerprint: by what one tells whether two logs are the same, without their rows."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats
from headstart.logs.any_log import AnyLog

_ROUNDING = 1e-9  # databases add up in different orders


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """Actions, columns, and per action the rows and the sum of their outcomes."""

    action_names: tuple[Hashable, ...]
    columns: tuple[str, ...]
    rows: Floats  # (K,)
    outcomes: Floats  # (K,)
    squares: Floats  # (K,) of the outcomes

    @classmethod
    def of(cls, log: AnyLog) -> Fingerprint:
        """The fingerprint of a log, or of a table of any size."""
        sums = log.action_sums(("n", "y", "yy"))
        counted = (np.array(each, dtype=np.float64) for each in (sums.n, sums.y, sums.yy))
        return cls(tuple(log.action_names), log.encoding.columns, *counted)

    def mean_outcome(self) -> tuple[float, float]:
        """The mean outcome of all rows, and its standard error."""
        n = float(self.rows.sum())
        mean = float(self.outcomes.sum()) / n
        variance = max(float(self.squares.sum()) / n - mean * mean, 0.0)
        return mean, math.sqrt(variance / n)

    def difference(self, other: Fingerprint) -> str | None:
        """The first thing in which another log differs, in words; None: they are the same."""
        if self.action_names != other.action_names:
            return f"its actions are {_listed(self.action_names)}, not {_listed(other.action_names)}"
        if self.columns != other.columns:
            return f"its columns are {_listed(self.columns)}, not {_listed(other.columns)}"
        if not np.array_equal(self.rows, other.rows):
            return f"it has {int(self.rows.sum()):,} rows in other shares per action, not {int(other.rows.sum()):,}"
        scale = np.abs(self.outcomes).max(initial=0.0) + 1.0
        if not np.allclose(self.outcomes, other.outcomes, rtol=_ROUNDING, atol=_ROUNDING * scale):
            return "its outcomes are others"
        return None


def _listed(names: tuple[Hashable, ...]) -> str:
    shown = ", ".join(str(name) for name in names[:6])
    return f"{shown} ..." if len(names) > 6 else shown or "none"
