"""A turn of writing: from a group of asks to events and answers, by what the store holds at that moment.

Decisions come first, by the state before the turn, so that a decision's version is always the newest one before it.
Then everything else, in the order it came. Nothing here changes a fold: that is done when the events are durable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from headstart.errors import ActionError, HeadstartError, OptionError
from headstart.serve.config import Label
from headstart.serve.engine.answers import Answer
from headstart.serve.engine.asks import (
    AsideAsk,
    Ask,
    CloseAsk,
    DecideAsk,
    EraseAsk,
    Fitted,
    GuardAsk,
    OutcomeAsk,
    RetireAsk,
    SteerAsk,
    as_fitted,
)
from headstart.serve.engine.decision import Decider
from headstart.serve.engine.draft import Draft
from headstart.serve.engine.erasing import Eraser, redact_body, unknown_person
from headstart.serve.engine.recording import Recording
from headstart.serve.engine.repeats import find_share, is_kept, repeat_draw
from headstart.serve.engine.retries import is_same_request
from headstart.serve.errors import ConflictError, NotNow, PolicyFailed, UnknownDecision
from headstart.serve.store import events as kinds
from headstart.serve.store.events import DecisionBody, Event, as_decision, decision_body
from headstart.serve.store.reader import Reader
from headstart.serve.store.store import Known, Sought, Trace, Transaction
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
        self._transaction, self._decider, self._fold = transaction, decider, decider.fold
        self._draft = Draft(transaction, decider.fold, now)
        self._recording = Recording(self._draft)

    @property
    def events(self) -> list[Event]:
        """What it appended; with their hashes once it was run."""
        return self._draft.events

    def run(self, asks: Sequence[Ask]) -> list[Answer]:
        """An answer for each ask, in their order; the events are inserted, not yet committed."""
        answers: list[Answer] = [0] * len(asks)
        later = []
        for i, ask in enumerate(asks):
            if isinstance(ask, DecideAsk):
                answers[i] = self._answer(self._decide, ask)
            else:
                later.append(i)
        self._recording.find_parts([ask for ask in asks if isinstance(ask, OutcomeAsk)])
        for i in later:
            ask = asks[i]
            if isinstance(ask, OutcomeAsk):
                answers[i] = self._answer(self._recording.record, ask)
            elif isinstance(ask, SteerAsk):
                answers[i] = self._answer(self._steer, ask)
            elif isinstance(ask, AsideAsk):
                answers[i] = self._answer(self._set_aside, ask)
            elif isinstance(ask, RetireAsk):
                answers[i] = self._answer(self._retire, ask)
            elif isinstance(ask, GuardAsk):
                answers[i] = self._answer(self._guard, ask)
            elif isinstance(ask, EraseAsk):
                answers[i] = self._answer(self._erase, ask)
            elif isinstance(ask, CloseAsk):
                answers[i] = self._answer(self._recording.close, ask)
        if self.events:
            self._draft.events = self._transaction.insert(self.events)
        return answers

    def _answer(self, method: Callable[[AnAsk], Answer], ask: AnAsk) -> Answer:
        try:
            return method(ask)
        except HeadstartError as error:
            return error

    def _decide(self, ask: DecideAsk) -> Answer:
        if not ask.is_new or ask.event_id in self._draft.found:
            earlier = self._draft.decision(ask.event_id)
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
        sequence = self._draft.append(kinds.DECISION, body, ask.event_id, None if trace is None else trace.draw)
        if ask.unit is not None:
            self._draft.traces[ask.unit] = (
                Trace(ask.event_id, 1, ask.event_id, Known(sequence, self._draft.now, body))
                if trace is None
                else trace._replace(event_id=ask.event_id, number=trace.number + 1)
            )
        return as_decision(ask.event_id, body, self._fold.config.actions)

    def _draw(self, ask: DecideAsk, fitted: Fitted) -> DecisionBody:
        try:
            share = find_share(self._fold, self._draft.traces.get(ask.unit or ""), self._draft.now)
            return self._decider.decide(ask.event_id, fitted.seen, fitted.available, ask.unit, share)
        except HeadstartError:
            raise
        except Exception as error:  # a policy's own fault is its experiment's, not that of the rest of the group
            raise PolicyFailed(f"the policy of {ask.experiment!r} failed: {type(error).__name__}: {error}") from error

    def _find_kept(self, unit: str, available: list[Label] | None) -> Trace | None:
        """The draw that a unit keeps; None if it is drawn for."""
        trace = self._draft.traces.get(unit)
        return trace if trace and is_kept(self._fold, trace.draw, available, self._draft.now) else None

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

    def _steer(self, ask: SteerAsk) -> Answer:
        if ask.kind in (*kinds.BUILDS, kinds.ROLLED_BACK):
            self._check_rebuildable()
        return self._draft.append(ask.kind, ask.body)

    def _set_aside(self, ask: AsideAsk) -> Answer:
        """The event that set the decision aside, or took it back; asked again, the one that did (0: none had to)."""
        decision = self._draft.decision(ask.event_id)
        if decision is None:
            raise UnknownDecision(f"no decision of {ask.experiment!r} has the event_id {ask.event_id!r}")
        set_by = self._fold.reckoning.aside.get(decision.sequence, 0)
        for event in self.events:  # of this turn, which no fold knows yet
            if event.about == decision.sequence and event.kind in (kinds.SET_ASIDE, kinds.TAKEN_BACK):
                set_by = event.sequence if event.kind == kinds.SET_ASIDE else 0
        if bool(set_by) == (ask.kind == kinds.SET_ASIDE):
            return set_by
        self._check_rebuildable()
        return self._draft.append(ask.kind, {"event_id": ask.event_id, **ask.body}, decision=decision)

    def _check_rebuildable(self) -> None:
        """A policy that is to learn everything again needs the events that were archived: they must be there."""
        Reader(self._transaction.query).check_archive(self._fold.name)

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
            raise NotNow(f"{ask.action!r} is the last action that is shown: add or reinstate another one first")
        return self._draft.append(ask.kind, {"action": ask.action, **ask.body})

    def _guard(self, ask: GuardAsk) -> Answer:
        """The event that tripped the guardrail, or resumed; asked again, the one that did (0: none had to).

        Several processes may see the same at once, and somebody may have resumed since one of them looked: then it
        has not tripped.
        """
        guards, name = self._fold.guards.with_events(self.events), ask.guardrail
        if name not in guards.declared:
            raise OptionError(f"no guardrail {name!r:.80}; known: {', '.join(guards.declared) or 'none'}")
        tripped_by = guards.tripped.get(name, 0)
        if bool(tripped_by) == (ask.kind == kinds.TRIPPED):
            return tripped_by
        if ask.kind == kinds.TRIPPED and ask.body["since"] != guards.since[name]:
            return 0
        return self._draft.append(ask.kind, {"guardrail": name, **ask.body})

    def _erase(self, ask: EraseAsk) -> Answer:
        """The event that erased the person; 0 where nothing of it was left."""
        self._check_rebuildable()
        eraser = Eraser(self._transaction, ask.experiment, ask.of)
        drafted = [event for event in self.events if self._is_of(event, ask.of, eraser.unit)]
        if not eraser.is_known and not drafted:
            raise unknown_person(ask.experiment, ask.of)
        for event in drafted:  # of this turn: written as what is left of it
            is_clipped = not self._fold.reckoning.bounds.holds(event.body["context"])
            left = redact_body(decision_body(event.body), eraser.pseudonym, is_clipped=is_clipped)
            self._draft.replace(event._replace(body=left))
        erased = eraser.overwrite()
        for event in erased:
            self._draft.learn_of(event)
        if eraser.unit is not None:
            self._draft.traces.pop(eraser.unit, None)
        if not erased and not drafted:
            return 0
        return self._draft.append(kinds.REDACTED, eraser.describe(erased, ask.body))

    def _is_of(self, event: Event, of: str | Unit, unit: str | None) -> bool:
        if event.kind != kinds.DECISION or "is_redacted" in event.body:
            return False
        return event.event_id == of or (unit is not None and event.body.get("unit") == unit)
