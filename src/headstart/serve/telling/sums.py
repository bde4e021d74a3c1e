"""What people look at: a second fold of the same events, in bounded memory, that nothing decides by.

The learning state answers "what to play next"; these sums answer "what has happened": who was shown what over time,
what it was worth against the hold-out, whether the actions drawn fit the chances they were drawn with. Events come in
pages, as arrays: a matrix product adds up what a loop over them would.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.estimates.mismatch import log_winnings
from headstart.estimates.outliers import Range
from headstart.estimates.sequences import MomentSums
from headstart.parts import Saved
from headstart.serve.config import Label
from headstart.serve.telling.timeline import Timeline, take_columns


class Sums:
    """Sums of decisions and outcomes, over every action that the experiment ever had, by its label as text."""

    def __init__(self, actions: Sequence[Label] = ()) -> None:
        self.actions = [str(label) for label in actions]
        k = len(self.actions)
        self.timeline = Timeline(k)
        self.shown, self.heard, self.expected = np.zeros(k), np.zeros(k), np.zeros(k)
        self.covariance = np.zeros((k, k))  # of the counts of actions drawn
        self.fortune = np.zeros(2)  # its logarithm, of who bets against the logged chances: now, and at its largest
        self.moments = np.zeros((len(MomentSums._fields), k))  # over outcomes, w = 1 / propensity
        self.others = np.zeros(k)  # outcomes that are neither 0 nor 1
        self.values = np.zeros((2, len(MomentSums._fields)))  # the same of policy and hold-out, w = 1

    def add_decisions(self, times: Floats, actions: Integers, chances: Floats) -> None:
        """Decisions, (n,), and the chances they were drawn with, (n, K)."""
        if not len(times):
            return
        self.timeline.add_decisions(times, actions, chances)
        path = self.fortune[0] + log_winnings(actions, chances, self.shown, self.expected).cumsum()
        self.fortune = np.array([path[-1], max(self.fortune[1], path.max())])
        self.shown += np.bincount(actions, minlength=len(self.actions))
        expected = chances.sum(axis=0)
        self.expected += expected
        self.covariance -= chances.T @ chances
        self.covariance.flat[:: len(self.actions) + 1] += expected

    def add_outcomes(
        self,
        times: Floats,
        actions: Integers,
        propensities: Floats,
        outcomes: Floats,
        is_holdout: Bools,
        numbers: Floats,
    ) -> None:
        """What came of decisions made at `times`, (n,) each; `numbers` are theirs among those of their draw.

        The m outcomes of one draw are taken for wholly alike, so what is of second order has m^2 of them and what is
        of third m^3: the k-th adds 2 k - 1 and 3 k^2 - 3 k + 1. Nothing is kept per unit.
        """
        if not len(times):
            return
        groups = is_holdout.astype(np.int64)
        self.timeline.add_outcomes(times, actions, outcomes, groups)
        self.heard += np.bincount(actions, minlength=len(self.actions))
        weights = 1.0 / propensities
        rows, plain = (as_moments(w, outcomes, numbers) for w in (weights, np.ones(len(weights))))
        self.moments += [np.bincount(actions, row, len(self.actions)) for row in rows]
        self.others += np.bincount(actions, (outcomes != 0.0) & (outcomes != 1.0), len(self.actions))
        self.values += np.stack([np.bincount(groups, row, 2) for row in plain], axis=1)

    def of(self, actions: Sequence[Label]) -> Sums:
        """A copy, with these actions in this order: what is not among them is left out, a new one has zeros."""
        other = Sums(actions)
        known = {label: a for a, label in enumerate(self.actions)}
        columns = np.array([known.get(label, -1) for label in other.actions], dtype=np.int64)
        other.timeline = self.timeline.of(columns)
        other.shown, other.heard, other.expected, other.moments, other.others = (
            take_columns(each, columns) for each in (self.shown, self.heard, self.expected, self.moments, self.others)
        )
        other.covariance = take_columns(take_columns(self.covariance, columns).T, columns).T
        other.values, other.fortune = self.values.copy(), self.fortune.copy()
        return other

    def declare(self, actions: Sequence[Label]) -> Sums:
        """These sums, with room for the actions of a new configuration."""
        new = [str(label) for label in actions if str(label) not in self.actions]
        return self.of([*self.actions, *new]) if new else self

    def as_dict(self) -> Saved:
        """For snapshots."""
        return {
            "actions": self.actions, "timeline": self.timeline.as_dict(), "shown": self.shown, "heard": self.heard,
            "expected": self.expected, "covariance": self.covariance, "moments": self.moments,
            "others": self.others, "values": self.values, "fortune": self.fortune,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, saved: Saved) -> Sums:
        """From a snapshot; KeyError for one of an earlier version, which has fewer sums."""
        sums = cls(saved["actions"])
        sums.timeline = Timeline.from_dict(saved["timeline"])
        sums.shown, sums.heard, sums.expected = saved["shown"], saved["heard"], saved["expected"]
        sums.covariance, sums.values = saved["covariance"], saved["values"]
        sums.moments, sums.others, sums.fortune = saved["moments"], saved["others"], saved["fortune"]
        return sums


def is_share(bounds: Range, *, has_some: bool, others: float) -> bool:
    """Whether outcomes are 0 or 1 for everybody: nothing but 0 so far may be the beginning of anything, unless a
    range says otherwise.
    """
    return (bounds == (0.0, 1.0) or has_some) and not others


def as_moments(w: Floats, y: Floats, numbers: Floats) -> list[Floats]:
    """What each outcome adds to `MomentSums`, in the order of its fields."""
    second, third = w * w * (2.0 * numbers - 1.0), w**3 * (3.0 * numbers * (numbers - 1.0) + 1.0)
    powers = (np.ones(len(y)), y, y**2, y**3)
    return [
        w * (y != 0.0),
        *(w * power for power in powers[:3]),
        *(second * power for power in powers[:3]),
        *(third * power for power in powers),
    ]
