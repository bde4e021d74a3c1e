"""Balance: whether each action's users look like everybody, before and after weighting."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from headstart.logs.sums import ActionSums, ContextSums

SMALL, LARGE = 0.1, 0.25  # standardised mean differences (Austin 2009; Rubin 2001)
_CERTAINTY = 4.0  # standard errors beyond SMALL before an action's imbalance is more than noise


@dataclass(frozen=True)
class ColumnBalance:
    """One encoded column: standardised mean differences of each action's users to everybody, (K,)."""

    name: str
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def worst_before(self) -> float:
        return _worst(self.before)

    @property
    def worst_after(self) -> float:
        return _worst(self.after)


@dataclass(frozen=True)
class BalanceFinding:
    columns: tuple[ColumnBalance, ...]  # those that vary
    noise: tuple[float, ...]  # standard error of an action's differences after weighting, 1 / sqrt(N_a)
    worst_before: float
    worst_after: float
    unbalanced: tuple[tuple[str, object, float], ...]  # column, action, difference: beyond 0.1 and beyond noise


def describe_balance(
    sums: ActionSums,
    contexts: ContextSums,
    names: tuple[str, ...],
    actions: tuple[object, ...],
    leaked: Collection[str] = (),
) -> BalanceFinding:
    """(mean over the action's rows - mean over all rows) / standard deviation over all rows; plain and weighted.

    A leaked column may differ between actions because the outcome does: it is shown, and not counted as unbalanced.
    """
    n = sums.n.sum()
    centre = contexts.x.sum(axis=0) / n
    spread = np.sqrt(np.maximum(0.0, contexts.xx.sum(axis=0) / n - centre**2))
    moves = spread > 1e-7 * np.maximum(np.abs(centre), 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        before = (contexts.x / sums.n[:, None] - centre) / spread
        after = (contexts.wx / sums.w[:, None] - centre) / spread
        noise = np.sqrt(sums.ww) / sums.w
    columns = tuple(
        ColumnBalance(names[j], tuple(before[:, j].tolist()), tuple(after[:, j].tolist()))
        for j in np.flatnonzero(moves)
    )
    limit = SMALL + _CERTAINTY * noise
    unbalanced = [
        (names[j], actions[a], float(after[a, j]))
        for j in np.flatnonzero(moves)
        if names[j] not in leaked
        for a in np.flatnonzero(np.abs(after[:, j]) > limit)
    ]
    unbalanced.sort(key=lambda row: -abs(row[2]))
    return BalanceFinding(
        columns,
        tuple(noise.tolist()),
        max((column.worst_before for column in columns), default=0.0),
        max((column.worst_after for column in columns), default=0.0),
        tuple(unbalanced),
    )


def _worst(differences: tuple[float, ...]) -> float:
    known = [abs(value) for value in differences if np.isfinite(value)]
    return max(known, default=0.0)
