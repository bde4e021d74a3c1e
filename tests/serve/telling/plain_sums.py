"""The slow obvious twin of `Sums`: one event at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from headstart.estimates.mismatch import CAUTION
from headstart.serve.telling.sums import Sums
from headstart.serve.telling.timeline import N_BUCKETS


class PlainSums:
    """The same sums as `Sums`, by hand."""

    def __init__(self, actions: Sequence[str]) -> None:
        self.sums = Sums(actions)

    def add_decision(self, time: float, action: int, chances: np.ndarray) -> None:
        """A decision and the chances it was drawn with."""
        sums, bucket = self.sums, self._bucket(time)
        sums.timeline.shown[bucket, action] += 1.0
        sums.timeline.chances[bucket] += chances
        ratios = (sums.shown + CAUTION) / (sums.expected + CAUTION)
        won = math.log(ratios[action] / float(chances @ ratios))
        sums.fortune = np.array([sums.fortune[0] + won, max(sums.fortune[1], sums.fortune[0] + won)])
        sums.shown[action] += 1.0
        sums.expected += chances
        sums.covariance += np.diag(chances) - np.outer(chances, chances)

    def add_outcome(
        self, time: float, action: int, propensity: float, outcome: float, *, is_holdout: bool, number: int = 1
    ) -> None:
        """What came of a decision made at `time`, the so manieth of its draw."""
        sums, bucket, group, w = self.sums, self._bucket(time), int(is_holdout), 1.0 / propensity
        sums.heard[action] += 1.0
        sums.others[action] += outcome not in (0.0, 1.0)
        powers = [1.0, outcome, outcome**2, outcome**3]
        for weight, into in ((w, sums.moments[:, action]), (1.0, sums.values[group])):
            rows = [weight if outcome != 0.0 else 0.0]
            rows += [
                weight**i * y * (number**i - (number - 1) ** i)  # of m alike outcomes, m^i in all
                for i, n in ((1, 3), (2, 3), (3, 4))
                for y in powers[:n]
            ]
            into += rows
        sums.timeline.outcomes[bucket, group] += outcome
        sums.timeline.counts[bucket, group] += 1.0
        sums.timeline.heard[bucket, action] += 1.0

    def _bucket(self, time: float) -> int:
        line = self.sums.timeline
        if math.isnan(line.start):
            line.start = time
        while time >= line.start + line.width * N_BUCKETS:
            for name in ("shown", "chances", "outcomes", "counts", "heard"):
                before = vars(line)[name]
                after = np.zeros_like(before)
                for b in range(N_BUCKETS):
                    after[b // 2] += before[b]
                setattr(line, name, after)
            line.width *= 2.0
        return max(0, int((time - line.start) / line.width))
