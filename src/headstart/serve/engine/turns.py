"""A turn of writing: from a group of asks to events and answers, by what the store holds at that moment.

Decisions come first, by the state before the turn, so that a decision's version is always the newest one before it.
Then everything else, in the order it came. Nothing here changes a fold: that is done when the events are durable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from headstart.errors import ActionError, HeadstartError
from headstart.serve.config import Label
from headstart.serve.engine.answers import Answer
from headstart.serve.engine.asks import (
    AsideAsk,
    Ask,
    CloseAsk,
    DecideAsk,
    Fitted,
    OutcomeAsk,
    RetireAsk,
    SteerAsk,
    as_fitted,
    check_learnable,
)
from headstart.serve.engine.decision import Decider
from headstart.serve.engine.parts import classify, find_come, make_value, part_id, part_ids
from headstart.serve.engine.repeats import is_kept, repeat_draw
from headstart.serve.engine.retries import is_same_request
from headstart.serve.errors import ConflictError, PolicyFailed, UnknownDecision
from headstart.serve.store import events as kinds
from headstart.serve.store.events import Body, DecisionBody, Event, Receipt, as_decision, decision_body, read_body
from headstart.serve.store.questions import READ_DECIDED, READ_DUE, READ_PARTS
from headstart.serve.store.reader import PAGE
from headstart.serve.store.store import Found, Known, Sought, Trace, Transaction
from headstart.serve.units import Unit

AnAsk = TypeVar("AnAsk", bound=Ask)


def list_sought(asks: Sequence[Ask]) -> Sought:
    """The event ids that somebody may have used before, and the units that are named, each once."""
    ids: dict[str, None] = {}
    units: dict[str, None] = {}
    for ask in asks:
        if isinstance(ask, DecideAsk):
            if not ask.is_new:
                ids[ask.event_id] = None
            if ask.unit is not None:
                units[ask.unit] = None
        elif isinstance(ask, AsideAsk):
            ids[ask.event_id] = None
        elif isinstance(ask, OutcomeAsk):
            if isinstance(ask.of, Unit):
                units[ask.of.name] = None
            else:
                ids[ask.of] = None
    return Sought(list(ids), list(units))


class Turn:
    """One turn, begun for the event ids of its asks. `run` answers; `events` are what it appended."""

    def __init__(self, transaction: Transaction, decider: Decider, now: int) -> None:
        self.events: list[Event] = []
        self._transaction, self._decider, self._fold = transaction, decider, decider.fold
        self._now = max(now, transaction.head.time)
        self._found: Found = transaction.found
        self._traces = transaction.traces

    def run(self, asks: Sequence[Ask]) -> list[Answer]:
        """An answer for each ask, in their order; the events are inserted, not yet committed."""
        answers: list[Answer] = [0] * len(asks)
        later = []
        for i, ask in enumerate(asks):
            if isinstance(ask, DecideAsk):
                answers[i] = self._answer(self._decide, ask)
            else:
                later.append(i)
        self._find_parts([ask for ask in asks if isinstance(ask, OutcomeAsk)])
        for i in later:
            ask = asks[i]
            if isinstance(ask, OutcomeAsk):
                answers[i] = self._answer(self._record, ask)
            elif isinstance(ask, SteerAsk):
                answers[i] = self._answer(self._steer, ask)
            elif isinstance(ask, AsideAsk):
                answers[i] = self._answer(self._set_aside, ask)
            elif isinstance(ask, RetireAsk):
                answers[i] = self._answer(self._retire, ask)
            elif isinstance(ask, CloseAsk):
                answers[i] = self._answer(self._close, ask)
        if self.events:
            self.events = self._transaction.insert(self.events)
        return answers

    def _find_parts(self, asks: Sequence[OutcomeAsk]) -> None:
        """What is known of the outcomes with names that are reported: of a unit's, its decision had to be found."""
        config, ids = self._fold.config, dict[str, None]()
        for ask in asks if config.outcomes else ():
            of = ask.of if isinstance(ask.of, str) else None
            if isinstance(ask.of, Unit) and ask.of.name in self._traces:
                of = self._traces[ask.of.name].event_id
            if of is not None:
                ids |= dict.fromkeys(part_ids(config, of, ask.report_id))
        if ids:
            self._transaction.find(Sought(list(ids)))

    def _answer(self, method: Callable[[AnAsk], Answer], ask: AnAsk) -> Answer:
        try:
            return method(ask)
        except HeadstartError as error:
            return error

    def _append(self, kind: str, body: Body, event_id: str | None = None, decision: Known | None = None) -> int:
        """One more event; what it adds to an event id is known to the asks after it."""
        sequence = self._transaction.head.sequence + len(self.events) + 1
        event = Event(sequence, self._fold.name, kind, event_id, self._now, None, body)
        if decision is not None:
            event = event._replace(
                about=decision.sequence, decision=decision_body(decision.body), decided=decision.time
            )
        self.events.append(event)
        if event_id is not None:
            self._found.setdefault(event_id, {})[kind] = Known(sequence, self._now, body)
        return sequence

    def _decide(self, ask: DecideAsk) -> Answer:
        if not ask.is_new or ask.event_id in self._found:
            earlier = self._found.get(ask.event_id, {}).get(kinds.DECISION)
            if earlier is not None:
                return self._decide_again(ask, decision_body(earlier.body))
        fitted = ask.fitted
        fold = self._fold
        in_force = fitted.config is fold.config and fitted.bounds is fold.reckoning.bounds
        if not in_force or fitted.offered != fold.offered:  # another process changed them since
            fitted = as_fitted(self._fold, ask.given)
        if fitted.refusal is not None:
            raise fitted.refusal
        trace = None if ask.unit is None else self._find_kept(ask.unit, fitted.available)
        body = self._draw(ask, fitted) if trace is None else self._repeat(trace, ask.unit or "", fitted)
        sequence = self._append(kinds.DECISION, body, ask.event_id, None if trace is None else trace.draw)
        if ask.unit is not None:
            self._traces[ask.unit] = (
                Trace(ask.event_id, 1, ask.event_id, Known(sequence, self._now, body))
                if trace is None
                else trace._replace(event_id=ask.event_id, number=trace.number + 1)
            )
        return as_decision(ask.event_id, body, self._fold.config.actions)

    def _draw(self, ask: DecideAsk, fitted: Fitted) -> DecisionBody:
        try:
            return self._decider.decide(ask.event_id, fitted.seen, fitted.available, ask.unit)
        except HeadstartError:
            raise
        except Exception as error:  # a policy's own fault is its experiment's, not that of the rest of the group
            raise PolicyFailed(f"the policy of {ask.experiment!r} failed: {type(error).__name__}: {error}") from error

    def _find_kept(self, unit: str, available: list[Label] | None) -> Trace | None:
        """The draw that a unit keeps; None if it is drawn for."""
        trace = self._traces.get(unit)
        if trace is None or not is_kept(self._fold, trace.draw.body["action"], trace.draw.time, available, self._now):
            return None
        return trace

    def _repeat(self, trace: Trace, unit: str, fitted: Fitted) -> DecisionBody:
        fold = self._fold
        return repeat_draw(
            trace,
            unit,
            fitted.seen,
            fitted.available,
            version=fold.version,
            drawn_from=fold.actions_at(trace.draw.body["version"]),
            actions=fold.config.actions,
        )

    def _decide_again(self, ask: DecideAsk, recorded: DecisionBody) -> Answer:
        """The recorded answer, whatever the configuration is now."""
        actions = self._fold.actions_at(recorded["version"])
        if not is_same_request(ask.given, recorded, actions):
            raise ConflictError(
                f"event_id {ask.event_id!r} belongs to a decision for another context, unit or available actions: "
                "use a new one for a new decision"
            )
        return as_decision(ask.event_id, recorded, actions)

    def _record(self, ask: OutcomeAsk) -> Answer:
        event_id, fold = self._find_id(ask), self._fold
        if isinstance(ask.outcome, dict):
            return self._record_parts(event_id, ask.outcome, ask.report_id)
        known = self._found.get(event_id, {})
        decision = known.get(kinds.DECISION)
        kind, status = kinds.OUTCOME, "applied"
        if decision is None:
            kind = status = kinds.DANGLING
        elif fold.config.outcome_window is not None:
            if self._now > decision.time + fold.config.window_length:
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
        self._append(kind, {"outcome": ask.outcome}, event_id, about)
        return Receipt(event_id, status)

    def _record_parts(self, event_id: str, outcomes: Mapping[str, float], report_id: str | None) -> Receipt:
        """Each outcome with a name for itself; and the value, if they complete it and there is no window."""
        fold, config = self._fold, self._fold.config
        known = self._found.get(event_id, {})
        decision = known.get(kinds.DECISION)
        told = {
            name: self._record_part(event_id, name, outcome, report_id, decision)
            for name, outcome in outcomes.items()
        }
        status = "waiting" if "waiting" in told.values() else next(iter(told.values()))
        if status == "waiting" and decision is not None:
            if config.outcome_window is None and kinds.OUTCOME not in known:
                come = find_come(config, self._found, event_id)
                body = make_value(config, come, decision.body["action"])
                if body is not None:
                    self._append(kinds.OUTCOME, body, event_id, decision)
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
        kind = classify(config, named, None if decision is None else decision.time, self._now)
        under = part_id(event_id, name, named, report_id)
        known = self._found.get(under, {})
        earlier = known.get(kinds.PART) or known.get(kind)
        if earlier is not None:
            if earlier.body["outcome"] == outcome:
                return "duplicate"
            kind = kinds.CONFLICTING
            if kind in known:
                return kind
        self._append(kind, {"name": name, "outcome": outcome}, under, decision)
        return "waiting" if kind == kinds.PART else kind

    def _find_id(self, ask: OutcomeAsk) -> str:
        """The event id of the decision that an outcome is about."""
        if not isinstance(ask.of, Unit):
            return ask.of
        trace = self._traces.get(ask.of.name)
        if trace is None:
            raise UnknownDecision(f"no decision of {ask.experiment!r} is of the unit {ask.of.name!r}")
        return trace.event_id

    def _steer(self, ask: SteerAsk) -> Answer:
        return self._append(ask.kind, ask.body)

    def _set_aside(self, ask: AsideAsk) -> Answer:
        """The event that set the decision aside, or took it back; asked again, the one that did (0: none had to)."""
        decision = self._found.get(ask.event_id, {}).get(kinds.DECISION)
        if decision is None:
            raise UnknownDecision(f"no decision of {ask.experiment!r} has the event_id {ask.event_id!r}")
        set_by = self._fold.reckoning.aside.get(decision.sequence, 0)
        for event in self.events:  # of this turn, which no fold knows yet
            if event.about == decision.sequence and event.kind in (kinds.SET_ASIDE, kinds.TAKEN_BACK):
                set_by = event.sequence if event.kind == kinds.SET_ASIDE else 0
        if bool(set_by) == (ask.kind == kinds.SET_ASIDE):
            return set_by
        return self._append(ask.kind, {"event_id": ask.event_id, **ask.body}, decision=decision)

    def _retire(self, ask: RetireAsk) -> Answer:
        """The event that retired the action, or brought it back; asked again, the one that did (0: none had to)."""
        retired: dict[Label, int] = dict(self._fold.retired)
        for event in self.events:  # of this turn, which no fold knows yet
            if event.kind in (kinds.RETIRED, kinds.REINSTATED):
                retired[event.body["action"]] = event.sequence if event.kind == kinds.RETIRED else 0
        gone_by, actions = retired.get(ask.action, 0), self._fold.config.actions
        if ask.action not in actions:
            raise ActionError(f"no action {ask.action!r:.80}; known: {list(actions)[:20]}")
        if bool(gone_by) == (ask.kind == kinds.RETIRED):
            return gone_by
        if ask.kind == kinds.RETIRED and not [a for a in actions if a != ask.action and not retired.get(a)]:
            raise ActionError(f"{ask.action!r} is the last action that is shown: add or reinstate another one first")
        return self._append(ask.kind, {"action": ask.action, **ask.body})

    def _close(self, ask: CloseAsk) -> Answer:
        """How many windows were closed: at most a page of them, so that a turn stays short."""
        fold = self._fold
        if not fold.closes:
            return 0
        # Times never decrease, so what is sequenced after the close is late for all that it closes.
        parameters = (ask.experiment, fold.closed_through, PAGE, self._now - fold.config.window_length)
        through, n = self._transaction.query(READ_DUE, parameters)[0]
        if n:
            if fold.config.outcomes:
                self._settle_values(fold.closed_through, through)
            body = {"after": fold.closed_through, "through": through, "default": fold.config.default_outcome}
            self._append(kinds.WINDOW_CLOSED, body)
        return int(n)

    def _settle_values(self, after: int, through: int) -> None:
        """The values of the decisions whose windows close, by the outcomes with names that came."""
        config, query, name = self._fold.config, self._transaction.query, self._fold.name
        come: dict[int, dict[str, list[float]]] = {}
        for about, text in query(READ_PARTS, (name, after, through)):
            part = read_body(text)
            come.setdefault(about, {}).setdefault(part["name"], []).append(part["outcome"])
        for sequence, event_id, time, text in query(READ_DECIDED, (name, after, through)):
            decision = Known(sequence, time, read_body(text))
            body = make_value(config, come.get(sequence, {}), decision.body["action"])
            if body is not None:
                self._append(kinds.OUTCOME, body, event_id, decision)
