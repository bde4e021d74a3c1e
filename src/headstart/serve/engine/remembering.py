"""What a verification remembers of an experiment's events, to check those to come by: as much as the store does."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from headstart.serve.engine.part_checks import PartChecks
from headstart.serve.store import events as kinds
from headstart.serve.store.events import Event
from headstart.serve.store.store import Known, Trace

_OF_DRAWS = ("action", "version", "is_holdout", "fell_back")  # the rest comes with what repeats it
OUTCOMES = (kinds.OUTCOME, kinds.LATE, kinds.DANGLING, kinds.CONFLICTING, kinds.PART, kinds.EARLY)


class KnownDecision(NamedTuple):
    """A decision."""

    sequence: int
    time: int


class Reported(NamedTuple):
    """An outcome without a name: the event, the decision that it is about (0: none), what it said."""

    sequence: int
    about: int
    outcome: float


class Memory:
    """Decisions and outcomes by their ids, units by their names. `add` takes a fault."""

    def __init__(self, add: Callable[[str], None]) -> None:
        self.decided: dict[str, KnownDecision] = {}
        self.kept: dict[str, Trace] = {}  # by unit
        self.parts = PartChecks(add)
        self.reported: dict[tuple[str, str], Reported] = {}  # by event id and kind
        self._abouts: list[tuple[int, int]] = []  # events, and the decisions that they are about
        self._closes: list[tuple[int, int]] = []  # events that closed windows, and the last decision of each
        self._add = add

    def note(self, event: Event) -> None:
        """What an event of any kind needs of those before it."""
        if event.about is not None:
            self._abouts.append((event.sequence, event.about))
        if event.kind == kinds.WINDOW_CLOSED:
            self._closes.append((event.sequence, event.body["through"]))

    def keep_draw(self, unit: str, event: Event) -> None:
        """A unit was drawn for."""
        draw = {name: each for name, each in event.body.items() if name in _OF_DRAWS}
        event_id = event.event_id or ""
        self.kept[unit] = Trace(event_id, 1, event_id, Known(event.sequence, event.time, draw))

    def note_outcome(self, event: Event) -> None:
        """An outcome without a name."""
        reported = Reported(event.sequence, event.about or 0, event.body["outcome"])
        self.reported[event.event_id or "", event.kind] = reported

    def recall(self, event: Event) -> None:
        """An event that is not checked, of those that a store keeps when it archives the rest."""
        self.note(event)
        if event.kind in OUTCOMES:
            (self.parts.note if "name" in event.body else self.note_outcome)(event)
        if event.kind != kinds.DECISION:
            return
        event_id, unit = event.event_id or "", event.body.get("unit")
        self.decided[event_id] = KnownDecision(event.sequence, event.time)
        if unit is not None and "follows" not in event.body:
            self.keep_draw(unit, event)
        elif unit in self.kept:
            self.kept[unit] = self.kept[unit]._replace(event_id=event_id, number=event.body["number"])

    def forget(self, archived: Event, *, closes: bool) -> None:
        """What left the store with an archived stretch; `closes` says whether windows are closed by events."""
        through, open_after = archived.body["file"]["through"], archived.body["open_after"]
        closed = max((last for sequence, last in self._closes if sequence <= through), default=0)
        if open_after != (closed if closes else through):
            self._add(f"archived {archived.sequence} says that windows were closed up to {open_after}")
        self._closes = [(through, open_after), *(pair for pair in self._closes if pair[0] > through)]
        self._abouts = [pair for pair in self._abouts if pair[0] > through]
        units = self.kept.values()
        kept = {self.decided[trace.event_id].sequence for trace in units if trace.event_id in self.decided}
        kept |= {trace.draw.sequence for trace in units} | {about for _, about in self._abouts}
        kept |= {each.sequence for each in self.decided.values() if open_after < each.sequence <= through}
        self.decided = {
            i: each for i, each in self.decided.items() if each.sequence > through or each.sequence in kept
        }
        self.reported = {
            key: each for key, each in self.reported.items() if each.sequence > through or each.about in kept
        }
        self.parts.forget(through, kept)
