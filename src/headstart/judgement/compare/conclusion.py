"""From the runs of each policy to what may be said of them: means, intervals, differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headstart.arrays import Integers
from headstart.judgement.compare.comparison import Comparison, Difference, Earning
from headstart.judgement.compare.noise import LifeTally, standard_error
from headstart.judgement.compare.policies import COLD
from headstart.judgement.compare.shuffles import Shuffles


def conclude(
    tallies: Mapping[str, LifeTally], runs: Shuffles, checkpoints: Integers, level: float, notes: Sequence[str]
) -> Comparison:
    """The comparison that these runs make, the best policy first."""
    ranked = sorted(tallies, key=lambda name: -tallies[name].mean)
    return Comparison(
        earnings=tuple(_earning(name, tallies[name], level) for name in ranked),
        to_best=_differences(tallies, ranked, ranked[0], level),
        to_cold=_differences(tallies, ranked, COLD, level),
        rounds=checkpoints,
        acceptance=runs.acceptance,
        n_log=runs.n_log,
        n_stream=len(runs.rows) - runs.n_log,
        shuffles=runs.shuffles,
        split="time" if runs.is_by_time else "random",
        level=level,
        notes=tuple(notes),
    )


def _earning(name: str, tally: LifeTally, level: float) -> Earning:
    error = standard_error(tally.means, tally.influences(), tally.shuffles)
    half = _half_width(error, tally.shuffles, level, 1)
    return Earning(
        name,
        tally.mean,
        error,
        tally.mean - half,
        tally.mean + half,
        float(tally.accepted[: tally.shuffles].mean()),
        tally.curves.mean(axis=0),
        tally.curves.std(axis=0, ddof=1),
        tally.seconds,
    )


def _differences(
    tallies: Mapping[str, LifeTally], ranked: Sequence[str], other: str, level: float
) -> tuple[Difference, ...]:
    """What each of the others earned more than this one; their intervals hold together (Bonferroni)."""
    base = tallies[other]
    found = []
    for name in ranked:
        if name == other:
            continue
        tally = tallies[name]
        error = standard_error(tally.means - base.means, tally.influences() - base.influences(), tally.shuffles)
        value, half = tally.mean - base.mean, _half_width(error, tally.shuffles, level, len(ranked) - 1)
        found.append(Difference(name, other, value, error, value - half, value + half))
    return tuple(found)


def _half_width(error: float, shuffles: int, level: float, n_intervals: int) -> float:
    """Of an interval among so many that hold together, by Student's distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(shuffles - 1, 1.0 - (1.0 - level) / (2.0 * n_intervals))) * error
