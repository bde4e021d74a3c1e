"""Guarding: is an outcome worse than it may be? By sequences that hold at every look, since it began.

The users for whom the policy decides (or the safe action is shown) are one group, the hold-out's the other, each
outcome with weight 1: the sum of what is above or below the chances' own mean is a martingale whatever the policy
learnt. One-sided at `level`, a guardrail that has nothing to find ever trips with at most that chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import NamedTuple

import numpy as np

from headstart.arrays import Bools, Floats
from headstart.estimates.outliers import Range
from headstart.estimates.sequences import MomentSums, differences, sequences
from headstart.parts import Saved
from headstart.serve.config import read_experiment
from headstart.serve.engine.guards import Guards
from headstart.serve.engine.history import Heard
from headstart.serve.guardrails import Guardrail
from headstart.serve.store import events as kinds
from headstart.serve.store.events import Body, Event
from headstart.serve.telling.deeds import Deed
from headstart.serve.telling.outcomes import Wording, name_outcome
from headstart.serve.telling.report import FREE
from headstart.serve.telling.sums import as_moments, is_share


class Harm(NamedTuple):
    """How much worse an outcome is than what it is held against: the difference, and its least."""

    users: int
    holdout_users: int
    value: float  # the mean outcome of the users
    against: float  # the bound, or the mean of the hold-out
    worse_by: float
    at_least: float  # ever above the truth with a chance of at most the level; NaN while too little is known
    is_rate: bool


class GuardSums:
    """Moments of the outcomes that one guardrail counts, of the policy's users and of the hold-out's."""

    def __init__(self, since: int) -> None:
        self.since = since  # decisions after this event count
        self.values = np.zeros((2, len(MomentSums._fields)))
        self.others = 0  # outcomes that are neither 0 nor 1

    def copied(self) -> GuardSums:
        """As they are now."""
        twin = GuardSums(self.since)
        twin.values, twin.others = self.values.copy(), self.others
        return twin

    def add(self, outcomes: Floats, is_holdout: Bools, numbers: Floats) -> None:
        """What came, (n,) each; `numbers` are the decisions' among those of their draw."""
        groups = is_holdout.astype(np.int64)
        rows = as_moments(np.ones(outcomes.size), outcomes, numbers)
        self.values += np.stack([np.bincount(groups, row, 2) for row in rows], axis=1)
        self.others += int(((outcomes != 0.0) & (outcomes != 1.0)).sum())

    def judge(self, guardrail: Guardrail, bounds: Range) -> Harm:
        """Against its bound or the hold-out."""
        is_rate = is_share(bounds, has_some=bool(self.values[:, 0].any()), others=self.others)
        sign, alpha = 1.0 if guardrail.is_worse_higher else -1.0, 2.0 * guardrail.level
        n, n_holdout = (int(n) for n in self.values[:, 1])
        if guardrail.bound is None:
            groups = MomentSums(*self.values.T).as_groups()
            apart = differences(groups, np.array(0), alpha, is_binary=is_rate)
            with np.errstate(invalid="ignore"):
                value, against = (float(mean) for mean in groups.wy / groups.w)
            limits = (float(apart.low[1]), float(apart.high[1]))
        else:
            found = sequences(MomentSums(*self.values[:1].T), alpha, is_binary=is_rate)
            value, against = float(found.means[0]), guardrail.bound
            limits = (float(found.low[0]) - against, float(found.high[0]) - against)
        worst = limits[0] if guardrail.is_worse_higher else -limits[1]
        return Harm(n, n_holdout, value, against, sign * (value - against), worst, is_rate)


