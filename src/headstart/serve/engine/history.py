"""What has happened, for reports: decisions as they were made and outcomes as they came to count, page by page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from headstart.errors import LogError
from headstart.logs.log import Log
from headstart.parts.explanation import Explanation
from headstart.serve.config import ExperimentConfig, Label
from headstart.serve.engine.bounds import Bounds
from headstart.serve.engine.deciding import explain_decision
from headstart.serve.engine.declarations import read_declarations
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.ledger import Ledger
from headstart.serve.engine.sources import read_source
from headstart.serve.errors import StoreCorrupt
from headstart.serve.store import events as kinds
from headstart.serve.store.events import Context, DecisionBody, Event, Learnt
from headstart.serve.store.reader import REPORT, Reader, as_learnt

_REPORTS = (kinds.OUTCOME, kinds.PART, kinds.LATE, kinds.EARLY, kinds.CONFLICTING)
_PATIENCE = 1.0  # seconds that somebody who looks at a decision waits for the fold


class Terms(NamedTuple):
    """What outcomes count as; `rewritten` is the event that said so last: a report of other terms is out of date."""

    rewritten: int
    bounds: Bounds
    aside: frozenset[int]  # decisions that do not count
    at_close: bool  # whether outcomes count when the windows close


class Mark(NamedTuple):
    """The last event that an experiment has folded."""

    position: int
    hash: str


@dataclass
class Decided:
    """Decisions under one configuration, a column each."""

    actions: list[str]  # the labels that they were drawn from
    times: list[float] = field(default_factory=list)  # seconds since 1970
    drawn: list[str] = field(default_factory=list)
    chances: list[list[float]] = field(default_factory=list)
    contexts: list[Context] = field(default_factory=list)


@dataclass
class Heard:
    """Outcomes that began to count, a column each."""

    times: list[float] = field(default_factory=list)  # of their decisions
    drawn: list[str] = field(default_factory=list)
    propensities: list[float] = field(default_factory=list)
    outcomes: list[float] = field(default_factory=list)
    is_holdout: list[bool] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)  # of the decision among those of its draw, from 1 on
    about: list[int] = field(default_factory=list)  # the decisions' sequence numbers
    named: list[Mapping[str, float]] = field(default_factory=list)  # outcomes with names; empty where there are none

    def add(self, row: Learnt, outcome: float) -> None:
        """One more; `outcome` is what it counts as."""
        body = row.body
        self.times.append(row.decided / 1e6)
        self.drawn.append(str(body["action"]))
        self.propensities.append(body["propensity"])
        self.outcomes.append(outcome)
        self.is_holdout.append("is_holdout" in body)
        self.numbers.append(body.get("number", 1))
        self.about.append(row.about)
        self.named.append(row.outcomes)


@dataclass
class Page:
    """A stretch of events: where it ends, the actions in force there, and what is in it."""

    mark: Mark
    decided: list[Decided]  # one for each configuration
    heard: Heard = field(default_factory=Heard)
    deeds: list[Event] = field(default_factory=list)  # what people and configurations decided
    n_events: int = 0
    reports: int = 0  # of outcomes, whatever became of them
    silence: int = 0  # decisions after the last of them

    @property
    def actions(self) -> list[str]:
        """The labels in force at its end."""
        return self.decided[-1].actions


class Past:
    """One experiment's events, for a report that follows them in its own time."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._name, self._reader = ledger, ledger.name, ledger.reader

    @property
    def is_open(self) -> bool:
        """Whether there is a fold whose terms one may ask for."""
        return self._ledger.broken is None

    @property
    def is_folder(self) -> bool:
        """Whether this process keeps snapshots."""
        return self._ledger.is_folder

    def mark(self) -> Mark:
        """How far the fold has come."""
        fold = self._ledger.fold
        return Mark(fold.position, fold.hash)

    def terms(self) -> Terms:
        """What outcomes count as now."""
        fold = self._ledger.fold
        reckoning = fold.reckoning
        return Terms(reckoning.rewritten, reckoning.bounds, frozenset(reckoning.aside), fold.learns_at_close)

    @property
    def rewritten(self) -> int:
        """The event that last changed what earlier outcomes count as."""
        return self._ledger.fold.reckoning.rewritten

    def holds(self, mark: Mark) -> bool:
        """Whether the store's history is one that has this event."""
        return self._reader.hash_at(self._name, mark.position) == mark.hash

    def read_page(self, after: Mark, actions: list[str], terms: Terms, size: int) -> Page:
        """The next events, at most so many; `actions` are those in force."""
        page, at_close = Page(after, [Decided(actions)]), terms.at_close
        for event in self._reader.events(self._name, after.position, size):
            if event.kind in _REPORTS and "outcomes" not in event.body:  # a value is made here: nobody reports it
                page.reports, page.silence = page.reports + 1, 0
            if event.kind == kinds.DECISION:
                page.silence += 1
                _add_decision(page.decided[-1], event)
            elif event.kind == kinds.OUTCOME:
                if not at_close and event.decision is not None and event.about not in terms.aside:
                    about = event.about or 0
                    row = as_learnt(event.sequence, event.time, event.decided, event.decision, event.body, about)
                    page.heard.add(row, terms.bounds.clip_outcome(row.outcome))
            elif event.kind == kinds.WINDOW_CLOSED:
                if at_close:
                    self._add_closed(page.heard, event, terms)
            elif event.event_id is None:
                page.deeds.append(event)
                if event.kind == kinds.CONFIGURATION:
                    page.decided.append(Decided(_as_text(event.body["actions"])))
            page.mark = Mark(event.sequence, event.hash)
            page.n_events += 1
        return page

    def _add_closed(self, heard: Heard, close: Event, terms: Terms) -> None:
        for row in self._reader.learnt(self._name, close.sequence - 1, close.sequence, at_close=True):
            if row.about not in terms.aside:
                heard.add(row, terms.bounds.clip_outcome(row.outcome))

    def read_log(self) -> Log:
        """The log that the experiment began with, as it was read: read again."""
        fold = self._ledger.fold
        source = None if fold.log is None else read_source(fold.config, fold.log)
        if source is None or source.raw is None:
            raise LogError(f"experiment {self._name!r} has no log at present")
        return source.raw

    def of_id(self, event_id: str, limit: int) -> list[Event]:
        """The first events with this id, its decision and what came of it, in their order."""
        return self._reader.of_id(self._name, event_id, limit)

    def actions_at(self, version: int) -> tuple[Label, ...]:
        """The labels, in order, that a decision of this version was drawn from."""
        return read_declarations(self._reader, self._name, version).actions_at(version)

    def explain(self, body: DecisionBody, outcome: str) -> Explanation | None:
        """Why the user of a decision would get its action now; None where it cannot be said any more."""
        with self._ledger.looking(_PATIENCE):
            return explain_decision(self._ledger.fold, body, outcome)

    @property
    def version(self) -> int:
        """The last event that changed what the policy would do."""
        return self._ledger.fold.version

    @property
    def config(self) -> ExperimentConfig:
        """The configuration in force."""
        return self._ledger.fold.config

    def is_aside(self, decision: int) -> bool:
        """Whether somebody set this decision's outcome aside."""
        return decision in self._ledger.fold.reckoning.aside

    def snapshot(self) -> str | None:
        """The newest snapshot of a report."""
        return self._reader.snapshot(self._name, REPORT)

    def offer_snapshot(self, position: int, body: bytes) -> None:
        """Have the experiment's own thread keep a report's snapshot: it alone writes to the store."""
        self._ledger.offered = position, body


