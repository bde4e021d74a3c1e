"""A timeline: sums over time in a bounded number of buckets, however long it goes on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.parts import Saved

N_BUCKETS = 240  # when they are full, neighbours are joined and the width doubles
_FIRST_WIDTH = 0.1  # seconds


@dataclass
class Timeline:
    """Sums per bucket of time. A bucket holds the same whether its events came one by one or in pages."""

    n_actions: int
    start: float = math.nan
    width: float = _FIRST_WIDTH
    shown: Floats = field(init=False)  # (buckets, K) decisions
    chances: Floats = field(init=False)  # (buckets, K) sums of the probabilities drawn with
    outcomes: Floats = field(init=False)  # (buckets, 2) sums, policy and hold-out
    counts: Floats = field(init=False)  # (buckets, 2) outcomes
    heard: Floats = field(init=False)  # (buckets, K) outcomes

    def __post_init__(self) -> None:
        self.shown = np.zeros((N_BUCKETS, self.n_actions))
        self.chances = np.zeros((N_BUCKETS, self.n_actions))
        self.outcomes = np.zeros((N_BUCKETS, 2))
        self.counts = np.zeros((N_BUCKETS, 2))
        self.heard = np.zeros((N_BUCKETS, self.n_actions))

    def place(self, times: Floats) -> Integers:
        """The bucket of each moment, (n,); buckets are joined until the last one fits."""
        if math.isnan(self.start):
            self.start = float(times[0])
        last = float(times.max())
        while last >= self.start + self.width * N_BUCKETS:
            for sums in (self.shown, self.chances, self.outcomes, self.counts, self.heard):
                half = sums[0::2] + sums[1::2]
                sums[: len(half)], sums[len(half) :] = half, 0.0
            self.width *= 2.0
        return np.maximum(0, ((times - self.start) / self.width).astype(np.int64))

    def add_decisions(self, times: Floats, actions: Integers, chances: Floats) -> None:
        """Decisions, (n,), and the chances they were drawn with, (n, K)."""
        buckets = self.place(times)
        np.add.at(self.shown, (buckets, actions), 1.0)
        np.add.at(self.chances, buckets, chances)

    def add_outcomes(self, times: Floats, actions: Integers, outcomes: Floats, groups: Integers) -> None:
        """Outcomes, (n,), at the time of their decisions; group 0 is the policy's, 1 the hold-out's."""
        buckets = self.place(times)
        np.add.at(self.outcomes, (buckets, groups), outcomes)
        np.add.at(self.counts, (buckets, groups), 1.0)
        np.add.at(self.heard, (buckets, actions), 1.0)

    def of(self, columns: Integers) -> Timeline:
        """The same sums with these actions' columns; -1 is an action that has none."""
        other = Timeline(len(columns), self.start, self.width)
        other.shown, other.chances = take_columns(self.shown, columns), take_columns(self.chances, columns)
        other.outcomes, other.counts = self.outcomes.copy(), self.counts.copy()
        other.heard = take_columns(self.heard, columns)
        return other

    def as_dict(self) -> Saved:
        """For snapshots."""
        return {
            "start": self.start, "width": self.width, "shown": self.shown, "chances": self.chances,
            "outcomes": self.outcomes, "counts": self.counts, "heard": self.heard,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, saved: Saved) -> Timeline:
        """From a snapshot."""
        start = math.nan if saved["start"] is None else saved["start"]  # JSON has no NaN
        timeline = cls(saved["shown"].shape[1], start, saved["width"])
        timeline.shown, timeline.chances = saved["shown"], saved["chances"]
        timeline.outcomes, timeline.counts, timeline.heard = saved["outcomes"], saved["counts"], saved["heard"]
        return timeline


def take_columns(values: Floats, columns: Integers) -> Floats:
    """(..., K) to (..., len(columns)): a copy, with zeros where the column is -1."""
    padded = np.concatenate([values, np.zeros((*values.shape[:-1], 1))], axis=-1)  # -1 is the last one
    return padded[..., columns]
