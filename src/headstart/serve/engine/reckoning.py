"""Reckoning: what outcomes count, within the bounds in force and without those set aside, and what they add up to."""

from __future__ import annotations

from collections.abc import Iterable

from headstart.parts import Saved
from headstart.serve.config import ExperimentConfig
from headstart.serve.engine.bounds import UNBOUNDED, Bounds
from headstart.serve.engine.tally import EventTally
from headstart.serve.store import events as kinds
from headstart.serve.store.events import Event, Learnt


class Reckoning:
    """The tally of an experiment's events, and what may change of earlier ones: bounds, and what was set aside.

    When that changes, outcomes are counted again from the events: taking 1e300 from a sum leaves nothing of the rest.
    """

    def __init__(self) -> None:
        self.bounds = UNBOUNDED  # values that the policy sees and learns
        self.aside: dict[int, int] = {}  # decisions that are not learnt, and the event that set each aside
        self.rewritten = 0  # the last event that changed what earlier outcomes count
        self.is_counted = True  # whether the tally's outcomes are those that count now
        self.tally = EventTally()

    def add_decision(self, event: Event, config: ExperimentConfig) -> None:
        """One more decision."""
        body = event.body
        self.tally.add_decision(str(body["action"]), is_holdout="is_holdout" in body, is_repeat="follows" in body)
        if "is_redacted" in body:
            self.tally.clipped_contexts += "is_clipped" in body
        else:
            self.tally.watch(body["context"], config, self.bounds, event.event_id or "")
        if "surprises" in event.body:
            self.tally.add_surprises(event.body["surprises"])

    def add_outcome(self, event: Event) -> None:
        """One more outcome that came, whether or not it counts yet."""
        self.tally.outcomes += 1
        if event.about not in self.aside:
            self.tally.watch_outcome(event.body["outcome"], self.bounds, event.event_id or "")

    def add_learnt(self, row: Learnt) -> None:
        """One more outcome that counts."""
        if self.is_counted:
            self._count(row)

    def count_again(self, rows: Iterable[Learnt]) -> None:
        """Count everything that counts; a read that fails half-way leaves it to be done."""
        self.tally.clear_learnt()
        for row in rows:
            self._count(row)
        self.is_counted = True

    def _count(self, row: Learnt) -> None:
        if row.about in self.aside:
            self.tally.aside += 1
            return
        outcome = self.bounds.clip_outcome(row.outcome)
        self.tally.add_named(str(row.body["action"]), row.outcomes)
        number = row.body.get("number", 1)
        self.tally.add_learnt(str(row.body["action"]), outcome, number=number, is_default=row.is_default)

    def bound(self, bounds: Bounds, sequence: int) -> None:
        """Other bounds are in force from this event on."""
        if bounds != self.bounds:
            self.bounds = bounds
            self._rewrite(sequence)

    def set_aside(self, event: Event) -> None:
        """One decision is learnt and counted no more, or again."""
        assert event.about is not None
        if event.kind == kinds.SET_ASIDE:
            self.aside[event.about] = event.sequence
            self.tally.forget(event.body["event_id"])
        else:
            self.aside.pop(event.about, None)
        self._rewrite(event.sequence)

    def redact(self, sequence: int) -> None:
        """Watch contexts anew: which ones were the least and greatest without a person's, nobody can know.

        What counts stays; a report, which may have looked at contexts, begins anew all the same.
        """
        self.tally.column_extremes = {}
        self.rewritten = sequence

    def _rewrite(self, sequence: int) -> None:
        self.rewritten = sequence
        # Counted when somebody asks. What is still to be counted again stays so: it may have been cleared already.
        self.is_counted = self.is_counted and not (self.tally.learnt or self.tally.aside)

    def as_dict(self) -> Saved:
        """For snapshots; the bounds follow from the configuration and the log."""
        return {"tally": self.tally.as_dict(), "aside": self.aside, "rewritten": self.rewritten}

    @classmethod
    def from_dict(cls, saved: Saved, bounds: Bounds) -> Reckoning:
        """From a snapshot."""
        reckoning = cls()
        reckoning.bounds, reckoning.rewritten = bounds, saved["rewritten"]
        reckoning.aside = {int(decision): sequence for decision, sequence in saved["aside"].items()}
        reckoning.tally = EventTally.from_dict(saved["tally"])
        return reckoning