class StoredPast:
    """What a page of one decision needs, from a store that is only looked at."""

    def __init__(self, fold: Fold, reader: Reader) -> None:
        self._fold, self._reader, self._name = fold, reader, fold.name

    def of_id(self, event_id: str, limit: int) -> list[Event]:
        """The first events with this id, its decision and what came of it, in their order."""
        return self._reader.of_id(self._name, event_id, limit)

    def actions_at(self, version: int) -> tuple[Label, ...]:
        """The labels, in order, that a decision of this version was drawn from."""
        return tuple(self._fold.actions_at(version))

    def explain(self, body: DecisionBody, outcome: str) -> Explanation | None:
        """Why the user of a decision would get its action now; None where it cannot be said any more."""
        return explain_decision(self._fold, body, outcome)

    def is_aside(self, decision: int) -> bool:
        """Whether somebody set this decision's outcome aside."""
        return decision in self._fold.reckoning.aside

    @property
    def version(self) -> int:
        """The last event that changed what the policy would do."""
        return self._fold.version

    @property
    def config(self) -> ExperimentConfig:
        """The configuration in force."""
        return self._fold.config


def _add_decision(decided: Decided, event: Event) -> None:
    chances = event.body["probabilities"]
    if len(chances) != len(decided.actions):
        raise StoreCorrupt(
            f"decision {event.sequence} of {event.experiment!r} has {len(chances)} probabilities for "
            f"{len(decided.actions)} actions"
        )
    action = str(event.body["action"])
    if "follows" in event.body:  # it was not drawn: given what its unit was shown before, it had to be this one
        chances = [float(label == action) for label in decided.actions]
    decided.times.append(event.time / 1e6)
    decided.drawn.append(action)
    decided.chances.append(chances)
    if "is_redacted" not in event.body:  # who was erased is nobody to compare others with
        decided.contexts.append(event.body["context"])


def _as_text(labels: list[Label]) -> list[str]:
    return [str(label) for label in labels]
