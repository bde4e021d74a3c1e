"""EventTally: what the events of an experiment add up to, whatever the policy made of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Self, TypedDict

from headstart.serve.config import ExperimentConfig
from headstart.serve.engine.bounds import Bounds
from headstart.serve.engine.extremes import Extremes
from headstart.serve.store.events import Body, Context

_Z = 1.959963984540054


class OnlineMean(TypedDict):
    """The plain mean of an action's outcomes, with its 95 % interval, which counts a draw's outcomes as one."""

    n: int
    mean: float | None
    low: float | None
    high: float | None


@dataclass
class EventTally:
    """Counts of events; per action (by its label as text) how often shown, and n, sum, sum of squares and `alike`
    learnt (the sum over draws of the square of their number of outcomes, or more: see `mean`).
    """

    decisions: int = 0
    held_out: int = 0  # of the decisions
    repeated: int = 0  # of the decisions: those that repeat the draw of their unit
    outcomes: int = 0  # first outcomes in their window
    learnt: int = 0  # by outcomes that came or by the default
    defaults: int = 0  # of those learnt
    late: int = 0
    dangling: int = 0
    conflicting: int = 0
    parts: int = 0  # reports of outcomes with names, in their windows
    early: int = 0
    clipped_contexts: int = 0  # decisions for a context outside the bounds
    clipped_outcomes: int = 0  # of the outcomes: outside the bounds
    missing: dict[str, int] = field(default_factory=dict)  # users of whom a column was null, by column
    unseen: dict[str, int] = field(default_factory=dict)  # and who had a category that nobody declared
    aside: int = 0  # decisions that would have been learnt, had nobody set them aside
    outcome_extremes: Extremes = field(default_factory=Extremes)  # of outcomes without bounds
    column_extremes: dict[str, Extremes] = field(default_factory=dict)  # of columns without bounds
    shown: dict[str, int] = field(default_factory=dict)
    sums: dict[str, list[float]] = field(default_factory=dict)
    named: dict[str, dict[str, list[float]]] = field(default_factory=dict)  # action, name: n, sum

    def add_decision(self, action: str, *, is_holdout: bool, is_repeat: bool) -> None:
        """One more decision."""
        self.decisions += 1
        self.held_out += is_holdout
        self.repeated += is_repeat
        self.shown[action] = self.shown.get(action, 0) + 1

    def add_learnt(self, action: str, outcome: float, *, number: int, is_default: bool) -> None:
        """One more outcome that counts, of a decision that is the `number`-th of its draw."""
        self.learnt += 1
        self.defaults += is_default
        sums = self.sums.get(action)
        if sums is None:
            sums = self.sums[action] = [0, 0.0, 0.0, 0]
        sums[0] += 1
        sums[1] += outcome
        sums[2] += outcome * outcome
        sums[3] += 2 * number - 1

    def watch(self, context: Context, config: ExperimentConfig, bounds: Bounds, event_id: str) -> None:
        """Count a context outside the bounds; keep the extremes of columns that have none."""
        self.clipped_contexts += not bounds.holds(context)
        for column, kind in config.contexts.items():
            if kind == "number" and column not in bounds.columns:
                value, extremes = context.get(column), self.column_extremes.get(column)
                if extremes is None:
                    extremes = self.column_extremes[column] = Extremes()
                if isinstance(value, float):
                    extremes.add(value, event_id)

    def add_surprises(self, surprises: Mapping[str, str]) -> None:
        """Count the columns of a user that were missing or unseen."""
        for column, kind in surprises.items():
            counts = self.missing if kind == "missing" else self.unseen
            counts[column] = counts.get(column, 0) + 1

    def watch_outcome(self, outcome: float, bounds: Bounds, event_id: str) -> None:
        """Count an outcome outside the bounds, or keep the extremes where there are none."""
        if bounds.outcome is None:
            self.outcome_extremes.add(outcome, event_id)
        else:
            self.clipped_outcomes += bounds.clip_outcome(outcome) != outcome

    def forget(self, event_id: str) -> None:
        """Watch no longer what came with an event id: somebody has looked at it."""
        for extremes in (self.outcome_extremes, *self.column_extremes.values()):
            extremes.drop(event_id)

    def clear_learnt(self) -> None:
        """Before everything that counts is counted again."""
        self.learnt = self.defaults = self.aside = 0
        self.sums, self.named = {}, {}

    def add_named(self, action: str, outcomes: Mapping[str, float]) -> None:
        """The outcomes with names that a value was made of."""
        for name, outcome in outcomes.items():
            sums = self.named.setdefault(action, {}).setdefault(name, [0, 0.0])
            sums[0] += 1
            sums[1] += outcome

    def mean(self, action: str) -> OnlineMean:
        """The plain mean of the outcomes learnt, with its 95 % interval (normal); None where there is none.

        The m outcomes of one draw are taken for wholly alike: sd^2 sum(m^2) / n^2 in the place of sd^2 / n. The sum
        is kept as that of 2 k - 1 over the decisions that are the k-th of their draw: m^2 where the first m have
        outcomes, more where others have.
        """
        n, total, squares, alike = self.sums.get(action, (0, 0.0, 0.0, 0))
        if n == 0:
            return {"n": 0, "mean": None, "low": None, "high": None}
        mean, worth = total / n, n if alike == n else n * n / alike  # independent outcomes
        if worth <= 1:
            return {"n": int(n), "mean": mean, "low": None, "high": None}
        reach = _Z * math.sqrt(max(squares / n - mean * mean, 0.0) / (worth - 1))
        return {"n": int(n), "mean": mean, "low": mean - reach, "high": mean + reach}

    def as_dict(self) -> dict[str, object]:
        """For snapshots."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Body) -> Self:
        """From a snapshot."""
        tally = cls(**{each.name: saved[each.name] for each in fields(cls)})
        tally.outcome_extremes = Extremes(**saved["outcome_extremes"])
        tally.column_extremes = {column: Extremes(**kept) for column, kept in saved["column_extremes"].items()}
        return tally
