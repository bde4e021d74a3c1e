"""What sums of decisions and outcomes say, in the numbers and words of a page."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import NotRequired, TypedDict

import numpy as np

from headstart.arrays import Floats
from headstart.estimates.weighted import WeightedMeans, WeightedSums, unweighted, weigh_sums
from headstart.numerals import tell_number
from headstart.serve.telling.sums import Sums

_Z = 1.959963984540054
NOTHING = "-"


class Shown(TypedDict):
    """An action as a person wants to see it; what the log and the policy add comes from the overview."""

    name: str
    shown: int
    online_plays: int
    mean: float | None
    low: float | None
    high: float | None
    mean_text: str
    interval_text: str
    virtual_plays: NotRequired[int]
    chance: NotRequired[float | None]
    chance_text: NotRequired[str]
    log_mean: NotRequired[float | None]
    log_text: NotRequired[str]


class Worth(TypedDict):
    """The mean outcome of some users."""

    n: int
    mean: float | None
    standard_error: float | None
    text: str


class History(TypedDict):
    """Curves over time, a value for each bucket."""

    times: list[str]
    shares: list[list[float | None]]  # (K, buckets)
    value: list[float | None]
    holdout: list[float | None]
    regret: list[float | None]


class Report:
    """Reads sums, which stand still meanwhile."""

    def __init__(self, sums: Sums) -> None:
        self._sums = sums

    def weighed(self) -> WeightedMeans:
        """The weighted mean outcome of each action, its standard error and the outcomes that it is worth."""
        return weigh_sums(WeightedSums(*self._sums.weighted))

    def chi_square(self) -> tuple[float, int, float]:
        """Do the actions drawn fit the probabilities they were drawn with? (statistic, degrees of freedom, p).

        Counts minus their expectation is a martingale with covariance sum of diag(p) - p p', whatever the policy.
        """
        from scipy.special import chdtrc  # here: it takes half a second to import

        difference = self._sums.shown - self._sums.expected
        values, vectors = np.linalg.eigh(self._sums.covariance)
        kept = values > 1e-9 * max(1.0, float(values.max(initial=0.0)))
        if not kept.any():
            return 0.0, 0, 1.0
        statistic = float(np.sum((vectors[:, kept].T @ difference) ** 2 / values[kept]))
        return statistic, int(kept.sum()), float(chdtrc(kept.sum(), statistic))

    def history(self) -> History:
        """Shares of actions, running means and estimated regret at the end of each bucket that has decisions."""
        h = self._sums.timeline
        kept = h.shown.sum(axis=1) > 0
        shown, chances = h.shown[kept], h.chances[kept]
        ends = h.start + h.width * (np.flatnonzero(kept) + 1)
        means = np.nan_to_num(self.weighed().means, nan=-math.inf)
        best = means.max(initial=-math.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            running = np.cumsum(h.outcomes[kept], axis=0) / np.cumsum(h.counts[kept], axis=0)
        lost = np.zeros(len(ends))
        if math.isfinite(best):  # an action without outcomes is not charged: nothing is known of it
            lost = chances @ np.where(np.isfinite(means), best - means, 0.0)
        return {
            "times": [datetime.fromtimestamp(end, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] for end in ends],
            "shares": [_numbers(column) for column in (shown / shown.sum(axis=1, keepdims=True)).T],
            "value": _numbers(running[:, 0]),
            "holdout": _numbers(running[:, 1]),
            "regret": _numbers(np.cumsum(lost)),
        }

    def value(self, *, is_holdout: bool) -> Worth:
        """Mean outcome of the policy's users or of the hold-out's, with its standard error."""
        n = self._sums.values[int(is_holdout), 0]
        if n == 0:
            return {"n": 0, "mean": None, "standard_error": None, "text": "no outcomes yet"}
        found = weigh_sums(unweighted(*self._sums.values[int(is_holdout), :, None]))
        mean, error = float(found.means[0]), float(found.standard_errors[0])
        text = as_text(mean) + (f" ± {tell_number(_Z * error, 2)}" if n > 1 else "")
        return {"n": int(n), "mean": mean, "standard_error": finite_or_none(error), "text": text}

    def actions(self) -> list[Shown]:
        """Per action: times shown, outcomes, weighted mean with a 95 % interval."""
        found = self.weighed()
        means, is_known = found.means, np.isfinite(found.standard_errors)
        reach = _Z * np.where(is_known, found.standard_errors, 0.0)
        lows, highs = means - reach, means + reach
        return [
            {
                "name": name,
                "shown": int(self._sums.shown[a]),
                "online_plays": int(self._sums.heard[a]),
                "mean": finite_or_none(means[a]),
                "low": finite_or_none(lows[a]),
                "high": finite_or_none(highs[a]),
                "mean_text": as_text(means[a]),
                "interval_text": f"{as_text(lows[a])} to {as_text(highs[a])}" if is_known[a] else NOTHING,
            }
            for a, name in enumerate(self._sums.actions)
        ]


def finite_or_none(value: float) -> float | None:
    """For JSON, which has no NaN."""
    return float(value) if math.isfinite(value) else None


def _numbers(values: Floats) -> list[float | None]:
    return [finite_or_none(value) for value in values.tolist()]


def as_text(value: float) -> str:
    """Four digits, or a dash for what is not known."""
    return tell_number(value, 4) if math.isfinite(value) else NOTHING
