"""Copies: rows that stand in the log twice, so that everything looks surer than it is.

Where the contexts nearly identify a row, two rows that agree in every context, the action, the outcome and the
propensity are one row that was read, joined or sent twice; or one user who came again, which errors do not know
either unless the log says whose rows they are (`units`). Copies are then treated as rows of one unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.logs.log import Log

MATERIAL = 0.01  # of the rows
_FEWEST_COPIES = 10
_IDENTIFIED = 0.9  # of the different rows differ in their contexts alone


@dataclass(frozen=True)
class CopiesFinding:
    """Which rows of the sample agree in everything."""

    n_copies: int  # rows beyond the first of their kind, in the sample
    share: float  # of the rows of the whole log, as the sample tells it
    is_material: bool


NO_COPIES = CopiesFinding(0, 0.0, False)


def find_copies(sample: Log, n_rows: int, *, is_timed: bool = True) -> tuple[CopiesFinding, Integers | None]:
    """The finding, and as units which rows are copies of each other, (n,), if they are to be treated as one.

    Of a sample of a share f of the rows, a copy is seen only if its original is: the share of copies is that in the
    sample over f. A log with units has said already which rows depend on each other. `is_timed`: copies have the same
    time too.
    """
    if sample.units is not None or sample.n_features == 0 or len(sample) < 2:
        return NO_COPIES, None
    who, n_who = _number([np.ascontiguousarray(column) for column in sample.contexts.T])
    rest = [sample.actions.astype(np.float64), sample.outcomes]
    rest += [] if sample.propensities is None else [sample.propensities]
    rest += [sample.times] if sample.times is not None and is_timed else []
    same, n_same = _number([who.astype(np.float64), *rest])
    n_copies = len(sample) - n_same
    share = min(1.0, n_copies / len(sample) * (n_rows / len(sample)))
    is_material = n_copies >= _FEWEST_COPIES and share >= MATERIAL and n_who >= _IDENTIFIED * n_same
    return CopiesFinding(n_copies, share, is_material), same if is_material else None


def _number(columns: list[Floats]) -> tuple[Integers, int]:
    """Rows that are equal in all columns have the same number; and how many numbers there are.

    By a hash of 64 bits: of 50,000 rows two different ones share theirs once in ten billion logs.
    """
    mixed = np.zeros(columns[0].size, dtype=np.uint64)
    for column in columns:
        mixed = (mixed ^ (column + 0.0).view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)  # -0.0 == 0.0
        mixed ^= mixed >> np.uint64(29)
        mixed = mixed * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
    found, numbers = np.unique(mixed, return_inverse=True)
    return numbers, found.size
