"""Recording what came of decisions, and closing windows: the outcomes' side of a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headstart.serve.engine.answers import Answer
from headstart.serve.engine.asks import CloseAsk, OutcomeAsk, check_learnable
from headstart.serve.engine.draft import Draft
from headstart.serve.engine.parts import classify, find_come, make_value, part_id, part_ids
from headstart.serve.errors import UnknownDecision
from headstart.serve.store import events as kinds
from headstart.serve.store.events import Receipt, read_body
from headstart.serve.store.questions import READ_DECIDED, READ_DUE, READ_PARTS
from headstart.serve.store.reader import PAGE
from headstart.serve.store.store import Known, Sought
from headstart.serve.units import Unit


class Recording:
    """What a turn makes of reports."""

    def __init__(self, draft: Draft) -> None:
        self._draft, self._fold = draft, draft.fold

    def find_parts(self, asks: Sequence[OutcomeAsk]) -> None:
        """What is known of the outcomes with names that are reported: of a unit's, its decision had to be found."""
        config, ids = self._fold.config, dict[str, None]()
        for ask in asks if config.outcomes else ():
            of = ask.of if isinstance(ask.of, str) else None
            if isinstance(ask.of, Unit) and ask.of.name in self._draft.traces:
                of = self._draft.traces[ask.of.name].event_id
            if of is not None:
                ids |= dict.fromkeys(part_ids(config, of, ask.report_id))
        if ids:
            self._draft.transaction.find(Sought(list(ids)))

    def record(self, ask: OutcomeAsk) -> Answer:
        """What became of a report."""
        event_id, fold = self._find_id(ask), self._fold
        if isinstance(ask.outcome, dict):
            return self._record_parts(event_id, ask.outcome, ask.report_id)
        known = self._draft.found.get(event_id, {})
        decision = known.get(kinds.DECISION)
        kind, status = kinds.OUTCOME, "applied"
        if decision is None:
            kind = status = kinds.DANGLING
        elif fold.config.outcome_window is not None:
            if self._draft.now > decision.time + fold.config.window_length:
                kind = status = kinds.LATE
            elif fold.learns_at_close:
                status = "waiting"
        if fold.frozen_at is not None and status == "applied":
            status = "waiting"
        if decision is not None and decision.sequence in fold.reckoning.aside and kind == kinds.OUTCOME:
            status = "set_aside"
        # The first outcome in its window is the one that counts; what comes besides it is compared with it.
        earlier = known.get(kinds.OUTCOME) or known.get(kind)
        if earlier is not None:
            if earlier.body["outcome"] == ask.outcome:
                return Receipt(event_id, "duplicate")
            kind = status = kinds.CONFLICTING
            if kind in known:  # one is kept as evidence
                return Receipt(event_id, status)
        check_learnable(fold, ask.outcome)
        about = None if kind == kinds.DANGLING else decision
        self._draft.append(kind, {"outcome": ask.outcome}, event_id, about)
        return Receipt(event_id, status)

    def _record_parts(self, event_id: str, outcomes: Mapping[str, float], report_id: str | None) -> Receipt:
        """Each outcome with a name for itself; and the value, if they complete it and there is no window."""
        fold, config = self._fold, self._fold.config
        known = self._draft.found.get(event_id, {})
        decision = known.get(kinds.DECISION)
        told = {
            name: self._record_part(event_id, name, outcome, report_id, decision)
            for name, outcome in outcomes.items()
        }
        status = "waiting" if "waiting" in told.values() else next(iter(told.values()))
        if status == "waiting" and decision is not None:
            if config.outcome_window is None and kinds.OUTCOME not in known:
                come = find_come(config, self._draft.found, event_id)
                body = make_value(config, come, decision.body["action"])
                if body is not None:
                    self._draft.append(kinds.OUTCOME, body, event_id, decision)
                    status = "waiting" if fold.frozen_at is not None else "applied"
            if decision.sequence in fold.reckoning.aside:
                status = "set_aside"
        return Receipt(event_id, status, told)

    def _record_part(
        self, event_id: str, name: str, outcome: float, report_id: str | None, decision: Known | None
    ) -> str:
        """What became of it."""
        config = self._fold.config
        named = config.outcomes.named[name]
        kind = classify(config, named, None if decision is None else decision.time, self._draft.now)
        under = part_id(event_id, name, named, report_id)
        known = self._draft.found.get(under, {})
        earlier = known.get(kinds.PART) or known.get(kind)
        if earlier is not None:
            if earlier.body["outcome"] == outcome:
                return "duplicate"
            kind = kinds.CONFLICTING
            if kind in known:
                return kind
        self._draft.append(kind, {"name": name, "outcome": outcome}, under, decision)
        return "waiting" if kind == kinds.PART else kind

    def _find_id(self, ask: OutcomeAsk) -> str:
        """The event id of the decision that an outcome is about."""
        if not isinstance(ask.of, Unit):
            return ask.of
        trace = self._draft.traces.get(ask.of.name)
        if trace is None:
            raise UnknownDecision(f"no decision of {ask.experiment!r} is of the unit {ask.of.name!r}")
        return trace.event_id

    def close(self, ask: CloseAsk) -> Answer:
        """How many windows were closed: at most a page of them, so that a turn stays short."""
        fold = self._fold
        if not fold.closes or any(event.kind == kinds.WINDOW_CLOSED for event in self._draft.events):
            return 0  # another ask of this turn has closed them, which no fold knows yet
        # Times never decrease, so what is sequenced after the close is late for all that it closes.
        parameters = (ask.experiment, fold.closed_through, PAGE, self._draft.now - fold.config.window_length)
        through, n = self._draft.transaction.query(READ_DUE, parameters)[0]
        if n:
            if fold.config.outcomes:
                self._settle_values(fold.closed_through, through)
            body = {"after": fold.closed_through, "through": through, "default": fold.config.default_outcome}
            self._draft.append(kinds.WINDOW_CLOSED, body)
        return int(n)

    def _settle_values(self, after: int, through: int) -> None:
        """The values of the decisions whose windows close, by the outcomes with names that came."""
        config, query, name = self._fold.config, self._draft.transaction.query, self._fold.name
        come: dict[int, dict[str, list[float]]] = {}
        for about, text in query(READ_PARTS, (name, after, through)):
            part = read_body(text)
            come.setdefault(about, {}).setdefault(part["name"], []).append(part["outcome"])
        for sequence, event_id, time, text in query(READ_DECIDED, (name, after, through)):
            decision = Known(sequence, time, read_body(text))
            body = make_value(config, come.get(sequence, {}), decision.body["action"])
            if body is not None:
                self._draft.append(kinds.OUTCOME, body, event_id, decision)
