"""Balance: whether each action's rows, weighted by 1/p, stand for all users: for as many, and for such as they are.

The number of users is the balance of a constant column. The numbers come from sums over all rows, whether they are
more than noise from the rows of the sample.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headstart.arrays import Floats
from headstart.judgement.audit.checks.cells import judge_actions, largest_weight
from headstart.judgement.audit.checks.likeness import judge_columns
from headstart.judgement.audit.reasons import Found, percent
from headstart.logs.log import Log
from headstart.logs.sums import ActionSums, ContextSums

if TYPE_CHECKING:
    from headstart.judgement.audit.audit import Audit

OFF, SURE = 0.05, 1e-3  # a total is wrong beyond this share of the users and this chance, over all actions
SMALL, LARGE = 0.1, 0.25  # standardised mean differences (Austin 2009; Rubin 2001)
CHANCE = 1e-3  # of a false alarm, over all columns and actions


@dataclass(frozen=True)
class TotalsFinding:
    """How many of the users who had a chance of an action its weighted rows stand for: all, if 1/p is true."""

    names: tuple[object, ...]
    ratios: tuple[float, ...]  # (K,) NaN for an action without rows
    errors: tuple[float, ...]  # (K,) their standard errors
    wrong: int | None  # the first action whose ratio is off by more than 5 %, beyond a chance of 1 in 1,000 for all


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
    """Every column that varies, and where weighting leaves an action's users unlike everybody."""

    is_logged: bool  # the weights are those of logged propensities, not of estimated ones
    columns: tuple[ColumnBalance, ...]  # those that vary
    noise: tuple[float, ...]  # standard error of an action's differences after weighting, 1 / sqrt(N_a)
    worst_before: float
    worst_after: float
    unbalanced: tuple[tuple[str, object, float], ...]  # column, action, difference: beyond 0.1 and beyond noise


def check_totals(
    sums: ActionSums, names: tuple[object, ...], reached: Floats, never: Floats, sample: Log
) -> TotalsFinding:
    """Sums of 1/p against the users who had a chance of the action.

    `reached`, (K,), are the users of whom the log says that they had one. `never`, (K,), is the share of users who
    as good as never saw the action, as far as that was looked for: rows that stand for fewer users by no more than
    this are no fault. The sample knows units, and whole vectors of chances.
    """
    is_shown = sums.n > 0.0
    judged = judge_actions(sums, sample, reached, never, has_vectors=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(is_shown, sums.w / reached, np.nan)
    is_wrong = is_shown & (np.abs(judged.off) > OFF) & (judged.p_values < SURE / is_shown.sum())
    wrong = int(np.flatnonzero(is_wrong)[0]) if is_wrong.any() else None
    return TotalsFinding(names, tuple(ratios.tolist()), tuple(judged.errors.tolist()), wrong)


def describe_balance(
    sums: ActionSums,
    contexts: ContextSums,
    names: tuple[str, ...],
    actions: tuple[object, ...],
    sample: Log,
    *,
    is_logged: bool,
    barred: Collection[object] = (),
) -> BalanceFinding:
    """(mean over the action's rows - mean over all rows) / standard deviation over all rows; plain and weighted.

    An action that part of the users never saw (`barred`) cannot be balanced: it is shown, and not counted as
    unbalanced.
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
    place = {name: j for j, name in enumerate(sample.context_names)}
    judged = [j for j in np.flatnonzero(moves) if names[j] in place]
    chosen = np.array([place[names[j]] for j in judged], dtype=np.int64)
    p_values = judge_columns(sample, chosen, largest_weight(sums), is_logged=is_logged)
    p_values[:, [name in barred for name in actions]] = np.nan
    limit = CHANCE / max(1, int(np.isfinite(p_values).sum()))
    unbalanced = [
        (names[j], actions[a], float(after[a, j]))
        for i, j in enumerate(judged)
        for a in np.flatnonzero((p_values[i] < limit) & (np.abs(after[:, j]) > SMALL))
    ]
    unbalanced.sort(key=lambda row: -abs(row[2]))
    return BalanceFinding(
        is_logged,
        columns,
        tuple(noise.tolist()),
        max((column.worst_before for column in columns), default=0.0),
        max((column.worst_after for column in columns), default=0.0),
        tuple(unbalanced),
    )


def _worst(differences: tuple[float, ...]) -> float:
    known = [abs(value) for value in differences if np.isfinite(value)]
    return max(known, default=0.0)


def word_totals(found: Audit) -> Iterator[Found]:
    """A reason if an action's rows stand for more or fewer users than there are."""
    if found.totals is not None and found.totals.wrong is not None:
        ratio = found.totals.ratios[found.totals.wrong]
        yield Found(
            f"weighted by the logged propensities, the rows of {found.totals.names[found.totals.wrong]} stand for "
            f"{percent(ratio)} of the users who had a chance of it, where it should be 100 %",
            "look at how they were logged; a start does not use them if it can estimate them",
        )


def word_balance(least: float, most: float, *, is_logged: bool) -> Callable[[Audit], Iterator[Found]]:
    """What finds a reason if the largest difference is in [least, most), by logged or by estimated propensities."""

    def find(found: Audit) -> Iterator[Found]:
        rows = found.balance.unbalanced if found.balance.is_logged == is_logged else ()
        if rows and least <= abs(rows[0][2]) < most:
            column, action, difference = rows[0]
            more = f", and {len(rows) - 1} more pairs" if len(rows) > 1 else ""
            yield Found(
                f"weighting does not make the users of {action} look like everybody: {column} is {difference:+.2f} "
                f"standard deviations off{more}",
                "the propensities do not undo how users were chosen; check them, or estimate them",
            )

    return find
