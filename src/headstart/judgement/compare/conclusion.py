"""From the runs of each policy to what may be said of them: means, intervals, differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.judgement.compare.comparison import Comparison, Difference, Earning
from headstart.judgement.compare.noise import LifeTally, sides, standard_error
from headstart.judgement.compare.policies import COLD, TODAY
from headstart.judgement.compare.shuffles import Shuffles
from headstart.logs.any_log import outcome_name


def conclude(
    tallies: Mapping[str, LifeTally], runs: Shuffles, checkpoints: Integers, level: float, notes: Sequence[str]
) -> Comparison:
    """The comparison that these runs make, the best policy first."""
    ranked = sorted(tallies, key=lambda name: -tallies[name].mean)
    pairs = tuple(_differ(tallies, first, second, runs, level) for first, second in combinations(ranked, 2))
    joint = 1.0 - (1.0 - level) / (len(ranked) - 1)  # Bonferroni: each of the others against one

    def against(other: str) -> tuple[Difference, ...]:
        return tuple(_differ(tallies, name, other, runs, joint) for name in ranked if name != other)

    units = runs.rows.units

    return Comparison(
        earnings=tuple(_earning(name, tallies[name], runs, level) for name in ranked),
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
        outcome=outcome_name(runs.rows),
    )


def _earning(name: str, tally: LifeTally, runs: Shuffles, level: float) -> Earning:
    error = standard_error(tally.means, tally.gains, tally.influences(), tally.shuffles, runs.rows.units)
    own = slice(tally.shuffles)
    return Earning(
        name,
        tally.mean,
        error,
        *_interval(tally.mean, error, tally.means, runs, level),
        float(tally.accepted[own].mean()),
        float(tally.lent[own].mean()),
        float(tally.again[own].mean()),
        float(tally.counted[own].mean()),
        tally.curves.mean(axis=0),
        tally.curves.std(axis=0, ddof=1),
        tally.seconds,
    )


def _differ(tallies: Mapping[str, LifeTally], policy: str, other: str, runs: Shuffles, level: float) -> Difference:
    """What one policy earned more than another: runs are paired, so what they share is no noise."""
    one, base = tallies[policy], tallies[other]
    means, influences = one.means - base.means, one.influences() - base.influences()
    error = standard_error(means, one.gains - base.gains, influences, one.shuffles, runs.rows.units)
    value = one.mean - base.mean
    return Difference(policy, other, value, error, *_interval(value, error, means, runs, level))


def _interval(value: float, error: float, means: Floats, runs: Shuffles, level: float) -> tuple[float, float]:
    """By Student's distribution; where actions are rare it may reach further on one side."""
    from headstart.special import stdtrit

    times = float(stdtrit(runs.shuffles - 1, 0.5 + level / 2.0))
    below, above = sides(means, runs.shuffles) if runs.acceptance.rests_on_loans else (0.0, 0.0)
    return value - times * max(error, below), value + times * max(error, above)
