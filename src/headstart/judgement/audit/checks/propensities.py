"""Whether logged propensities are true: each row of an action stands for 1/p users, so its rows stand for all n.

W_a = sum of 1/p over the rows of action a has mean n if p is the chance of the action taken (and everybody had one),
whatever the outcomes and the contexts are. So W_a / n is 1 up to noise, mean(1/p) is K, and the same holds in every
group of users (and in every period of time: `checks.drift`). Propensities that are too small by a factor have the
same ratio everywhere; those of another action do not, and lie nearer to that action's rates. Where whole vectors of
chances are known, the number of rows is judged against their sum instead. `estimates.totals` says how a total is
judged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.totals import judge_totals, worst_of_many
from headstart.judgement.audit.checks.cells import GroupCells, count_cells, judge_actions, largest_weight
from headstart.judgement.audit.checks.groups import Groups
from headstart.logs.log import Log
from headstart.logs.sums import ActionSums

ALPHA = 1e-3  # of a false alarm by the totals of all actions together; the same by groups
MATERIAL = 0.05  # a ratio this far from 1 matters; less is rounding, however sure
UNEVEN = 0.1  # the same in a group of users
N_SUSPECTS = 10  # cells of an action and a group that are judged: those that look worst on the other half
_MANY_STRANGERS = 0.4  # of the rows with propensities like another action's
_CLEARLY_NEARER = 0.3  # of a correlation with another action's rates above that with its own


@dataclass(frozen=True)
class ActionWeights:
    """One action's weights against the users they should stand for."""

    name: object
    ratio: float  # W_a / n: 1 if the propensities are true
    error: float  # its standard error
    p_value: float
    expected_rows: float  # n_a / ratio: what the logged propensities say, NaN without rows
    nearest: object  # the action whose rates the logged propensities are nearest to; None: its own, or none clearly


@dataclass(frozen=True)
class PropensityFinding:
    """The checks; `is_checked` is False for estimated propensities, of which these numbers are true by fitting."""

    is_checked: bool
    overall_ratio: float  # mean(1/p) / K
    overall_error: float
    actions: tuple[ActionWeights, ...]
    chi_square: float  # of all ratios together, or of observed against expected counts if the whole vectors are known
    degrees: int
    p_value: float
    is_chi_square_of_counts: bool
    group_spread: float  # how far ratios are from 1 between groups of users, noise taken off
    group_p_value: float  # of the group and action that is furthest off, over all of them
    worst: tuple[str, object, float] | None  # who, which action, which ratio: the furthest off that is sure
    fault: str  # "none", "scaled", "wrong action", "wrong", "wrong in places"
    scale: float  # of the logged propensities to the true ones, if scaled


def check_weights(
    sums: ActionSums,
    names: tuple[object, ...],
    never: Floats,
    groups: Groups,
    sample: Log,
    *,
    is_logged: bool,
) -> PropensityFinding:
    """Every check, and what they point to together. The sample is asked for whole vectors of chances."""
    matrix = sample.propensity_matrix if is_logged else None
    totals = _compare_totals(sums, never, sample, has_vectors=matrix is not None)
    if matrix is None:
        chi_square, degrees, p_value = _chi_square(sums, totals.n, totals.off)
    else:
        chi_square, degrees, p_value = _of_counts(matrix, np.bincount(sample.actions, minlength=len(names)))
    largest = largest_weight(sums)
    cells, suspects = (
        count_cells(rows, labels, groups.n_groups, largest, has_vectors=is_logged)
        for rows, labels in ((groups.log, groups.labels), (groups.grown, groups.grown_labels))
    )
    judged = _judged(cells, never, matrix)
    chosen = _choose(judged, suspects)
    worst = _find_worst(chosen, groups, names)
    nearest = _nearest_actions(groups)
    fault, scale = _find_fault(totals, sums.n, nearest, is_uneven=worst is not None)
    return PropensityFinding(
        is_checked=is_logged,
        overall_ratio=totals.overall,
        overall_error=float(np.sqrt(totals.overall_variance)),
        actions=_describe(totals, sums.n, names, nearest),
        chi_square=chi_square,
        degrees=degrees,
        p_value=p_value,
        is_chi_square_of_counts=matrix is not None,
        group_spread=_spread(judged),
        group_p_value=worst_of_many(chosen.p_values),
        worst=worst if is_logged else None,
        fault=fault if is_logged else "none",
        scale=scale,
    )


