"""A draft: the events of a turn that is being taken, and what is known to the asks after them."""

from __future__ import annotations

from headstart.serve.engine.fold import Fold
from headstart.serve.store import events as kinds
from headstart.serve.store.events import Body, Event, decision_body
from headstart.serve.store.store import Found, Known, Transaction


class Draft:
    """What a turn has appended so far, by the state before it; nothing here changes a fold."""

    def __init__(self, transaction: Transaction, fold: Fold, now: int) -> None:
        self.events: list[Event] = []
        self.transaction, self.fold = transaction, fold
        self.now = max(now, transaction.head.time)
        self.found: Found = transaction.found
        self.traces = transaction.traces

    def decision(self, event_id: str) -> Known | None:
        """The decision of an event id."""
        return self.found.get(event_id, {}).get(kinds.DECISION)

    def replace(self, event: Event) -> None:
        """Another body for an event of this turn."""
        self.events = [event if each.sequence == event.sequence else each for each in self.events]
        self.learn_of(event)

    def learn_of(self, event: Event) -> None:
        """Have the asks to come know an event as it is now."""
        known = self.found.get(event.event_id or "")
        if known is not None:
            known[event.kind] = Known(event.sequence, event.time, event.body)

    def append(self, kind: str, body: Body, event_id: str | None = None, decision: Known | None = None) -> int:
        """One more event; what it adds to an event id is known to the asks after it."""
        sequence = self.transaction.head.sequence + len(self.events) + 1
        event = Event(sequence, self.fold.name, kind, event_id, self.now, None, body)
        if decision is not None:
            event = event._replace(
                about=decision.sequence, decision=decision_body(decision.body), decided=decision.time
            )
        self.events.append(event)
        if event_id is not None:
            self.found.setdefault(event_id, {})[kind] = Known(sequence, self.now, body)
        return sequence
