"""Leakage: a context column that is the outcome, or was only known after it.

A column known before the decision rarely settles the outcome. One that within every action's rows tells nearly all of
it was most likely written down afterwards; adjusting for it, or deciding on it, would look splendid and be worthless.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.logs.log import Log

LEAK_R2, LEAK_AUC = 0.8, 0.95
SUSPECT_R2, SUSPECT_AUC, SUSPECT_TIMES = 0.4, 0.85, 4.0
_BINS = 100
_FEWEST_ROWS = 50  # of an action
_ROWS_IN_BIN = 20  # on average of an action: of rare successes, a row with a bin to itself would tell its own outcome
_FEWEST_SUCCESSES = 10  # and failures


@dataclass(frozen=True)
class ColumnLeak:
    """How much one encoded column tells of the outcome within the rows of each action."""

    name: str
    r2: float  # of the outcome's rank (of the outcome itself if binary) on the column in 100 bins, adjusted
    auc: float  # of a binary outcome, the better direction; NaN otherwise
    kind: str  # "leak", "suspect" or "none"


@dataclass(frozen=True)
class LeakageFinding:
    columns: tuple[ColumnLeak, ...]  # most telling first
    n_rows: int

    def of_kind(self, kind: str) -> tuple[ColumnLeak, ...]:
        return tuple(column for column in self.columns if column.kind == kind)


def find_leaks(log: Log) -> LeakageFinding:
    """The rule: a leak has R2 >= 0.8 or AUC >= 0.95; a suspect has R2 >= 0.4 or AUC >= 0.85 and an R2 four times
    that of any other column."""
    counts = np.bincount(log.actions, minlength=log.n_actions)
    kept = counts[log.actions] >= _FEWEST_ROWS
    if not kept.any() or log.n_features == 0:
        return LeakageFinding((), int(kept.sum()))
    actions, outcomes, contexts = log.actions[kept], log.outcomes[kept], log.contexts[kept]
    is_binary = bool(np.isin(outcomes, (0.0, 1.0)).all())
    if is_binary and min(outcomes.sum(), outcomes.size - outcomes.sum()) < _FEWEST_SUCCESSES:
        return LeakageFinding((), int(kept.sum()))
    n_bins = int(np.clip(kept.sum() // (_ROWS_IN_BIN * np.unique(actions).size), 2, _BINS))
    target = outcomes if is_binary else _ranks_within(actions, outcomes)
    measured = []
    for j, name in enumerate(log.context_names):
        bins = bin_column(contexts[:, j], n_bins)
        auc = _auc(actions, outcomes, bins, log.n_actions) if is_binary else float("nan")
        measured.append((name, _r2(actions, target, bins, log.n_actions), auc))
    measured.sort(key=lambda row: (-row[1], row[0]))
    found = []
    for name, r2, auc in measured:
        others = max((other for n, other, _ in measured if n.split("=")[0] != name.split("=")[0]), default=0.1)
        if r2 >= LEAK_R2 or auc >= LEAK_AUC:
            kind = "leak"
        elif (r2 >= SUSPECT_R2 or auc >= SUSPECT_AUC) and r2 >= SUSPECT_TIMES * others:
            kind = "suspect"
        else:
            kind = "none"
        found.append(ColumnLeak(name, r2, auc, kind))
    return LeakageFinding(tuple(found), int(kept.sum()))


def _ranks_within(actions: Integers, outcomes: Floats) -> Floats:
    ranks = np.empty(outcomes.size)
    for a in np.unique(actions):
        mine = actions == a
        _, place, count = np.unique(outcomes[mine], return_inverse=True, return_counts=True)
        ranks[mine] = (np.cumsum(count) - (count - 1) / 2.0)[place]  # ties share their middle rank
    return ranks


def bin_column(column: Floats, n_most: int) -> Integers:
    """The place of each value among the different ones or, if these are too many, among so many quantiles, (n,)."""
    ordered = np.sort(column)
    is_new = np.diff(ordered, prepend=-np.inf) > 0.0
    if is_new.sum() > n_most:
        cuts = np.unique(ordered[np.arange(1, n_most) * column.size // n_most])
        return np.searchsorted(cuts, column, side="right")
    return np.searchsorted(ordered[is_new], column)


def _r2(actions: Integers, target: Floats, bins: Integers, n_actions: int) -> float:
    n_bins = int(bins.max()) + 1
    within, groups = _squares_left(actions, target, n_actions)
    left, cells = _squares_left(actions * n_bins + bins, target, n_actions * n_bins)
    if within <= 0.0 or target.size <= cells:
        return 0.0
    return max(0.0, 1.0 - (left / (target.size - cells)) / (within / (target.size - groups)))


def _squares_left(cells: Integers, target: Floats, n_cells: int) -> tuple[float, int]:
    counts = np.bincount(cells, minlength=n_cells)
    means = np.bincount(cells, target, n_cells) / np.maximum(counts, 1)
    return float(np.sum((target - means[cells]) ** 2)), int((counts > 0).sum())


def _auc(actions: Integers, outcomes: Floats, bins: Integers, n_actions: int) -> float:
    """Mean over actions, by their rows, of P(column of a success > column of a failure), ties by half."""
    n_bins = int(bins.max()) + 1
    cells = actions * n_bins + bins
    good = np.bincount(cells, outcomes, n_actions * n_bins).reshape(n_actions, n_bins)
    bad = np.bincount(cells, 1.0 - outcomes, n_actions * n_bins).reshape(n_actions, n_bins)
    pairs = good.sum(axis=1) * bad.sum(axis=1)
    wins = np.sum(good * (np.cumsum(bad, axis=1) - bad / 2.0), axis=1)
    usable = pairs > 0
    if not usable.any():
        return float("nan")
    rows = (good + bad).sum(axis=1)[usable]
    mean = float(np.average(wins[usable] / pairs[usable], weights=rows))
    return max(mean, 1.0 - mean)
