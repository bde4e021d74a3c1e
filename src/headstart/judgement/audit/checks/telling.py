"""Telling: a context column that is the action, or was written down with it.

`treat` beside the arm of a trial, the amount of an incentive beside whether there was one: such a column says what
was done and not who the user is. Adjusting for it compares nobody with nobody, and every check that looks at groups
of users would find that some of them "never saw" an action. So it is named, left out, and everything else is judged
without it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.judgement.audit.checks.groups import split_rows
from headstart.judgement.audit.checks.leakage import bin_column
from headstart.logs.log import Log

TELLING = 0.95  # of the rarer of an action's rows and the others' are told right by the column alone
CLAIMED = 0.9  # logged chance of the action where the column tells it, from which on the policy explains it
_FEWEST_ROWS = 20  # of an action, and of the others, in each half
_MOST_ROWS = 20_000
_BINS = 100


@dataclass(frozen=True)
class ColumnTelling:
    """How well one of the log's own columns tells an action from the others."""

    name: str
    action: object  # the one that it tells best
    share: float  # 1: always right; 0: no better than always guessing the same
    is_telling: bool


@dataclass(frozen=True)
class TellingFinding:
    columns: tuple[ColumnTelling, ...]  # most telling first
    n_rows: int

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that tell the action."""
        return tuple(column.name for column in self.columns if column.is_telling)


def find_telling(log: Log, seed: int) -> TellingFinding:
    """Each column alone, all its categories together, judged on rows that it did not learn from.

    In each category, or each of 100 bins of a number, one half of the rows says whether to guess the action or not;
    the other half counts the mistakes, as a share of the rarer of the two (Goodman and Kruskal's lambda). A column is
    not accused where the logged propensities say that the action was nearly certain: then the policy went by it.
    """
    if len(log) > _MOST_ROWS:
        log = log.take(np.linspace(0, len(log) - 1, _MOST_ROWS).astype(np.int64))
    is_first, owners = split_rows(log, seed), np.array(log.encoding.owners, dtype=object)
    found = [
        _measure(name, _groups_of(log, np.flatnonzero(owners == name)), log, is_first)
        for name in log.encoding.columns
    ]
    found.sort(key=lambda column: (-column.share, column.name))
    return TellingFinding(tuple(found), len(log))


def _groups_of(log: Log, mine: Integers) -> Integers:
    """The category, or the bin, of each row."""
    if log.encoding.owners[mine[0]] in log.encoding.categories:
        return np.asarray(log.contexts[:, mine].argmax(axis=1))
    return bin_column(log.contexts[:, mine[0]], _BINS)


def _measure(name: str, groups: Integers, log: Log, is_first: Bools) -> ColumnTelling:
    n_groups, k = int(groups.max()) + 1, log.n_actions
    cells = groups * k + log.actions
    tables = [np.bincount(cells[part], minlength=n_groups * k).reshape(n_groups, k) for part in (is_first, ~is_first)]
    right = (_told(*tables) + _told(*tables[::-1])) / 2.0
    best = int(np.argmax(right))
    share = max(0.0, float(right[best]))
    is_telling = share >= TELLING and not _is_claimed(log, groups, tables[0] + tables[1], best)
    return ColumnTelling(name, log.action_names[best], share, is_telling)


def _told(learnt: Integers, seen: Integers) -> Floats:
    """Per action 1 - mistakes / mistakes of the best constant guess, (K,); 0 where rows are too few."""
    users, known = seen.sum(axis=1, keepdims=True), learnt.sum(axis=1, keepdims=True)
    rarer = np.minimum(seen.sum(axis=0), seen.sum() - seen.sum(axis=0))
    # A group that one half does not have is guessed like all rows.
    guess = np.where(known > 0, 2 * learnt > known, 2 * learnt.sum(axis=0) > learnt.sum())
    mistakes = np.where(guess, users - seen, seen).sum(axis=0)
    share: Floats = np.where(rarer >= _FEWEST_ROWS, 1.0 - mistakes / np.maximum(rarer, 1), 0.0)
    return share


def _is_claimed(log: Log, groups: Integers, table: Integers, action: int) -> bool:
    """Whether the logged propensities are those of a policy that went by the column."""
    if log.propensities is None:
        return False
    inside = (2 * table[:, action] > table.sum(axis=1))[groups] & (log.actions == action)
    return bool(inside.any()) and float(log.propensities[inside].mean()) >= CLAIMED
