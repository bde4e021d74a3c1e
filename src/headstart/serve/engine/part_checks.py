"""Verifying outcomes with names: every report is what it is called, and every value what is made of them."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import NamedTuple

from headstart.serve.config import ExperimentConfig
from headstart.serve.engine.parts import classify, decision_id, make_value
from headstart.serve.store import events as kinds
from headstart.serve.store.events import Event


class _Reported(NamedTuple):
    """A report: its event, the decision that it is about (0: none), what it said."""

    sequence: int
    about: int
    outcome: float


class PartChecks:
    """One experiment's, event by event; `add` takes a fault."""

    def __init__(self, add: Callable[[str], None]) -> None:
        self._add = add
        self._come: dict[int, dict[str, list[float]]] = {}  # by decision: what its value will be made of
        self._parts: dict[str, _Reported] = {}  # by id: what counts
        self._others: dict[tuple[str, str], _Reported] = {}  # by id and kind: what does not

    def check_part(self, event: Event, config: ExperimentConfig, decided: tuple[int, int] | None) -> None:
        """A report of one name; `decided` is the sequence and time of its decision."""
        body, under, at = event.body, event.event_id or "", f"{event.kind} {event.sequence} ({event.event_id!r})"
        named = config.outcomes.named.get(body["name"])
        if named is None:
            self._add(f"{at} is of no outcome that the experiment has")
            return
        if event.about != (None if decided is None else decided[0]):
            self._add(f"{at} points to decision {event.about}")
        if event.kind == kinds.CONFLICTING:
            known = self._parts.get(under, self._find_other(under))
            if known is None or known.outcome == body["outcome"]:
                self._add(f"{at} contradicts no other outcome")
        elif event.kind != classify(config, named, None if decided is None else decided[1], event.time):
            self._add(f"{at} came at another time")
        self.note(event)

    def note(self, event: Event) -> None:
        """One more report of one name."""
        body, under = event.body, event.event_id or ""
        reported = _Reported(event.sequence, event.about or 0, body["outcome"])
        if event.kind == kinds.PART:
            self._parts[under] = reported
            self._come.setdefault(reported.about, {}).setdefault(body["name"], []).append(body["outcome"])
        else:
            self._others[under, event.kind] = reported

    def forget(self, through: int, kept: Container[int]) -> None:
        """What was archived, but for what came of some decisions."""

        def is_there(each: _Reported) -> bool:
            return each.sequence > through or each.about in kept

        self._parts = {under: each for under, each in self._parts.items() if is_there(each)}
        self._others = {key: each for key, each in self._others.items() if is_there(each)}

    def _find_other(self, under: str) -> _Reported | None:
        kinds_of = (kinds.LATE, kinds.EARLY, kinds.DANGLING)
        return next((self._others[under, kind] for kind in kinds_of if (under, kind) in self._others), None)

    def check_value(self, event: Event, config: ExperimentConfig) -> None:
        """An `outcome` that was made of what came."""
        come = self._come.pop(event.about or 0, {})
        made = None if event.decision is None else make_value(config, come, event.decision["action"])
        if made != event.body:
            self._add(
                f"outcome {event.sequence} ({decision_id(event.event_id or '')!r}) is not the value of what came"
            )