class Watched:
    """The guardrails of an experiment, and the sums of each from its beginning on."""

    def __init__(self) -> None:
        self.guards = Guards()
        self.sums: dict[str, GuardSums] = {}
        self.trips: dict[str, Deed] = {}  # the newest of each, whether or not it is in force
        self.value_name = "outcome"  # what a guardrail without an outcome of its own is about

    def take(self, event: Event) -> None:
        """What people and configurations decided: a guardrail that begins anew has no sums."""
        if event.kind == kinds.CONFIGURATION:
            config = read_experiment(event.experiment, event.body)
            self.guards.declare(config.guardrails, event.sequence)
            self.value_name = name_outcome(config)
        elif event.kind in (kinds.TRIPPED, kinds.RESUMED):
            self.guards.take(event)
            if event.kind == kinds.TRIPPED:
                self.trips[event.body["guardrail"]] = Deed.of(event)
        old, self.sums = self.sums, {}
        for name, since in self.guards.since.items():
            goes_on = name in old and old[name].since == since
            self.sums[name] = old[name] if goes_on else GuardSums(since)

    def add(self, heard: Heard) -> None:
        """Outcomes that began to count; of each those whose decision came after its beginning."""
        about, is_holdout, numbers = (np.array(each) for each in (heard.about, heard.is_holdout, heard.numbers))
        for name, guardrail in self.guards.declared.items():
            outcomes = heard.outcomes if guardrail.outcome is None else _take(heard.named, guardrail.outcome)
            values = np.array(outcomes, dtype=np.float64)
            rows = (about > self.sums[name].since) & np.isfinite(values)
            if rows.any():
                self.sums[name].add(values[rows], is_holdout[rows], numbers[rows].astype(np.float64))

    def copied(self) -> Watched:
        """As they are now, for somebody who reads them."""
        twin = Watched()
        twin.guards, twin.value_name = self.guards.with_events([]), self.value_name
        twin.trips = dict(self.trips)
        twin.sums = {name: sums.copied() for name, sums in self.sums.items()}
        return twin

    def find_trips(self, bounds: Range, position: int) -> dict[str, Body]:
        """What is to be recorded of those that have to trip by what is known up to an event."""
        found: dict[str, Body] = {}
        for name, guardrail in self.guards.declared.items():
            harm = self.judge(name, bounds)
            if name not in self.guards.tripped and harm.at_least > guardrail.margin:
                found[name] = {
                    "since": self.guards.since[name],
                    "looked_at": position,
                    "users": harm.users,
                    "holdout_users": harm.holdout_users,
                    "value": harm.value,
                    "against": harm.against,
                    "at_least": harm.at_least,
                    "reason": tell_harm(guardrail, harm, self.outcome_of(name)),
                    "by": "headstart",
                }
        return found

    def judge(self, name: str, bounds: Range) -> Harm:
        """One of them, by what is known; `bounds` are those of the value."""
        guardrail = self.guards.declared[name]
        return self.sums[name].judge(guardrail, bounds if guardrail.outcome is None else guardrail.range or FREE)

    def outcome_of(self, name: str) -> str:
        """What a guardrail watches, by its name."""
        return self.guards.declared[name].outcome or self.value_name

    def as_dict(self) -> Saved:
        """For snapshots."""
        return {
            "guards": self.guards.as_dict(),
            "value_name": self.value_name,
            "trips": {name: list(deed) for name, deed in self.trips.items()},
            "declared": {name: asdict(each) for name, each in self.guards.declared.items()},
            "values": {name: each.values for name, each in self.sums.items()},
            "others": {name: each.others for name, each in self.sums.items()},
        }

    @classmethod
    def from_dict(cls, saved: Saved) -> Watched:
        """From a snapshot."""
        watched = cls()
        watched.value_name = saved["value_name"]
        watched.trips = {name: Deed(*deed) for name, deed in saved["trips"].items()}
        declared = {name: Guardrail(**each) for name, each in saved["declared"].items()}
        watched.guards = Guards.from_dict(saved["guards"], declared)
        for name, since in watched.guards.since.items():
            watched.sums[name] = sums = GuardSums(since)
            sums.values, sums.others = saved["values"][name], saved["others"][name]
        return watched


def tell_harm(guardrail: Guardrail, harm: Harm, outcome: str) -> str:
    """What was found, in a sentence without its end."""
    words = Wording(outcome, harm.is_rate)
    which = "above" if guardrail.is_worse_higher else "below"
    whose = "the bound of" if guardrail.bound is not None else "the hold-out's"
    users = f"{harm.users:,} users" + ("" if guardrail.bound is not None else f", {harm.holdout_users:,} held out")
    told = f"{outcome} is {words.tell(harm.value)} ({users}), {which} {whose} {words.tell(harm.against)}"
    margin = f" (tolerated: {words.tell_size(guardrail.margin)})" if guardrail.margin else ""
    return f"{told}, by at least {words.tell_size(harm.at_least)}{margin}"


def _take(named: list[Mapping[str, float]], name: str) -> list[float]:
    return [each.get(name, math.nan) for each in named]
