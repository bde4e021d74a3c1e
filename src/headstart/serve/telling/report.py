"""What sums of decisions and outcomes say, in the numbers and words of a page."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import NotRequired, TypedDict

import numpy as np

from headstart.arrays import Floats
from headstart.estimates.outliers import Range
from headstart.estimates.sequences import MeanLimits, MomentSums, sequences
from headstart.estimates.weighted import WeightedMeans, weigh_sums
from headstart.serve.telling.outcomes import Wording
from headstart.serve.telling.sums import Sums, is_share

ALPHA = 0.05  # the chance that an interval, or who has won, is ever wrong
FREE: Range = (-math.inf, math.inf)


class NamedMean(TypedDict):
    """An outcome with a name, of the users who were shown an action: its plain mean."""

    name: str
    n: int
    mean: float | None
    text: str


class Shown(TypedDict):
    """An action as a person wants to see it; what the log and the policy add comes from the overview."""

    name: str
    shown: int
    online_plays: int
    mean: float | None
    low: float | None  # of its confidence sequence: it holds at every look
    high: float | None
    mean_text: str
    interval_text: str
    is_retired: NotRequired[bool]
    outcomes: NotRequired[list[NamedMean]]
    virtual_plays: NotRequired[int]
    chance: NotRequired[float | None]
    chance_text: NotRequired[str]
    believed: NotRequired[float | None]
    believed_text: NotRequired[str]
    trust: NotRequired[float | None]
    trust_text: NotRequired[str]
    log_mean: NotRequired[float | None]
    log_text: NotRequired[str]


class Worth(TypedDict):
    """The mean outcome of some users, with its confidence sequence."""

    n: int
    mean: float | None
    low: float | None
    high: float | None
    text: str


class History(TypedDict):
    """Curves over time, a value for each bucket."""

    times: list[str]
    shares: list[list[float | None]]  # (K, buckets)
    value: list[float | None]
    holdout: list[float | None]


class Report:
    """Reads sums, which stand still meanwhile. No interval reaches beyond the outcomes' range."""

    def __init__(self, sums: Sums, bounds: Range = FREE, name: str = "outcome") -> None:
        self._sums, self._bounds, self.moments = sums, bounds, MomentSums(*sums.moments)
        self.is_binary = is_share(bounds, has_some=bool(self.moments.we.any()), others=sums.others.sum())
        self.words = Wording(name, self.is_binary)
        self.groups = MomentSums(*sums.values.T).as_groups()  # policy and hold-out

    @property
    def n_outcomes(self) -> int:
        """Outcomes that count in these numbers."""
        return int(self._sums.heard.sum())

    def weighed(self) -> WeightedMeans:
        """The weighted mean outcome of each action, its standard error and the outcomes that it is worth."""
        return weigh_sums(self.moments)

    def limits(self) -> MeanLimits:
        """Each action's weighted mean and its confidence sequence, (K,)."""
        return self._within(sequences(self.moments, ALPHA, is_binary=self.is_binary))

    def _within(self, found: MeanLimits) -> MeanLimits:
        return MeanLimits(
            found.means, np.maximum(found.low, self._bounds[0]), np.minimum(found.high, self._bounds[1])
        )

    def chi_square(self) -> tuple[float, int, float]:
        """Do the actions drawn fit the probabilities they were drawn with? (statistic, degrees of freedom, p).

        Counts minus their expectation is a martingale with covariance sum of diag(p) - p p', whatever the policy.
        """
        from headstart.special import chdtrc

        difference = self._sums.shown - self._sums.expected
        values, vectors = np.linalg.eigh(self._sums.covariance)
        kept = values > 1e-9 * max(1.0, float(values.max(initial=0.0)))
        if not kept.any():
            return 0.0, 0, 1.0
        statistic = float(np.sum((vectors[:, kept].T @ difference) ** 2 / values[kept]))
        return statistic, int(kept.sum()), float(chdtrc(kept.sum(), statistic))

    def mismatch(self) -> float:
        """The same question with a p-value that holds at every look: the chance of ever so much against them."""
        return math.exp(-float(self._sums.fortune[1]))

    def chances(self) -> Floats:
        """The chances that actions were drawn with of late: over the last tenth of the decisions, (K,)."""
        line = self._sums.timeline
        after = line.shown.sum(axis=1)[::-1].cumsum()[::-1]  # decisions of a bucket and those after it
        last = max(int((after >= 0.1 * after[0]).sum()) - 1, 0)
        recent = line.chances[last:].sum(axis=0)
        return recent / recent.sum() if recent.sum() > 0.0 else np.full(recent.size, 1.0 / recent.size)

    def history(self) -> History:
        """Shares of actions and running means at the end of each bucket that has decisions."""
        h = self._sums.timeline
        kept = h.shown.sum(axis=1) > 0
        shown = h.shown[kept]
        ends = h.start + h.width * (np.flatnonzero(kept) + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            running = np.cumsum(h.outcomes[kept], axis=0) / np.cumsum(h.counts[kept], axis=0)
        return {
            "times": [datetime.fromtimestamp(end, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] for end in ends],
            "shares": [_numbers(column) for column in (shown / shown.sum(axis=1, keepdims=True)).T],
            "value": _numbers(running[:, 0]),
            "holdout": _numbers(running[:, 1]),
        }

    def value(self, *, is_holdout: bool) -> Worth:
        """Mean outcome of the policy's users or of the hold-out's, with its sequence."""
        group = int(is_holdout)
        n = int(self._sums.values[group, 1])
        if n == 0:
            return {"n": 0, "mean": None, "low": None, "high": None, "text": "no outcomes yet"}
        found = self._within(sequences(self.groups, ALPHA, is_binary=self.is_binary))
        mean, low, high = (float(each[group]) for each in found)
        text = self.words.tell(mean) + (f" ({self.words.tell_between(low, high)})" if math.isfinite(low) else "")
        return {"n": n, "mean": mean, "low": finite_or_none(low), "high": finite_or_none(high), "text": text}

    def actions(self) -> list[Shown]:
        """Per action: times shown, outcomes, weighted mean with its confidence sequence."""
        means, lows, highs = self.limits()
        return [
            {
                "name": name,
                "shown": int(self._sums.shown[a]),
                "online_plays": int(self._sums.heard[a]),
                "mean": finite_or_none(means[a]),
                "low": finite_or_none(lows[a]),
                "high": finite_or_none(highs[a]),
                "mean_text": self.words.tell(means[a]),
                "interval_text": self.words.tell_between(lows[a], highs[a]),
            }
            for a, name in enumerate(self._sums.actions)
        ]


def finite_or_none(value: float) -> float | None:
    """For JSON, which has no NaN."""
    return float(value) if math.isfinite(value) else None


def _numbers(values: Floats) -> list[float | None]:
    return [finite_or_none(value) for value in values.tolist()]
