"""Calibration: in groups of like users, how often an action was taken against what its propensities say.

Only the propensity of the action taken is needed: the n_a rows of a group stand for W_a users, so their propensities
claim the rate n_a / W_a (their harmonic mean); the group's n users saw the action at the rate n_a / n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.judgement.audit.checks.cells import count_cells
from headstart.judgement.audit.checks.groups import Groups

_BINS = 10


@dataclass(frozen=True)
class CalibrationFinding:
    """A curve over bins of the claimed rate (equal numbers of users), and the distance from it to the diagonal."""

    claimed: tuple[float, ...]
    observed: tuple[float, ...]
    errors: tuple[float, ...]  # standard errors of the observed rates
    users: tuple[int, ...]  # rows behind each point, once per action
    error: float  # mean of |observed - claimed|, weighted by users
    slope: float  # of observed on claimed: 1 if true, below 1 if too extreme; NaN if all claims are the same
    n_groups: int


def describe_calibration(groups: Groups) -> CalibrationFinding:
    """The curve from groups that the tree found on the other half of the rows."""
    cells = count_cells(groups.log, groups.labels, groups.n_groups, np.nan, has_vectors=False)
    kept = cells.rows > 0
    seen, n = cells.rows[kept], cells.users[kept]
    claimed = seen / (cells.ratios[kept] * n)
    order = np.argsort(claimed, kind="stable")
    cuts = np.searchsorted(np.cumsum(n[order]), np.linspace(0.0, n.sum(), _BINS + 1)[1:-1])
    points: list[tuple[float, float, float, int]] = []
    for part in np.split(order, cuts):
        if part.size:
            total = n[part].sum()
            share = seen[part].sum() / total
            # A fitted claim may leave [0, 1] by noise; a rate may not.
            mean = min(1.0, float(np.sum(claimed[part] * n[part]) / total))
            points.append((mean, float(share), float(np.sqrt(share * (1.0 - share) / total)), int(total)))
    says, shares, errors, totals = zip(*points, strict=True)
    x, y = np.array(says), np.array(shares)
    weights = np.array(totals) / sum(totals)
    centred = x - weights @ x
    scatter = float(weights @ centred**2)
    return CalibrationFinding(
        claimed=tuple(float(v) for v in says),
        observed=tuple(float(v) for v in shares),
        errors=errors,
        users=totals,
        error=float(np.sum(np.abs(seen / n - np.minimum(1.0, claimed)) * n) / n.sum()),
        slope=float(weights @ (centred * y)) / scatter if scatter > 1e-12 else float("nan"),
        n_groups=groups.n_groups,
    )