class _Totals(NamedTuple):
    """The weights of each action, and of all, against the users they should stand for."""

    n: float  # rows
    ratios: Floats  # (K,) W_a / n
    variances: Floats  # (K,) of the ratios
    off: Floats  # (K,) how far a ratio is from what it may be
    p_values: Floats  # (K,)
    overall: float  # mean(1/p) / K
    overall_variance: float
    overall_p: float


def _compare_totals(sums: ActionSums, never: Floats, sample: Log, *, has_vectors: bool) -> _Totals:
    n, n_shown = float(sums.n.sum()), int((sums.n > 0).sum())
    judged = judge_actions(sums, sample, np.full(sums.n.size, n), never, has_vectors=has_vectors)
    total, squares = float(sums.w.sum()), float(sums.ww.sum())
    overall = total / n / n_shown
    overall_variance = max(0.0, squares / n - (total / n) ** 2) / n / n_shown**2
    overall_p, whole = 1.0, np.array([n * n_shown])
    if sample.units is None and never.sum() == 0.0 and not has_vectors:
        spread = np.array([squares - 2.0 * n_shown * total + n * n_shown**2])
        largest = np.array([1.0 / np.nanmin(sums.rarest)])
        # That every row had the action that it has is one way to a total that is as small.
        chances = sample.propensities
        floor = 0.0 if chances is None or len(sample) < n else float(np.exp(np.log(chances).sum()))
        overall_p = float(judge_totals(np.array([total]), spread, largest, whole, whole, floor)[0])
    ratios, errors = np.asarray(sums.w / n), judged.errors
    return _Totals(n, ratios, errors**2, judged.off, judged.p_values, overall, overall_variance, overall_p)


def _describe(
    totals: _Totals, rows: Floats, names: tuple[object, ...], nearest: Integers
) -> tuple[ActionWeights, ...]:
    return tuple(
        ActionWeights(
            names[a],
            float(totals.ratios[a]) if rows[a] > 0 else float("nan"),
            float(np.sqrt(totals.variances[a])),
            float(totals.p_values[a]),
            float(rows[a] / totals.ratios[a]) if rows[a] > 0 else float("nan"),
            None if nearest[a] == a else names[nearest[a]],
        )
        for a in range(len(names))
    )


def _find_fault(totals: _Totals, rows: Floats, nearest: Integers, *, is_uneven: bool) -> tuple[str, float]:
    """What is wrong with the propensities, if it is sure and large enough to matter; and by what factor, if that is
    all."""
    is_shown = rows > 0
    alpha = ALPHA / 2.0  # half of it for each action, half for all of them
    is_off = is_shown & (totals.p_values < alpha / is_shown.sum()) & (np.abs(totals.off) > MATERIAL)
    is_off = bool(is_off.any())
    is_overall_off = totals.overall_p < alpha and abs(totals.overall - 1.0) > MATERIAL
    if not (is_off or is_overall_off or is_uneven):
        return "none", 1.0
    fault, scale = _diagnose(totals.ratios, totals.variances, rows, nearest)
    if fault == "wrong" and not is_off and not is_overall_off:
        return "wrong in places", scale
    return fault, scale


def _judged(cells: GroupCells, never: Floats, matrix: Floats | None) -> GroupCells:
    """Without the actions that part of the users never saw, unless the chances themselves say so."""
    if matrix is None and never.any():
        return replace(cells, p_values=np.where(never > 0.0, np.nan, cells.p_values))
    return cells


def _choose(cells: GroupCells, suspects: GroupCells) -> GroupCells:
    """The cells that looked worst on the other half of the rows: who asks fewer questions pays for fewer."""
    doubts = np.where(np.isfinite(cells.p_values), np.nan_to_num(suspects.p_values, nan=1.0), np.inf)
    worst = np.argsort(doubts, axis=None, kind="stable")[:N_SUSPECTS]
    is_chosen = np.zeros(doubts.size, np.bool_)
    is_chosen[worst] = True
    return replace(cells, p_values=np.where(is_chosen.reshape(doubts.shape), cells.p_values, np.nan))


def _find_worst(cells: GroupCells, groups: Groups, names: tuple[object, ...]) -> tuple[str, object, float] | None:
    """The surest of the cells that are off by 10 %, if it has a chance of 1 in 1,000 over all that are judged."""
    n_judged = max(1, int(np.isfinite(cells.p_values).sum()))
    p_values = np.where(np.abs(np.nan_to_num(cells.ratios, nan=np.inf) - 1.0) > UNEVEN, cells.p_values, np.nan)
    if not np.isfinite(p_values).any() or np.nanmin(p_values) >= ALPHA / n_judged:
        return None
    group, action = np.unravel_index(int(np.nanargmin(p_values)), p_values.shape)
    return groups.describe([int(group)]), names[action], float(cells.ratios[group, action])


