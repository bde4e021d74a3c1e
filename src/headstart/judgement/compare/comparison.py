"""What a comparison found: each policy's earnings, their differences, and whether those are more than noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headstart.arrays import Floats, Integers
from headstart.judgement.compare.policies import COLD, NAIVE
from headstart.simulation.rejection import ROBUST, Acceptance


@dataclass(frozen=True, eq=False)
class Earning:
    """One policy: its mean outcome per round."""

    name: str
    mean: float
    standard_error: float
    low: float
    high: float
    n_accepted: float  # events accepted in a run, on average
    curve: Floats  # (c,) mean outcome per round up to each of `Comparison.rounds`
    curve_error: Floats  # (c,) standard deviation of that over the shuffles
    seconds: float


@dataclass(frozen=True)
class Difference:
    """What one policy earns more than another, per round; the intervals of a list of differences hold together."""

    policy: str
    other: str
    value: float
    standard_error: float
    low: float
    high: float

    @property
    def is_noise(self) -> bool:
        """Whether the interval holds 0."""
        return self.low <= 0.0 <= self.high


@dataclass(frozen=True, eq=False)
class Comparison:
    """Every policy on the same logs and streams, the best first."""

    earnings: tuple[Earning, ...]
    to_best: tuple[Difference, ...]  # each of the others minus the best
    to_cold: tuple[Difference, ...]  # each of the others minus the cold start
    rounds: Integers  # (c,) where the curves were read
    acceptance: Acceptance
    n_log: int
    n_stream: int
    shuffles: int
    split: str
    level: float
    notes: tuple[str, ...]

    @property
    def best(self) -> str:
        """The policy with the largest mean."""
        return self.earnings[0].name

    def __getitem__(self, name: str) -> Earning:
        for earning in self.earnings:
            if earning.name == name:
                return earning
        raise KeyError(name)

    def difference(self, policy: str, other: str) -> Difference:
        """A difference to the best or to the cold start, either way round."""
        for known in (*self.to_best, *self.to_cold):
            if (known.policy, known.other) == (policy, other):
                return known
            if (known.policy, known.other) == (other, policy):
                return Difference(policy, other, -known.value, known.standard_error, -known.high, -known.low)
        raise KeyError((policy, other))

    def verdict(self) -> tuple[str, ...]:
        """What may be concluded, in plain sentences."""
        sentences = [_tell_best(self)]
        if self.best != COLD:
            against = self.difference(self.best, COLD)
            sentences.append(_tell(against, gain="The log is worth something here", loss=""))
        naive = self.difference(NAIVE, COLD)
        if self.best != NAIVE:
            sentences.append(_tell(naive, gain="Even the raw log helps", loss="The raw log misleads"))
        if self.acceptance.clipped_share > 0.0:
            sentences.append(
                f"Up to {self.acceptance.clipped_share:.1%} of users had a chance below {self.acceptance.chance:.2g} "
                "of some action and are met too seldom: differences that they could make are not settled."
            )
        return tuple(sentences)

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return {
            "method": self.acceptance.method,
            "rounds": self.acceptance.n_rounds,
            "acceptance": self.acceptance.chance,
            "clipped_share": self.acceptance.clipped_share,
            "n_log": self.n_log,
            "n_stream": self.n_stream,
            "shuffles": self.shuffles,
            "split": self.split,
            "level": self.level,
            "best": self.best,
            "policies": [
                {
                    "name": e.name,
                    "mean": e.mean,
                    "standard_error": _known(e.standard_error),
                    "low": _known(e.low),
                    "high": _known(e.high),
                    "n_accepted": e.n_accepted,
                    "curve": [list(point) for point in zip(self.rounds.tolist(), e.curve.tolist(), strict=True)],
                }
                for e in self.earnings
            ],
            "to_best": [_plain(d) for d in self.to_best],
            "to_cold": [_plain(d) for d in self.to_cold],
            "verdict": list(self.verdict()),
            "notes": list(self.notes),
        }

    @property
    def is_robust(self) -> bool:
        """Whether values are doubly robust estimates instead of averages of accepted outcomes."""
        return self.acceptance.method == ROBUST


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _plain(difference: Difference) -> dict[str, object]:
    return {
        "policy": difference.policy,
        "other": difference.other,
        "value": difference.value,
        "standard_error": _known(difference.standard_error),
        "low": _known(difference.low),
        "high": _known(difference.high),
        "is_noise": difference.is_noise,
    }


def _tell_best(comparison: Comparison) -> str:
    best = comparison.earnings[0]
    equals = [d.policy for d in comparison.to_best if d.is_noise]
    earned = f"{best.name} earned most, {best.mean:.4g} per user"
    if not equals:
        return f"{earned}, and more than every other policy beyond noise."
    if len(equals) == len(comparison.to_best):
        return f"{earned}, but no difference to it is more than noise at this size."
    return f"{earned}; within noise of it: {', '.join(equals)}."


def _tell(difference: Difference, gain: str, loss: str) -> str:
    pair = f"{difference.policy} and {difference.other} differ by {difference.value:+.3g}"
    interval = f"({difference.low:+.3g} to {difference.high:+.3g})"
    if difference.is_noise:
        return f"{pair} {interval}, which is noise at this size."
    moral = gain if difference.value > 0 else loss
    return f"{pair} {interval}, which is more than noise.{f' {moral}.' if moral else ''}"
