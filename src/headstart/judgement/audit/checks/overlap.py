"""Overlap: whether every user had a chance to see every action, and how small the chances were."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.judgement.audit.checks.groups import MOST_GROWN, grow_groups
from headstart.logs.log import Log
from headstart.logs.sums import ActionSums

# A bin holds its lower edge. Fine where it hurts, and 0.01 and 0.05 are edges.
EDGES = np.concatenate([[0.0, 0.001, 0.005, 0.01], np.round(np.arange(1, 41) * 0.025, 3)])
_NEVER = 0.01  # a chance below this, and below a fifth of the action's share, is as good as none
# Where chances were logged, small ones are no fault, for rows are weighted by them: only below this are they as good
# as none. Chances below any that was logged are none wherever they are: the propensities do not speak for such users.
_NEVER_LOGGED = 0.004
_SURE_LOGGED = 1e-3  # of a false alarm over all actions where chances as small as the limit may have been logged
_MOST_TREES = 30


@dataclass(frozen=True)
class ActionOverlap:
    """The chances of one action.

    Shares of users are counted where the chance of every action is known; otherwise they are estimated from the
    action's own rows by weighting: a row with chance p stands for 1/p users.
    """

    name: object
    counts: tuple[int, ...]  # rows per bin of the propensity of the action taken
    rarest: float
    rows_below_1: float  # share of the action's rows with a propensity below 0.01
    rows_below_5: float
    users_below_1: float  # share of the users whose chance of the action was below 0.01, as the rows tell it
    users_below_5: float
    never_share: float  # share of the users who (almost) never saw it: a tested zone of the contexts
    never_rate: float  # how often they did
    never_high: float  # upper confidence limit of that
    never_who: str  # "" when there is no such zone


@dataclass(frozen=True)
class OverlapFinding:
    edges: tuple[float, ...]
    actions: tuple[ActionOverlap, ...]
    n_looked: int  # rows of the half of the sample that zones were tested on


def describe_overlap(
    counts: Integers,
    sums: ActionSums,
    grown: Log,
    looked: Log,
    level: float,
    matrix: Floats | None = None,
    *,
    is_logged: bool,
) -> OverlapFinding:
    """Histograms from counts, and per action (the 30 most shown) the zone of users who never see it.

    A zone is made of the groups of one half of the rows that show the action at a rate below the limit, or at most
    once where five rows were to be expected. It is believed if on the other half the upper limit of its rate (Clopper
    and Pearson, over all actions together) is below that too. The limit is 0.01; for logged propensities 0.004, or
    the smallest one in the log, of which one must be surer; and no more than a fifth of the action's share. To be
    sure of none it takes ln(1 / alpha) / limit users in that half. Units count once, by whether they ever saw it.
    `matrix`,
    (rows, K), are the chances of every action, where they are known.
    """
    shares = sums.n / sums.n.sum()
    tried = [int(a) for a in np.argsort(-sums.n, kind="stable")[:_MOST_TREES] if sums.n[a] > 0]
    limits = [(_NEVER, 1.0 - level)]
    if is_logged:
        limits = [(_NEVER_LOGGED, 1.0 - level), (float(np.nanmin(sums.rarest)), _SURE_LOGGED)]
    limits = [(limit, alpha / max(1, len(tried))) for limit, alpha in limits]
    n_most = max(MOST_GROWN // 3, 3 * MOST_GROWN // max(1, len(tried)))  # for the trees of all actions together
    middles = np.tile((EDGES[:-1] + EDGES[1:]) / 2.0, (len(counts), 1))
    middles[:, 0] = (np.nan_to_num(sums.rarest) + EDGES[1]) / 2.0
    stands_for = counts / middles  # users per bin, to the width of the bins
    below_1, below_5 = EDGES[1:] <= 0.01, EDGES[1:] <= 0.05
    with np.errstate(divide="ignore", invalid="ignore"):
        rows_1, rows_5 = (counts[:, b].sum(axis=1) / sums.n for b in (below_1, below_5))
        users_1, users_5 = (stands_for[:, b].sum(axis=1) / stands_for.sum(axis=1) for b in (below_1, below_5))
    if matrix is not None:  # one unlikely row would stand for a hundred users
        users_1, users_5 = ((matrix < limit).mean(axis=0) for limit in (0.01, 0.05))
    actions = []
    for a, name in enumerate(grown.action_names):
        zone = _find_zone(grown, looked, a, shares[a], limits, n_most) if a in tried else _NO_ZONE
        actions.append(
            ActionOverlap(
                name,
                tuple(int(n) for n in counts[a]),
                float(sums.rarest[a]),
                float(rows_1[a]),
                float(rows_5[a]),
                float(users_1[a]),
                float(users_5[a]),
                *zone,
            )
        )
    return OverlapFinding(tuple(EDGES.tolist()), tuple(actions), len(looked))


Zone = tuple[float, float, float, str]
_NO_ZONE: Zone = (0.0, float("nan"), float("nan"), "")


def _find_zone(
    grown: Log, looked: Log, action: int, share: float, limits: list[tuple[float, float]], n_most: int
) -> Zone:
    """`limits` are pairs of a rate (cut to a fifth of the share) and the chance of being wrong about it."""
    from headstart.special import betaincinv

    limits = [(min(limit, share / 5.0), alpha) for limit, alpha in limits]
    limit = max(min(_NEVER, share / 5.0), *(limit for limit, _ in limits))
    if all(limit <= 0.0 or np.log(1.0 / alpha) / limit > len(looked) for limit, alpha in limits):
        return _NO_ZONE  # too few rows to be sure of anything
    groups = grow_groups(grown, looked, action, n_most)
    seen_grown = groups.grown_rates[:, 1] * groups.grown_rows
    is_rare = (groups.grown_rates[:, 1] < limit) | (seen_grown < 1.5)
    zone = np.flatnonzero(is_rare & (groups.grown_rows * share >= 5.0))
    inside = np.isin(groups.labels, zone)
    if zone.size == 0 or zone.size == groups.n_groups or not inside.any():
        return _NO_ZONE
    n, seen = _count(looked, inside, action)
    for limit, alpha in limits:
        high = float(betaincinv(seen + 1, max(n - seen, 1e-9), 1.0 - alpha))
        if high < limit:
            return float(inside.mean()), seen / n, high, groups.describe([int(g) for g in zone])
    return _NO_ZONE


def _count(log: Log, inside: Bools, action: int) -> tuple[int, int]:
    """Rows inside and those of the action; units, and those that have a row of it, where there are units."""
    seen = log.actions[inside] == action
    if log.units is None:
        return seen.size, int(seen.sum())
    units = log.units[inside]
    return np.unique(units).size, np.unique(units[seen]).size
