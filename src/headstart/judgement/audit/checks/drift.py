"""Drift: whether the policy, the outcomes or what is best changed over time.

The rows lie in up to ten periods (`estimates.periods`). Five questions, each with a chance of 0.2 % of a false alarm:
did the policy's shares move, did the level of the outcome, did an action's difference to the others, is an action
missing for part of the time, and are logged propensities true in every period.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats
from headstart.estimates.over_time import (
    PeriodMeans,
    TimedRows,
    compare_contrast,
    compare_level,
    is_missing_by_chance,
    weigh_periods,
)
from headstart.estimates.periods import CHANCE, Periods, compare_shares, find_periods
from headstart.estimates.totals import judge_totals, least_chances
from headstart.logs.log import Log

_LATE = 0.3  # of the periods: the last ones
_SURE = 2.58  # standard errors by which another action must be best in the last periods
_FEWEST_LATE = 10.0  # effective rows of an action in them
_MOST_ACTIONS = 30  # whose differences to the others are looked at
_MATERIAL = 0.1  # a period's weights are off by so much, or it is rounding


@dataclass(frozen=True)
class ActionOverTime:
    """One action by period, (P,) each."""

    name: Hashable
    rows: tuple[int, ...]
    shares: tuple[float, ...]  # of the period's rows
    means: tuple[float, ...]  # weighted; NaN without rows
    errors: tuple[float, ...]  # standard errors
    ratios: tuple[float, ...]  # of the users that its rows stand for to those there are; 1 if propensities are true
    late_mean: float  # of the last periods
    late_error: float
    moved_p: float  # the chance of such changes of its difference to the others
    missing_share: float  # of the time in which it was not used at all, beyond chance


@dataclass(frozen=True)
class DriftFinding:
    """What changed over time. Chances are of a false alarm, over all actions and periods together."""

    clock: str  # "time", or "row number" where the log does not say when
    starts: tuple[float, ...]  # the first time of each period
    rows: tuple[int, ...]  # of each period
    actions: tuple[ActionOverTime, ...]
    levels: tuple[float, ...]  # how far outcomes of a period are from their action's mean
    level_errors: tuple[float, ...]
    shares_p: float
    level_p: float
    contrasts_p: float
    weights_p: float
    moved: int | None  # the action whose difference to the others moved most surely
    worst: tuple[int, int] | None  # the period and action whose propensities are wrong
    late_best: int | None  # another action that is best in the last periods, beyond noise
    bias: tuple[float, ...]  # (K,) how far off an action's mean may be for the users to come
    is_adjusted: bool  # the period is among the columns that are adjusted for

    @property
    def is_changed(self) -> bool:
        """Whether any of the five questions has the answer yes."""
        chances = (self.shares_p, self.level_p, self.contrasts_p, self.weights_p)
        return min(chances) < CHANCE or any(action.missing_share > 0.0 for action in self.actions)


def describe_drift(log: Log, best: int | None, clock: str, *, is_logged: bool) -> DriftFinding | None:
    """None without periods, or where the clock is the number of the row and the order shows nothing.

    `log` has propensities; `best` is its best action.
    """
    periods = find_periods(log)
    if periods is None or best is None:
        return None
    assert log.propensities is not None
    k = log.n_actions
    rows = TimedRows(
        periods.labels, periods.n_periods, log.actions, k, log.outcomes, 1.0 / log.propensities, log.units
    )
    means, missing = weigh_periods(rows), _find_missing(periods, log, is_logged=is_logged)
    levels, level_errors, level_p = compare_level(rows)
    moved, n_shown = _compare_actions(rows)
    totals = (
        _compare_totals(periods, rows, missing > 0.0) if is_logged else _Totals(np.full(means.means.shape, np.nan))
    )
    late = _look_at_last(rows, best)
    contrasts_p = min(
        1.0, (n_shown if n_shown > 2 else 1) * float(moved.min())
    )  # of two actions it is one difference
    is_moved, shares_p = contrasts_p < CHANCE, compare_shares(periods, log.actions, k, log.units)
    found = DriftFinding(
        clock=clock,
        starts=periods.starts,
        rows=tuple(int(n) for n in periods.rows),
        actions=_describe(log, periods, means, totals.ratios, late, moved, missing),
        levels=tuple(levels.tolist()),
        level_errors=tuple(level_errors.tolist()),
        shares_p=shares_p,
        level_p=level_p,
        contrasts_p=contrasts_p,
        weights_p=totals.p_value,
        moved=int(moved.argmin()) if is_moved else None,
        worst=totals.worst,
        late_best=late.best if is_moved else None,
        bias=tuple(_find_bias(means, late, levels, missing, is_moved=is_moved).tolist()),
        is_adjusted=not is_logged and shares_p < CHANCE,  # the rule of `periods.needs_periods`
    )
    return found if clock == "time" or found.is_changed else None


def _describe(
    log: Log, periods: Periods, means: PeriodMeans, ratios: Floats, late: _Late, moved: Floats, missing: Floats
) -> tuple[ActionOverTime, ...]:
    shares = means.rows / periods.rows[:, None]
    return tuple(
        ActionOverTime(
            name,
            tuple(int(n) for n in means.rows[:, a]),
            tuple(shares[:, a].tolist()),
            tuple(means.means[:, a].tolist()),
            tuple(means.errors[:, a].tolist()),
            tuple(ratios[:, a].tolist()),
            float(late.means[a]),
            float(late.errors[a]),
            float(moved[a]),
            float(missing[a]),
        )
        for a, name in enumerate(log.action_names)
    )


def _compare_actions(rows: TimedRows) -> tuple[Floats, int]:
    """Per action the chance of such changes of its difference to the others, (K,), and how many were looked at: the
    30 most shown."""
    counts = np.bincount(rows.actions, minlength=rows.n_actions)
    shown = np.zeros(rows.n_actions, dtype=np.bool_)
    shown[np.argsort(-counts, kind="stable")[:_MOST_ACTIONS]] = True
    shown &= counts > 0
    if shown.sum() < 2:
        return np.ones(rows.n_actions), int(shown.sum())
    return np.array([compare_contrast(rows, a) if is_shown else 1.0 for a, is_shown in enumerate(shown)]), int(
        shown.sum()
    )


def _find_missing(periods: Periods, log: Log, *, is_logged: bool) -> Floats:
    """Per action the share of rows that lie in periods without it, if chance would not leave so many out, (K,).

    Nor the chances that were logged: a policy that learns may leave an action its small chance for most of the time,
    and that it was not drawn then is no wonder.
    """
    cells = periods.labels * log.n_actions + log.actions
    counts = np.bincount(cells, minlength=periods.n_periods * log.n_actions).reshape(-1, log.n_actions)
    found, n = np.zeros(log.n_actions), len(log)
    draws = counts.sum(axis=0)
    if log.units is not None:  # a unit comes when it comes: its rows are one draw of a time
        n_units = int(log.units.max()) + 1
        draws = np.bincount(np.unique(log.actions * n_units + log.units) // n_units, minlength=log.n_actions)
    for a in np.flatnonzero((draws > 0) & (counts == 0).any(axis=0)):
        empty = counts[:, a] == 0
        share = float(periods.rows[empty].sum()) / n
        ways = math.comb(periods.n_periods, int(empty.sum())) * log.n_actions
        if is_missing_by_chance(float(draws[a]), share, ways) >= CHANCE:
            continue
        if is_logged and ways * math.exp(-_expect_rows(log, int(a), empty[periods.labels])) >= CHANCE:
            continue
        found[a] = share
    return found


def _expect_rows(log: Log, action: int, is_empty: Bools) -> float:
    """Rows (units, if the log has them) of an action that its logged chances let expect among these rows; by its
    smallest chance anywhere, where the others are not known."""
    matrix = log.propensity_matrix
    if matrix is not None:
        expected = float(matrix[is_empty, action].sum())
    else:
        assert log.propensities is not None
        expected = float(log.propensities[log.actions == action].min()) * float(is_empty.sum())
    return expected if log.units is None else expected * np.unique(log.units).size / len(log)


class _Late(NamedTuple):
    """The last periods, (K,) each, and the action that is best there though it is not in the whole log."""

    means: Floats
    errors: Floats
    best: int | None


def _look_at_last(rows: TimedRows, best: int) -> _Late:
    first = rows.n_periods - max(1, int(_LATE * rows.n_periods))
    late = rows.take(rows.labels >= first)
    found = weigh_periods(late.coarser(1))
    means, errors, sizes = found.means[0], found.errors[0], found.sizes[0]
    known = np.where(sizes >= _FEWEST_LATE, means, -np.inf)
    leader = int(known.argmax())
    if leader == best or not np.isfinite(known[[leader, best]]).all():
        return _Late(means, errors, None)
    is_sure = means[leader] - means[best] > _SURE * math.hypot(errors[leader], errors[best])
    return _Late(means, errors, leader if is_sure else None)


def _find_bias(means: PeriodMeans, late: _Late, levels: Floats, missing: Floats, *, is_moved: bool) -> Floats:
    """How far each action's mean may be off for users to come, noise taken off the square, (K,).

    If differences moved, by as much as its mean did from the whole log to the last periods. If the action was missing
    for part of the time, by as much as the level of the others in its own periods is from that of all.
    """
    bias = np.zeros(missing.size)
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = np.where(means.sizes > 0, means.sizes, 0.0)
        whole = np.nansum(np.where(means.sizes > 0, means.means, 0.0) * weights, axis=0) / weights.sum(axis=0)
    if is_moved:
        apart = np.nan_to_num(late.means - whole)
        noise = np.nan_to_num(late.errors, posinf=0.0)
        bias = np.sqrt(np.maximum(apart**2 - noise**2, 0.0))
    for a in np.flatnonzero(missing):
        rows = means.rows[:, a] / means.rows[:, a].sum()
        everybody = means.rows.sum(axis=1) / means.rows.sum()
        bias[a] = max(bias[a], abs(float(np.nan_to_num(levels) @ (rows - everybody))))
    return bias


class _Totals(NamedTuple):
    """The users that an action's rows of a period stand for, of those there are, (P, K); and where that is wrong."""

    ratios: Floats
    p_value: float = 1.0
    worst: tuple[int, int] | None = None


