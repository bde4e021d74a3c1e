"""Whether logged propensities are true: each row of an action stands for 1/p users, so its rows stand for all n.

W_a = sum of 1/p over the rows of action a has mean n if p is the chance of the action taken (and everybody had one),
whatever the outcomes and the contexts are. So W_a / n is 1 up to noise, mean(1/p) is K, and the same holds in every
group of users. Propensities that are too small by a factor have the same ratio everywhere; those of another action do
not, and lie nearer to that action's rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.judgement.audit.checks.balance import variance_of_totals
from headstart.judgement.audit.checks.groups import Groups
from headstart.judgement.audit.checks.overlap import OverlapFinding
from headstart.logs.log import Log
from headstart.logs.sums import ActionSums

ALPHA = 1e-3  # of a false alarm, over all actions together
MATERIAL = 0.05  # a ratio this far from 1 matters; less is rounding, however sure
_FEWEST_EXPECTED = 20.0  # rows of an action in a group, to judge it there
_FEWEST_WORTH = 10.0  # the same in effective sample size
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
    group_p_value: float
    fault: str  # "none", "scaled", "wrong action", "wrong", "wrong in places"
    scale: float  # of the logged propensities to the true ones, if scaled


def check_weights(
    sums: ActionSums,
    names: tuple[object, ...],
    overlap: OverlapFinding,
    groups: Groups,
    sample: Log,
    *,
    is_logged: bool,
) -> PropensityFinding:
    """Every check, and what they point to together. The sample is asked for whole vectors of chances."""
    matrix = sample.propensity_matrix if is_logged else None
    totals = _compare_totals(sums, overlap, matrix)
    if matrix is None:
        chi_square, degrees, p_value = _chi_square(sums, totals.n, totals.off)
    else:
        chi_square, degrees, p_value = _of_counts(matrix, np.bincount(sample.actions, minlength=len(names)))
    spread, group_p = _between_groups(groups, totals.never)
    nearest = _nearest_actions(groups)
    is_uneven = group_p < ALPHA / 10.0 and spread > 2.0 * MATERIAL
    fault, scale = _find_fault(totals, sums.n, nearest, is_uneven=is_uneven)
    return PropensityFinding(
        is_checked=is_logged,
        overall_ratio=totals.overall,
        overall_error=float(np.sqrt(totals.overall_variance)),
        actions=_describe(totals, sums.n, names, nearest),
        chi_square=chi_square,
        degrees=degrees,
        p_value=p_value,
        is_chi_square_of_counts=matrix is not None,
        group_spread=spread,
        group_p_value=group_p,
        fault=fault if is_logged else "none",
        scale=scale,
    )


class _Totals(NamedTuple):
    """The weights of each action, and of all, against the users they should stand for."""

    n: float  # rows
    never: Floats  # (K,) share of users who had no chance of the action
    ratios: Floats  # (K,) W_a / n
    variances: Floats  # (K,) of the ratios
    off: Floats  # (K,) how far a ratio is from what it may be
    p_values: Floats  # (K,)
    overall: float  # mean(1/p) / K
    overall_variance: float
    overall_p: float


def _compare_totals(sums: ActionSums, overlap: OverlapFinding, matrix: Floats | None) -> _Totals:
    n, n_shown = float(sums.n.sum()), (sums.n > 0).sum()
    ratios = sums.w / n
    variances = variance_of_totals(sums.w, sums.ww, sums.n, n) / n**2
    never = np.array([action.never_share for action in overlap.actions])
    if matrix is not None:  # a policy that had settled did not offer everything to everybody, and says so
        never = np.maximum(never, (matrix == 0.0).mean(axis=0))
    off = _off(ratios, never)
    overall = float(sums.w.sum() / n / n_shown)
    overall_variance = max(0.0, float(sums.ww.sum() / n - (sums.w.sum() / n) ** 2)) / n / n_shown**2
    overall_off = np.array([overall - 1.0 if never.sum() == 0.0 else 0.0])
    overall_p = float(_p_values(overall_off, overall_variance)[0])
    return _Totals(n, never, ratios, variances, off, _p_values(off, variances), overall, overall_variance, overall_p)


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
    alpha = ALPHA / (is_shown.sum() + 1)
    is_off = bool((is_shown & (totals.p_values < alpha) & (np.abs(totals.off) > MATERIAL)).any())
    is_overall_off = totals.overall_p < alpha and abs(totals.overall - 1.0) > MATERIAL
    if not (is_off or is_overall_off or is_uneven):
        return "none", 1.0
    fault, scale = _diagnose(totals.ratios, totals.variances, rows, nearest)
    if fault == "wrong" and not is_off and not is_overall_off:
        return "wrong in places", scale
    return fault, scale


def _off(ratios: Floats, never: Floats) -> Floats:
    """How far a ratio is from 1, or from what it may be if part of the users never saw the action."""
    return np.where(ratios > 1.0, ratios - 1.0, np.minimum(0.0, ratios - (1.0 - never)))


def _p_values(off: Floats, variances: Floats | float) -> Floats:
    """Two-sided, of a ratio 1 + off; the weaker of the normal tests on the ratio and on its logarithm.

    Weights are skewed: rows that happen to miss the heavy ones give a low sum and, with it, too small an error. On
    the logarithm the error is relative to the sum, which mends that.
    """
    from scipy.special import ndtr

    errors = np.sqrt(variances) + np.zeros_like(off)
    ratios = np.maximum(1.0 + off, 1e-300)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = np.minimum(np.abs(off), np.abs(np.log(ratios)) * ratios) / errors
    z = np.where(errors > 1e-12, z, np.where(np.abs(off) > 1e-9, np.inf, 0.0))
    return np.asarray(2.0 * ndtr(-z))


def _chi_square(sums: ActionSums, n: float, off: Floats) -> tuple[float, int, float]:
    """All W_a / n - 1 together, by the covariance of 1{A = a} / p over rows, (diag(q) - r r') / n.

    Its inverse is written out (Sherman and Morrison), so that ten thousand actions are no burden. With chances that
    are the same for everybody the covariance has an empty direction, diag(1/q) r, in which nothing may move at all;
    the number is then Neyman's chi-square, sum of (observed - expected)^2 / observed.
    """
    from scipy.special import chdtrc

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
    from scipy.special import chdtrc

    difference = observed - matrix.sum(axis=0)
    values, vectors = np.linalg.eigh(np.diag(matrix.sum(axis=0)) - matrix.T @ matrix)
    along = vectors.T @ difference
    is_free = values > 1e-9 * max(float(values.max()), 1e-300)  # counts sum to n, so one direction is empty
    statistic, degrees = float(np.sum(along[is_free] ** 2 / values[is_free])), int(is_free.sum())
    return statistic, degrees, float(chdtrc(degrees, statistic)) if degrees else 1.0


def group_ratios(groups: Groups) -> tuple[Floats, Floats, Floats, Floats]:
    """Per group and action, each (groups, K): rows, users in the group, ratio W / n and its variance."""
    log = groups.log
    assert log.propensities is not None
    cells = groups.labels * log.n_actions + log.actions
    shape = (groups.n_groups, log.n_actions)
    w = 1.0 / log.propensities
    rows, total, squares = (
        np.asarray(np.bincount(cells, weights, shape[0] * shape[1]), dtype=np.float64).reshape(shape)
        for weights in (np.ones_like(w), w, w * w)
    )
    users = np.tile(np.bincount(groups.labels, minlength=shape[0])[:, None].astype(float), (1, shape[1]))
    with np.errstate(divide="ignore", invalid="ignore"):
        return rows, users, total / users, variance_of_totals(total, squares, rows, users) / users**2


def _between_groups(groups: Groups, never: Floats) -> tuple[float, float]:
    """How far ratios are from 1 between groups beyond noise (a standard deviation), and the chance of the worst."""
    rows, users, ratios, variances = group_ratios(groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        claimed, worth = rows / ratios, ratios**2 / (variances + ratios**2 / users)
    is_judged = (rows > 0) & (claimed >= _FEWEST_EXPECTED) & (worth >= _FEWEST_WORTH) & (never == 0.0)[None, :]
    is_judged &= variances > 0
    if not is_judged.any():
        return 0.0, 1.0
    off, noise = ratios[is_judged] - 1.0, variances[is_judged]
    weights = 1.0 / noise
    spread = float(np.sqrt(max(0.0, np.sum(weights * (off**2 - noise)) / weights.sum())))
    return spread, min(1.0, float(is_judged.sum() * _p_values(off, noise).min()))


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
