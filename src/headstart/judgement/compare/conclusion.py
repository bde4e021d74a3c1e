"""From the runs of each policy to what may be said of them: means, intervals, differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from headstart.arrays import Integers
from headstart.judgement.compare.comparison import Comparison, Difference, Earning
from headstart.judgement.compare.noise import LifeTally, standard_error
from headstart.judgement.compare.policies import COLD, TODAY
from headstart.judgement.compare.shuffles import Shuffles


def conclude(
    tallies: Mapping[str, LifeTally], runs: Shuffles, checkpoints: Integers, level: float, notes: Sequence[str]
) -> Comparison:
    """The comparison that these runs make, the best policy first."""
    ranked = sorted(tallies, key=lambda name: -tallies[name].mean)
    units = runs.rows.units
    pairs = tuple(_differ(tallies, first, second, level, units) for first, second in combinations(ranked, 2))
    joint = 1.0 - (1.0 - level) / (len(ranked) - 1)  # Bonferroni: each of the others against one

    def against(other: str) -> tuple[Difference, ...]:
        return tuple(_differ(tallies, name, other, joint, units) for name in ranked if name != other)

    return Comparison(
        earnings=tuple(_earning(name, tallies[name], level, units) for name in ranked),
        to_best=against(ranked[0]),
        to_cold=against(COLD),
        to_today=against(TODAY),
        pairs=pairs,
        rounds=checkpoints,
        acceptance=runs.acceptance,
        n_log=runs.n_log,
        n_stream=len(runs.rows) - runs.n_log,
        n_units=None if units is None else np.unique(units).size,
        shuffles=runs.shuffles,
        split="time" if runs.is_by_time else "random",
        level=level,
        notes=tuple(notes),
    )


def _earning(name: str, tally: LifeTally, level: float, units: Integers | None) -> Earning:
    error = standard_error(tally.means, tally.gains, tally.influences(), tally.shuffles, units)
    half, own = _half_width(error, tally.shuffles, level), slice(tally.shuffles)
    return Earning(
        name,
        tally.mean,
        error,
        tally.mean - half,
        tally.mean + half,
        float(tally.accepted[own].mean()),
        float(tally.lent[own].mean()),
        float(tally.counted[own].mean()),
        tally.curves.mean(axis=0),
        tally.curves.std(axis=0, ddof=1),
        tally.seconds,
    )


def _differ(
    tallies: Mapping[str, LifeTally], policy: str, other: str, level: float, units: Integers | None
) -> Difference:
    """What one policy earned more than another: runs are paired, so what they share is no noise."""
    one, base = tallies[policy], tallies[other]
    influences = one.influences() - base.influences()
    error = standard_error(one.means - base.means, one.gains - base.gains, influences, one.shuffles, units)
    value, half = one.mean - base.mean, _half_width(error, one.shuffles, level)
    return Difference(policy, other, value, error, value - half, value + half)


def _half_width(error: float, shuffles: int, level: float) -> float:
    """Of an interval, by Student's distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(shuffles - 1, 0.5 + level / 2.0)) * error
