"""What a comparison found: each policy's earnings, their differences, and whether those are more than noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from headstart.arrays import Floats, Integers
from headstart.displayed import Display, Displayed, draw_intervals
from headstart.judgement.compare.policies import COLD, NAIVE, START, TODAY
from headstart.logs.any_log import OUTCOME
from headstart.numerals import number, signed
from headstart.simulation.acceptance import ROBUST, Acceptance


@dataclass(frozen=True, eq=False)
class Earning:
    """One policy: its mean outcome per round."""

    name: str
    mean: float
    standard_error: float
    low: float
    high: float
    n_accepted: float  # rounds of a run, on average: events that the policy learnt from
    n_lent: float  # of them, those whose outcome an earlier row of a rare action lent
    n_again: float  # of these, those whose lender had taught the policy before
    n_counted: float  # rows that its value of a run is the mean of
    curve: Floats  # (c,) mean outcome per round up to each of `Comparison.rounds`
    curve_error: Floats  # (c,) standard deviation of that over the shuffles
    seconds: float


@dataclass(frozen=True)
class Difference:
    """What one policy earns more than another, per round."""

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


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Displayed):
    """Every policy on the same logs and streams, the best first.

    The intervals of each of the three lists hold together (Bonferroni); `difference` is of one pair alone.

    Examples
    --------
    >>> import headstart as hs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(200, 2))
    >>> a = rng.integers(2, size=200)
    >>> log = hs.Log(a, x[:, 0] * a + rng.normal(size=200), x, np.full(200, 0.5))
    >>> found = hs.compare(log, ["start"], shuffles=2)
    >>> sorted(each.name for each in found.earnings)
    ['cold', 'naive', 'start', "today's policy"]
    """

    earnings: tuple[Earning, ...]
    to_best: tuple[Difference, ...]  # each of the others minus the best
    to_cold: tuple[Difference, ...]  # each of the others minus the cold start
    to_today: tuple[Difference, ...]  # each of the others minus the policy that made the log
    pairs: tuple[Difference, ...]  # every policy minus every one that earned less, each interval for itself
    rounds: Integers  # (c,) where the curves were read
    acceptance: Acceptance
    n_log: int
    n_stream: int
    n_units: int | None  # whom the rows are of; None: every row stands for itself
    shuffles: int
    split: str
    level: float
    notes: tuple[str, ...]
    outcome: str = OUTCOME  # what it is called

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
        """Of any two policies, with an interval for this question alone."""
        for known in self.pairs:
            if (known.policy, known.other) == (policy, other):
                return known
            if (known.policy, known.other) == (other, policy):
                return Difference(policy, other, -known.value, known.standard_error, -known.high, -known.low)
        raise KeyError((policy, other))

    def verdict(self) -> tuple[str, ...]:
        """What may be concluded, in plain sentences."""
        names = [earning.name for earning in self.earnings]
        sentences = []
        if START in names:
            sentences.append(_tell(self.difference(START, TODAY), "", ""))
        sentences.append(_tell_best(self))
        if self.best != COLD:
            against = next(d for d in self.to_cold if d.policy == self.best)
            sentences.append(_tell(against, gain="The log is worth something here", loss=""))
        if self.best != NAIVE:
            naive = self.difference(NAIVE, COLD)
            sentences.append(_tell(naive, gain="Even the raw log helps", loss="The raw log misleads"))
        if self.acceptance.is_lending:
            sentences.append(_tell_loans(self))
        return tuple(sentences)

    def _tell(self) -> Display:
        ranked = self.earnings
        return Display(
            f"Comparison of {len(ranked)} policies on {self.n_log + self.n_stream:,} rows",
            self.verdict(),
            {
                "policy": [each.name for each in ranked],
                f"mean {self.outcome}": [each.mean for each in ranked],
                "low": [each.low for each in ranked],
                "high": [each.high for each in ranked],
            },
        )

    def _draw(self, axes: Any) -> None:
        ranked = self.earnings
        means, lows, highs = ([getattr(each, name) for each in ranked] for name in ("mean", "low", "high"))
        draw_intervals(axes, [each.name for each in ranked], means, lows, highs)
        axes.set_xlabel(f"mean {self.outcome} per user, {self.level:.0%} interval")

    def counts(self) -> str:
        """How many rows counted, and what became of them."""
        others = [earning for earning in self.earnings if earning.name != TODAY]
        counted, taught = (
            sum(each) / len(others) for each in zip(*((e.n_counted, e.n_accepted) for e in others), strict=True)
        )
        met = f"{self.shuffles} times, policies started from {self.n_log:,} rows and met the other {self.n_stream:,}"
        rounds = f"about {taught:,.0f} users taught a policy something: those who were shown its choice"
        if self.is_robust:
            return f"{met}. On average {counted:,.0f} of these count in a policy's value (doubly robust); {rounds}."
        return f"{met}. In each run {rounds}, and these count in its value."

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return {
            "method": self.acceptance.method,
            "rounds": self.acceptance.n_rounds,
            "acceptance": self.acceptance.chance,
            "clipped_share": self.acceptance.clipped_share,
            "n_log": self.n_log,
            "n_stream": self.n_stream,
            "n_units": self.n_units,
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
                    "n_lent": e.n_lent,
                    "n_again": e.n_again,
                    "n_counted": e.n_counted,
                    "curve": [list(point) for point in zip(self.rounds.tolist(), e.curve.tolist(), strict=True)],
                }
                for e in self.earnings
            ],
            "to_best": [_plain(d) for d in self.to_best],
            "to_cold": [_plain(d) for d in self.to_cold],
            "to_today": [_plain(d) for d in self.to_today],
            "pairs": [_plain(d) for d in self.pairs],
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
    earned = f"{best.name} earned most, {number(best.mean, 4)} per user"
    if not equals:
        return f"{earned}, and more than every other policy beyond noise."
    if len(equals) == len(comparison.to_best):
        return f"{earned}, but no difference to it is more than noise at this size."
    return f"{earned}; within noise of it: {', '.join(equals)}."


def _tell_loans(comparison: Comparison) -> str:
    """What the rare actions cost."""
    rule = comparison.acceptance
    shares = {e.name: e.n_lent / max(e.n_accepted, 1.0) for e in comparison.earnings}
    most = max(shares, key=lambda name: shares[name])
    again = max(e.n_again / max(e.n_accepted, 1.0) for e in comparison.earnings)
    short = [f"{e.name} ({e.n_accepted:,.0f})" for e in comparison.earnings if e.n_accepted < 0.8 * rule.n_rounds]
    fell = f" Too few rows were left for all of {rule.n_rounds:,} rounds of {', '.join(short)}." if short else ""
    return (
        f"Up to {rule.clipped_share:.0%} of users had a chance below {rule.chance:.2g} of some action. Where a "
        "policy chose it, an earlier row of that action, with the nearest predicted outcome, told it what happened, "
        f"in up to {shares[most]:.0%} of a policy's rounds ({most}), in up to {again:.0%} one that had told it "
        "before: the log has no more of them. Values do not rest on this; what policies learnt of rare actions does."
        f"{fell}"
    )


def _tell(difference: Difference, gain: str, loss: str) -> str:
    pair = f"{difference.policy} and {difference.other} differ by {signed(difference.value)}"
    interval = f"({signed(difference.low)} to {signed(difference.high)})"
    if difference.is_noise:
        return f"{pair} {interval}, which is noise at this size."
    moral = gain if difference.value > 0 else loss
    return f"{pair} {interval}, which is more than noise.{f' {moral}.' if moral else ''}"