def _spread(cells: GroupCells) -> float:
    """How far ratios are from 1 beyond noise: a standard deviation."""
    kept = np.isfinite(cells.p_values) & (cells.variances > 0.0) & np.isfinite(cells.ratios)
    if not kept.any():
        return 0.0
    off, noise = cells.ratios[kept] - 1.0, cells.variances[kept]
    return float(np.sqrt(max(0.0, np.sum((off**2 - noise) / noise) / np.sum(1.0 / noise))))


def _chi_square(sums: ActionSums, n: float, off: Floats) -> tuple[float, int, float]:
    """All W_a / n - 1 together, by the covariance of 1{A = a} / p over rows, (diag(q) - r r') / n.

    Its inverse is written out (Sherman and Morrison), so that ten thousand actions are no burden. With chances that
    are the same for everybody the covariance has an empty direction, diag(1/q) r, in which nothing may move at all;
    the number is then Neyman's chi-square, sum of (observed - expected)^2 / observed.
    """
    from headstart.special import chdtrc

    shown = np.flatnonzero(sums.n > 0)
    ratios, squares, moved = sums.w[shown] / n, sums.ww[shown] / n, off[shown]
    along = float(np.sum(moved * ratios / squares))
    left = 1.0 - float(np.sum(ratios**2 / squares))
    statistic, degrees = n * float(np.sum(moved**2 / squares)), shown.size
    if left > 1e-9:
        statistic += n * along**2 / left
    elif abs(along) > 1e-6 * max(float(np.abs(moved).max(initial=0.0)), 1e-6):
        return float("inf"), max(degrees - 1, 1), 0.0
    else:
        degrees -= 1
    return statistic, degrees, float(chdtrc(degrees, statistic)) if degrees else 1.0


def _of_counts(matrix: Floats, observed: Integers) -> tuple[float, int, float]:
    """Observed against expected counts, each row a multinomial draw with its own chances."""
    from headstart.special import chdtrc

    difference = observed - matrix.sum(axis=0)
    values, vectors = np.linalg.eigh(np.diag(matrix.sum(axis=0)) - matrix.T @ matrix)
    along = vectors.T @ difference
    is_free = values > 1e-9 * max(float(values.max()), 1e-300)  # counts sum to n, so one direction is empty
    statistic, degrees = float(np.sum(along[is_free] ** 2 / values[is_free])), int(is_free.sum())
    return statistic, degrees, float(chdtrc(degrees, statistic)) if degrees else 1.0


def _nearest_actions(groups: Groups) -> Integers:
    """For each action's rows, the action whose rates by group the logged propensities go with; clearly, or its own.

    By correlation, so that a factor does not matter.
    """
    log = groups.log
    assert log.propensities is not None
    nearest = np.arange(log.n_actions)
    for a in np.flatnonzero(np.bincount(log.actions, minlength=log.n_actions) >= 30):
        mine = log.actions == a
        rates = groups.grown_rates[groups.labels[mine]]
        table = np.column_stack([log.propensities[mine], rates])
        table = table - table.mean(axis=0)
        lengths = np.sqrt((table**2).sum(axis=0))
        if lengths[0] <= 1e-9 or lengths[1 + a] <= 1e-9:
            continue
        moving = lengths[1:] > 1e-9
        likeness = np.full(log.n_actions, -1.0)
        likeness[moving] = table[:, 0] @ table[:, 1:][:, moving] / (lengths[0] * lengths[1:][moving])
        other = int(np.argmax(likeness))
        if likeness[other] > likeness[a] + _CLEARLY_NEARER:
            nearest[a] = other
    return nearest


def _diagnose(ratios: Floats, variances: Floats, rows: Floats, nearest: Integers) -> tuple[str, float]:
    """What a fault that was found points to: the plainest that explains it."""
    strangers = float(rows[nearest != np.arange(rows.size)].sum() / rows.sum())
    if strangers >= _MANY_STRANGERS:
        return "wrong action", 1.0
    shown = rows > 0
    common = float(np.median(ratios[shown]))
    noise = 4.0 * np.sqrt(variances[shown]) / common
    is_common = np.abs(ratios[shown] / common - 1.0) <= np.maximum(MATERIAL, noise)
    if is_common.all() and abs(common - 1.0) > MATERIAL:
        return "scaled", 1.0 / common
    return ("wrong action" if strangers else "wrong"), 1.0