def _compare_totals(periods: Periods, rows: TimedRows, is_partial: Bools) -> _Totals:
    """Sums of 1/p by period against the period's users; an action that was missing for part of the time is exempt."""
    shape, cells = (rows.n_periods, rows.n_actions), rows.labels * rows.n_actions + rows.actions
    weights, floors = rows.weights, np.zeros(shape)
    if rows.units is None:
        floors = least_chances(1.0 / weights, cells, shape)
    else:  # what a unit did in a period is one draw
        n_units = int(rows.units.max()) + 1
        pairs, place = np.unique(cells * n_units + rows.units, return_inverse=True)
        cells, weights = pairs // n_units, np.bincount(place, weights, pairs.size).astype(np.float64)
    sums, squares = (
        np.bincount(cells, values, shape[0] * shape[1]).reshape(shape).astype(np.float64)
        for values in (weights, weights**2)
    )
    ratios = sums / periods.rows[:, None]
    heaviest = np.zeros(rows.n_actions)
    np.maximum.at(heaviest, cells % rows.n_actions, weights)
    # A period that misses the rare rows does not know how its sums vary: the action's rows of all periods do.
    squares = np.maximum(squares, squares.sum(axis=0) * (periods.rows / periods.rows.sum())[:, None])
    judged = (heaviest > 0.0) & ~is_partial
    chances, overall = np.ones(shape), sums.sum(axis=0) / periods.rows.sum()
    users = periods.rows[:, None].astype(np.float64)
    known = sums[:, judged], squares[:, judged], heaviest[judged]
    # What is wrong at all times is no matter of time: a period must differ from all users and from the other periods.
    targets = users, users * overall[judged]
    chances[:, judged] = np.maximum(*(judge_totals(*known, each, each, floors[:, judged]) for each in targets))
    chances[np.abs(ratios - 1.0) <= _MATERIAL] = 1.0
    worst = np.unravel_index(int(chances.argmin()), shape)
    p_value = min(1.0, float(chances[worst]) * chances[:, judged].size)
    place = (int(worst[0]), int(worst[1])) if p_value < CHANCE else None
    return _Totals(ratios, p_value, place)
