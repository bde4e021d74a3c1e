"""Per action: rows, raw and weighted mean with an interval, and the virtual plays that the rows buy."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.estimates.intervals import MeanSpread, mean_intervals, shape_of_sums
from headstart.estimates.weighted import weigh_sums
from headstart.logs.log import Log
from headstart.logs.sums import ActionSums


@dataclass(frozen=True)
class ActionFinding:
    """What the log knows of one action. Means are NaN for an action that the log never shows."""

    name: Hashable
    rows: int
    raw_mean: float
    mean: float  # sum(w y) / sum(w), w = 1/p: Hajek's
    standard_error: float
    low: float
    high: float
    variance: float  # of one outcome; 0 where a single row leaves it unknown
    effective_size: float  # (sum w)^2 / sum w^2, Kish's; by units, over the design effect
    heaviest_share: float  # of the sum of weights, by one row


@dataclass(frozen=True)
class ActionsFinding:
    """All actions, and the two that the decision is between."""

    level: float
    is_binary: bool  # every outcome is 0 or 1
    actions: tuple[ActionFinding, ...]
    best: int | None  # by weighted mean
    second: int | None  # None when fewer than two actions have rows
    lead: float  # weighted mean of the best minus that of the second
    lead_error: float
    lead_low: float
    lead_high: float

    @property
    def is_lead_clear(self) -> bool:
        """Whether the interval of the lead is above 0."""
        return self.lead_low > 0.0


def describe_actions(
    sums: ActionSums,
    names: tuple[Hashable, ...],
    level: float,
    sample: Log | None = None,
    pairs_seen: float = 1.0,
) -> ActionsFinding:
    """Every number from sums, so that rows and tables of any size give the same.

    If the sample has units, errors and effective sizes are by units: the sample says how much its rows' dependence
    adds (`_by_units`). `pairs_seen` is the chance that with a row of a unit another one is in the sample too: 1 where
    whole units were drawn.
    """
    shape, found = shape_of_sums(sums), weigh_sums(sums)
    means, sizes, variances = found.means, found.sizes, found.standard_errors**2
    together = None if sample is None or sample.units is None else _by_units(sample, means, pairs_seen)
    if together is not None:
        effects = np.maximum(together.effects, 1.0)
        variances, sizes = variances * effects, sizes / effects
    errors = np.sqrt(variances)
    variances = np.nan_to_num(found.variances)
    with np.errstate(divide="ignore", invalid="ignore"):
        raw, heaviest = sums.y / sums.n, 1.0 / (sums.rarest * sums.w)
        tilts = np.nan_to_num(sums.www / sums.ww**1.5, posinf=1.0)
    low, high = mean_intervals(
        MeanSpread(means, errors, sizes, found.scatters, tilts), shape, shape.skewnesses, level
    )
    actions = tuple(
        ActionFinding(
            name=names[a],
            rows=int(sums.n[a]),
            raw_mean=float(raw[a]),
            mean=float(means[a]),
            standard_error=float(errors[a]),
            low=float(low[a]),
            high=float(high[a]),
            variance=float(variances[a]),
            effective_size=float(sizes[a]),
            heaviest_share=float(heaviest[a]),
        )
        for a in range(len(names))
    )
    return ActionsFinding(level, shape.is_binary, actions, *_lead(means, errors, sizes, level, together))


class _Together(NamedTuple):
    """What rows of one unit have in common."""

    effects: Floats  # (K,) design effects: how many times larger variances are than for independent rows
    influence: Floats  # (n,) of each row of the sample on the mean of its own action
    actions: Integers  # (n,)
    units: Integers  # (n,)

    def covariance(self, first: int, second: int) -> float:
        """Of two actions' means: units that have rows of both."""
        ours, theirs = (
            np.bincount(self.units, np.where(self.actions == action, self.influence, 0.0))
            for action in (first, second)
        )
        return float(ours @ theirs)


def _by_units(sample: Log, means: Floats, pairs_seen: float) -> _Together:
    """Influences w (y - m) / sum(w) of the sample's rows, added within units before they are squared.

    What pairs of rows of one unit add to a variance over that of independent rows counts 1 / `pairs_seen` times.
    """
    assert sample.units is not None
    assert sample.propensities is not None
    k, actions = sample.n_actions, sample.actions
    w = 1.0 / sample.propensities
    influence = w * (sample.outcomes - means[actions]) / np.bincount(actions, w, k)[actions]
    _, units = np.unique(sample.units, return_inverse=True)
    codes, cell = np.unique(units * k + actions, return_inverse=True)
    owner = codes % k
    n_units = np.bincount(owner, minlength=k)
    added = np.bincount(owner, np.bincount(cell, influence) ** 2, k) * (n_units / np.maximum(n_units - 1.0, 1.0))
    alone = np.bincount(actions, influence**2, k)
    more = np.divide(added, alone, out=np.ones(k), where=alone > 0.0) - 1.0
    return _Together(np.maximum(1.0 + more / pairs_seen, 0.0), influence, actions, units)


def _lead(
    means: Floats, errors: Floats, sizes: Floats, level: float, together: _Together | None
) -> tuple[int | None, int | None, float, float, float, float]:
    """The best two, and the difference of their means: rows of two actions are different rows, so errors add, but for
    what units have in common."""
    from headstart.special import stdtrit

    ranked = [int(a) for a in np.argsort(-np.where(np.isnan(means), -np.inf, means), kind="stable")]
    ranked = [a for a in ranked if not math.isnan(means[a])]
    if len(ranked) < 2:
        return (ranked[0] if ranked else None), None, math.nan, math.nan, math.nan, math.nan
    best, second = ranked[:2]
    lead, error = float(means[best] - means[second]), float(np.hypot(errors[best], errors[second]))
    if together is not None:
        error = math.sqrt(max(error**2 - 2.0 * together.covariance(best, second), 0.0))
    half = float(stdtrit(max(1.0, min(sizes[best], sizes[second]) - 1.0), 0.5 + level / 2.0)) * error
    return best, second, lead, error, lead - half, lead + half
