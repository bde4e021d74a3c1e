"""Expectations: which events must come of what is asked, and which answers, by the model alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from headstart.errors import HeadstartError
from headstart.serve.config import ExperimentConfig
from headstart.serve.engine.asks import (
    AsideAsk,
    Ask,
    DecideAsk,
    EraseAsk,
    GuardAsk,
    OutcomeAsk,
    RetireAsk,
    SteerAsk,
    check_offered,
    check_user,
)
from headstart.serve.engine.bounds import check_outcome_within
from tests.serve.simulation.model import Body, Model, Row


class Expected(NamedTuple):
    """An event that must come of an ask; of a decision, what the policy says is open."""

    kind: str
    event_id: str | None
    about: int | None
    body: Body


class Expectations:
    """What must come of a group of asks: events, and answers (a status, an event id, or an error's name).

    Decisions come first, by the state before the group. `outcome_range` is what the policy can learn, `drawn`
    what it drew for the ids of this group and whether they are held out, on which it depends whether a unit can keep
    its own.
    """

    def __init__(
        self,
        model: Model,
        asks: Sequence[Ask],
        now: int,
        outcome_range: tuple[float, float],
        drawn: Mapping[str, Mapping[str, Any]],
    ) -> None:
        self._drawn = drawn
        self._model, self._time, self._range = model.copied(), max(now, model.time), outcome_range
        self.events: list[Expected] = []
        self.answers: list[Any] = [None] * len(asks)
        for i in sorted(range(len(asks)), key=lambda i: not isinstance(asks[i], DecideAsk)):
            expected, self.answers[i] = self._answer(asks[i])
            for each in expected if isinstance(expected, list) else [expected]:
                if each is not None:
                    self.events.append(each)
                    self._note(model.head + len(self.events), each)

    def _answer(self, ask: Ask) -> tuple[Expected | list[Expected] | None, Any]:
        if isinstance(ask, DecideAsk):
            return self._decide(ask)
        if isinstance(ask, OutcomeAsk):
            return self._record(ask)
        if isinstance(ask, AsideAsk):
            return self._set_aside(ask)
        if isinstance(ask, RetireAsk):
            return self._retire(ask)
        if isinstance(ask, GuardAsk):
            return self._guard(ask)
        if isinstance(ask, EraseAsk):
            return self._erase(ask)
        assert isinstance(ask, SteerAsk)
        return Expected(ask.kind, None, None, dict(ask.body)), "steered"

    def _note(self, sequence: int, expected: Expected) -> None:
        """What the asks after it in the same group must know; nothing is learnt before the commit."""
        model, event_id = self._model, expected.event_id
        if event_id is None:
            return
        if expected.kind == "decision":
            body = {**expected.body, "version": model.newest, "action": None, **self._drawn.get(event_id, {})}
            row = Row(sequence, "decision", event_id, self._time, expected.about, body)
            model.decisions[event_id] = row
            model.note(row)
        else:
            model.outcomes[expected.kind][event_id] = expected.body["outcome"]
            if expected.kind == "part":
                model.note_part(event_id, expected.body)

    def _decide(self, ask: DecideAsk) -> tuple[Expected | None, Any]:
        model, context, available = self._model, ask.given.get("context") or {}, ask.given.get("available")
        known = model.decisions.get(ask.event_id)
        if known is not None:
            then = model.actions_at(known.body["version"])
            again = then if available is None else available
            is_same = _tell_all(context) == _tell_all(known.body["context"])
            is_same = is_same and {*map(_tell, again)} == {*map(_tell, known.body.get("available", then))}
            is_same = is_same and ask.given.get("unit") == known.body.get("unit")
            is_same = is_same or "is_redacted" in known.body
            return None, ("decided", ask.event_id) if is_same else "ConflictError"
        try:
            seen = check_user(model.present, model.bounds, context)
            body: Body = {"context": seen.context}
            offered = None if available is None else check_offered(model.present, available)
            if offered is not None and not set(offered) & set(model.offered):
                return None, "ActionError"
        except HeadstartError as error:
            return None, type(error).__name__
        if offered is not None:
            body["available"] = offered
        if seen.surprises:
            body["surprises"] = seen.surprises
        unit = ask.given.get("unit")
        if unit is not None:
            body["unit"] = unit
        draw = model.draw_of(unit, offered, self._time)
        if draw is not None:
            body["follows"] = draw.event_id
        about = None if draw is None else draw.sequence
        return Expected("decision", ask.event_id, about, body), ("decided", ask.event_id)

    def _record(self, ask: OutcomeAsk) -> tuple[Expected | list[Expected] | None, Any]:
        model, event_id = self._model, self._find_id(ask)
        if event_id is None:
            return None, "UnknownDecision"
        if isinstance(ask.outcome, dict):
            return self._record_named(event_id, ask.outcome, ask.report_id)
        decision = model.decisions.get(event_id)
        kind, status = "outcome", "waiting" if model.has_default or model.frozen_at is not None else "applied"
        if decision is None:
            kind = status = "dangling"
        elif model.present.outcome_window is not None and self._time > decision.time + model.present.window_length:
            kind = status = "late"
        elif decision.sequence in model.aside:
            status = "set_aside"
        first = model.outcomes["outcome"].get(event_id, model.outcomes[kind].get(event_id))
        if first == ask.outcome:
            return None, "duplicate"
        if first is not None:
            kind = status = "conflicting"
            if event_id in model.outcomes["conflicting"]:
                return None, "conflicting"
        if not self._is_learnable(ask.outcome):
            return None, "OutcomeError"
        about = None if decision is None else decision.sequence
        return Expected(kind, event_id, about, {"outcome": ask.outcome}), status

    def _record_named(self, event_id: str, outcomes: Body, report_id: str | None) -> tuple[list[Expected], Any]:
        """Each for itself, and the value if it is whole; by the model as it will be when they are recorded."""
        model, decision, told = self._model, self._model.decisions.get(event_id), dict[str, str]()
        expected: list[Expected] = []
        for name, outcome in outcomes.items():
            kind, new = self._classify(event_id, name, outcome, report_id)
            told[name] = "waiting" if kind == "part" else kind
            expected += [] if new is None else [new]
        status = "waiting" if "waiting" in told.values() else next(iter(told.values()))
        if status == "waiting" and decision is not None:
            after = model.copied()
            for each in expected:
                if each.kind == "part":
                    after.note_part(each.event_id or "", each.body)
            value = None if model.settles or event_id in model.outcomes["outcome"] else after.value_of(decision)
            if value is not None:
                expected.append(Expected("outcome", event_id, decision.sequence, value))
                status = "waiting" if model.frozen_at is not None else "applied"
            status = "set_aside" if decision.sequence in model.aside else status
        return expected, {"status": status, "outcomes": told}

    def _classify(
        self, event_id: str, name: str, outcome: float, report_id: str | None
    ) -> tuple[str, Expected | None]:
        """What a report of one name is, and the event that comes of it."""
        model, decision, declared = self._model, self._model.decisions.get(event_id), self._model.present
        named = declared.outcomes.named[name]
        under = "\x1f".join([event_id, name, report_id or ""] if named.is_sum else [event_id, name])
        kind = "part"
        if decision is None:
            kind = "dangling"
        elif declared.outcome_window is not None and self._time > decision.time + declared.window_length:
            kind = "late"
        elif self._time < decision.time + round(1e6 * named.delay):
            kind = "early"
        first = model.outcomes["part"].get(under, model.outcomes[kind].get(under))
        if first == outcome:
            return "duplicate", None
        if first is not None:
            kind = "conflicting"
            if under in model.outcomes[kind]:
                return kind, None
        about = None if decision is None else decision.sequence
        return kind, Expected(kind, under, about, {"name": name, "outcome": outcome})

    def _find_id(self, ask: OutcomeAsk) -> str | None:
        """The event id that an outcome is about; None for a unit that nobody decided for."""
        if isinstance(ask.of, str):
            return ask.of
        rows = self._model.units.get(ask.of.name)
        return rows[-1].event_id if rows else None

    def _is_learnable(self, outcome: float) -> bool:
        try:
            check_outcome_within(self._model.present, self._model.bounds, outcome)
        except HeadstartError:
            return False
        return self._range[0] <= outcome <= self._range[1]

    def _retire(self, ask: RetireAsk) -> tuple[Expected | None, Any]:
        """Once, as with setting aside; never the last one that is shown."""
        model = self._model
        gone_by = model.retired.get(ask.action, 0)
        if ask.action not in model.present.actions:
            return None, "ActionError"
        if bool(gone_by) == (ask.kind == "retired"):
            return None, gone_by
        left = [label for label in model.present.actions if label not in model.retired and label != ask.action]
        if ask.kind == "retired" and not left:
            return None, "NotNow"
        return Expected(ask.kind, None, None, {"action": ask.action, **ask.body}), "steered"

    def _guard(self, ask: GuardAsk) -> tuple[Expected | None, Any]:
        """Once, as with retiring; of a guardrail that began anew since somebody looked, not at all."""
        model, name = self._model, ask.guardrail
        if name not in model.since:
            return None, "OptionError"
        tripped_by = model.tripped.get(name, 0)
        if bool(tripped_by) == (ask.kind == "tripped"):
            return None, tripped_by
        if ask.kind == "tripped" and ask.body["since"] != model.since[name]:
            return None, 0
        return Expected(ask.kind, None, None, {"guardrail": name, **ask.body}), "steered"

    def _erase(self, ask: EraseAsk) -> tuple[Expected | None, Any]:
        """All decisions of the person, also those of this group; what was erased before is left as it is."""
        model = self._model
        rows = [row for row in model.decisions.values() if row.event_id == ask.of]
        unit = rows[0].body.get("unit") if rows else getattr(ask.of, "name", None)
        rows = rows if unit is None else model.units.get(unit, [])
        if not rows:
            return None, "UnknownDecision"
        rows = [row for row in rows if "is_redacted" not in row.body]
        if not rows:
            return None, 0
        ids = {row.event_id for row in rows}
        for i, each in enumerate(self.events):
            if each.event_id in ids and each.kind == "decision":
                body = {name: value for name, value in each.body.items() if name != "unit"}
                self.events[i] = each._replace(body={**body, "context": {}, "is_redacted": True})
        model.units.pop(unit or "", None)
        earlier = sorted(row.sequence for row in rows if row.sequence <= model.head)
        return Expected("redacted", None, None, {"decisions": earlier, **ask.body}), "steered"

    def _set_aside(self, ask: AsideAsk) -> tuple[Expected | None, Any]:
        """Once: asked again, the answer is the event that did it, or 0 where none had to."""
        decision = self._model.decisions.get(ask.event_id)
        if decision is None:
            return None, "UnknownDecision"
        set_by = self._model.aside.get(decision.sequence, 0)
        if bool(set_by) == (ask.kind == "set_aside"):
            return None, set_by
        return Expected(ask.kind, None, decision.sequence, {"event_id": ask.event_id, **ask.body}), "steered"


def expect_declaration(model: Model, config: ExperimentConfig, log: str | None) -> list[str]:
    """The kinds of events by which a process with this configuration and log changes the experiment.

    A new configuration and a new log are recorded; one that an earlier event holds, or of a lower revision, is an old
    one, which is not put back.
    """
    known = list(model.declared.values())
    whole = ["configuration", "warm_start"][: 1 if log is None else 2]
    if not known or config.revision > known[-1].revision:
        return whole
    if config.revision < known[-1].revision:
        return []
    if _is_same(config, known[-1]):
        return [] if log is None or log in model.logs else ["warm_start"]
    return [] if any(_is_same(config, earlier) for earlier in known) else whole


def _is_same(config: ExperimentConfig, recorded: ExperimentConfig) -> bool:
    """By what stands in a file; the order of contexts is that of the columns. Without a seed any is meant,
    and so without a number to forget after."""
    ours, theirs = orjson.loads(orjson.dumps([config.as_dict(), recorded.as_dict()]))
    if config.seed is None:
        del ours["seed"], theirs["seed"]
    if config.forget_after is None:
        theirs.pop("forget_after", None)
    return bool(ours == theirs) and list(config.contexts) == list(recorded.contexts)


def _tell(value: object) -> str:
    """A label or a value so that true is not 1 and "1" is not 1, but 1 is 1.0."""
    return f"number {float(value)}" if isinstance(value, float) else f"{type(value).__name__} {value!r}"


def _tell_all(context: Body) -> dict[str, str]:
    """A context's values, numbers as they are recorded."""
    return {
        name: _tell(value if value is None or isinstance(value, bool | str) else float(value) + 0.0)
        for name, value in context.items()
    }
