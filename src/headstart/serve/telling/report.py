"""What people look at: a second fold of the same events, in bounded memory, that nothing decides by.

The learning state answers "what to play next"; this one answers "what has happened": who was shown what over time,
what it was worth against the hold-out, whether the actions drawn fit the chances they were drawn with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NotRequired, TypedDict

import numpy as np

from headstart.arrays import Floats
from headstart.estimates.weighted import WeightedMeans, WeightedSums, unweighted, weigh_sums
from headstart.serve.config import Label

_N_BUCKETS = 240  # of the history; when they are full, neighbours are joined and the width doubles
_Z = 1.959963984540054
NOTHING = "-"


@dataclass
class _History:
    """Sums per bucket of time."""

    n_actions: int
    start: float = math.nan
    width: float = 0.1  # seconds
    shown: Floats = field(init=False)  # (buckets, K) decisions
    chances: Floats = field(init=False)  # (buckets, K) sums of the probabilities drawn with
    outcomes: Floats = field(init=False)  # (buckets, 2) sums, policy and hold-out
    counts: Floats = field(init=False)  # (buckets, 2) outcomes

    def __post_init__(self) -> None:
        self.shown = np.zeros((_N_BUCKETS, self.n_actions))
        self.chances = np.zeros((_N_BUCKETS, self.n_actions))
        self.outcomes = np.zeros((_N_BUCKETS, 2))
        self.counts = np.zeros((_N_BUCKETS, 2))

    def bucket(self, time: float) -> int:
        if math.isnan(self.start):
            self.start = time
        while time >= self.start + self.width * _N_BUCKETS:
            for sums in (self.shown, self.chances, self.outcomes, self.counts):
                half = sums[0::2] + sums[1::2]
                sums[: len(half)], sums[len(half) :] = half, 0.0
            self.width *= 2.0
        return max(0, int((time - self.start) / self.width))


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
    """Sums of decisions and outcomes; `as_dict` is what the page and `GET /report` show."""

    def __init__(self, action_names: Sequence[Label]) -> None:
        self.action_names, k = list(action_names), len(action_names)
        self._history = _History(k)
        self._shown, self._heard, self._expected = np.zeros(k), np.zeros(k), np.zeros(k)
        self._covariance = np.zeros((k, k))
        self._sums = np.zeros((6, k))  # `WeightedSums` over outcomes, w = 1 / propensity
        self._values = np.zeros((2, 3))  # policy and hold-out: n, y, yy
        self.decisions = 0
        self.outcomes = 0

    def add_decision(self, time: float, action: int, probabilities: Floats) -> None:
        """A decision and the chances it was drawn with."""
        bucket = self._history.bucket(time)
        self._history.shown[bucket, action] += 1.0
        self._history.chances[bucket] += probabilities
        self._shown[action] += 1.0
        self._expected += probabilities
        self._covariance -= np.outer(probabilities, probabilities)
        self._covariance.flat[:: len(probabilities) + 1] += probabilities
        self.decisions += 1

    def add_outcome(self, time: float, action: int, propensity: float, outcome: float, *, is_holdout: bool) -> None:
        """What came of a decision made at `time`."""
        w, bucket, who = 1.0 / propensity, self._history.bucket(time), int(is_holdout)
        wy, ww = w * outcome, w * w
        self._heard[action] += 1.0
        self._sums[:, action] += (w, wy, wy * outcome, ww, ww * outcome, wy * wy)
        self._values[who] += (1.0, outcome, outcome * outcome)
        self._history.outcomes[bucket, who] += outcome
        self._history.counts[bucket, who] += 1.0
        self.outcomes += 1

    def weighed(self) -> WeightedMeans:
        """The weighted mean outcome of each action, its standard error and the outcomes that it is worth."""
        return weigh_sums(WeightedSums(*self._sums))

    def chi_square(self) -> tuple[float, int, float]:
        """Do the actions drawn fit the probabilities they were drawn with? (statistic, degrees of freedom, p).

        Counts minus their expectation is a martingale with covariance sum of diag(p) - p p', whatever the policy.
        """
        from scipy import stats

        difference = self._shown - self._expected
        values, vectors = np.linalg.eigh(self._covariance)
        kept = values > 1e-9 * max(1.0, float(values.max(initial=0.0)))
        if not kept.any():
            return 0.0, 0, 1.0
        statistic = float(np.sum((vectors[:, kept].T @ difference) ** 2 / values[kept]))
        return statistic, int(kept.sum()), float(stats.chi2.sf(statistic, kept.sum()))

    def history(self) -> History:
        """Shares of actions, running means and estimated regret at the end of each bucket that has decisions."""
        h = self._history
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
        n = self._values[int(is_holdout), 0]
        if n == 0:
            return {"n": 0, "mean": None, "standard_error": None, "text": "no outcomes yet"}
        found = weigh_sums(unweighted(*self._values[int(is_holdout), :, None]))
        mean, error = float(found.means[0]), float(found.standard_errors[0])
        text = f"{mean:.4g}" + (f" ± {_Z * error:.2g}" if n > 1 else "")
        return {"n": int(n), "mean": mean, "standard_error": finite_or_none(error), "text": text}

    def actions(self) -> list[Shown]:
        """Per action: times shown, outcomes, weighted mean with a 95 % interval."""
        found = self.weighed()
        means, is_known = found.means, np.isfinite(found.standard_errors)
        reach = _Z * np.where(is_known, found.standard_errors, 0.0)
        lows, highs = means - reach, means + reach
        return [
            {
                "name": str(name),
                "shown": int(self._shown[a]),
                "online_plays": int(self._heard[a]),
                "mean": finite_or_none(means[a]),
                "low": finite_or_none(lows[a]),
                "high": finite_or_none(highs[a]),
                "mean_text": as_text(means[a]),
                "interval_text": f"{lows[a]:.4g} to {highs[a]:.4g}" if is_known[a] else NOTHING,
            }
            for a, name in enumerate(self.action_names)
        ]


def finite_or_none(value: float) -> float | None:
    """For JSON, which has no NaN."""
    return float(value) if math.isfinite(value) else None


def _numbers(values: Floats) -> list[float | None]:
    return [finite_or_none(value) for value in values.tolist()]


def as_text(value: float) -> str:
    """Four digits, or a dash for what is not known."""
    return f"{value:.4g}" if math.isfinite(value) else NOTHING
