"""Erasing a person: contexts and the unit's name go, propensities, actions, outcomes and times stay.

What is erased is overwritten in the rows themselves, in the turn that appends a `redacted` event. That event names
the decisions, each with the digest of the row as it is now, and holds nothing of the person. A row keeps the hash
that it was written with, so the chain holds; it is sound by its digest (`store/chain.py`). The decisions of a unit
stay together under a made-up name, for what comes of one draw is alike whoever it was.

A policy that looks at contexts learns a decision without one no more: it is built anew, and every snapshot that was
made before goes in the same turn. What the decision counted besides (shown, outcomes, values outside the bounds,
columns that were missing) still counts.
"""

from __future__ import annotations

import secrets
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path

from headstart.serve.config import read_experiment
from headstart.serve.engine.bounds import UNBOUNDED, Bounds
from headstart.serve.errors import UnknownDecision
from headstart.serve.store import events as kinds
from headstart.serve.store.archives import ArchiveFile
from headstart.serve.store.chain import digest_row
from headstart.serve.store.events import Body, DecisionBody, Event, decision_body, write_body
from headstart.serve.store.questions import FORGET_SNAPSHOTS, OVERWRITE
from headstart.serve.store.reader import CHECKPOINT, FOLD, REPORT, Reader
from headstart.serve.store.store import Store, Transaction
from headstart.serve.units import Unit


def redact_body(body: DecisionBody, unit: str, *, is_clipped: bool) -> DecisionBody:
    """A decision without its context; `unit` takes the place of the unit's name, if it has one."""
    left: DecisionBody = {**body, "context": {}, "is_redacted": True}
    if "unit" in left:
        left["unit"] = unit
    if is_clipped:
        left["is_clipped"] = True
    return left


class Eraser:
    """One person's decisions in the store, found and overwritten in one turn of writing."""

    def __init__(self, transaction: Transaction, experiment: str, of: str | Unit) -> None:
        self._transaction, self._experiment = transaction, experiment
        self._reader = Reader(transaction.query)
        self.pseudonym = f"erased-{secrets.token_hex(8)}"
        self.unit: str | None = of.name if isinstance(of, Unit) else None  # None: nobody's
        self._archive = self._reader.archive(experiment)
        self._decisions = self._find(of)
        self.files: dict[str, ArchiveFile] = {}  # by the names of archives, those that took their places

    def _find(self, of: str | Unit) -> list[Event]:
        """Of a unit all decisions; of an event id too, if its decision is a unit's: it is the same person."""
        if isinstance(of, str):
            decision = self._reader.decision(self._experiment, of)
            if decision is None:
                return []
            self.unit = decision.body.get("unit")
            if self.unit is None:
                return [decision]
        assert self.unit is not None
        stored = {event.sequence: event for event in self._transaction.of_unit(self.unit)}
        archived = [] if self._archive is None else self._archive.of_unit(self.unit)
        return list(({event.sequence: event for event in archived} | stored).values())

    @property
    def is_known(self) -> bool:
        """Whether the store has a decision of this person."""
        return bool(self._decisions)

    def overwrite(self) -> list[Event]:
        """Overwrite what is not erased yet, and let go of the snapshots; the decisions as they are now."""
        find_bounds = _read_bounds(self._reader, self._experiment)
        erased = []
        for event in self._decisions:
            if "is_redacted" not in event.body:
                is_clipped = not find_bounds(event.sequence).holds(event.body["context"])
                left = redact_body(decision_body(event.body), self.pseudonym, is_clipped=is_clipped)
                erased.append(event._replace(body=left))
                self._transaction.execute(OVERWRITE, (write_body(left), self._experiment, event.sequence))
        if erased:
            self._overwrite_files({event.sequence: event for event in erased})
            for kind in (FOLD, REPORT, CHECKPOINT):
                self._transaction.execute(FORGET_SNAPSHOTS, (self._experiment, kind))
        return erased

    def _overwrite_files(self, left: dict[int, Event]) -> None:
        for file in [] if self._archive is None else self._archive.files:
            held = {sequence: event for sequence, event in left.items() if file.after < sequence <= file.through}
            if held and self._archive is not None:
                self.files[file.name] = self._archive.overwrite(file, held)

    def describe(self, erased: Sequence[Event], body: Body) -> dict[str, object]:
        """The body of a `redacted` event."""
        digests = [[event.sequence, digest_row((*event[:6], write_body(event.body)))] for event in erased]
        files = {name: file.as_dict() for name, file in self.files.items()}
        return {"decisions": digests, **({"files": files} if files else {}), **body}


def clear_files(reader: Reader, experiment: str) -> None:
    """Delete the archives in whose places erasures have put others; whoever was killed before that left them."""
    archive = reader.archive(experiment)
    for event in reader.all_of(experiment, kinds.REDACTED) if archive is not None else ():
        for name, instead in event.body.get("files", {}).items():
            (Path(instead["folder"]) / name).unlink(missing_ok=True)


def erase_person(
    store: Store, experiment: str, of: str | Unit, body: Body, clock: Callable[[], float] = time.time
) -> int:
    """Erase a person in a store, beside the service or without one; how many decisions had not been erased yet."""
    with store.writing(experiment) as turn:
        eraser = Eraser(turn, experiment, of)
        if not eraser.is_known:
            raise unknown_person(experiment, of)
        erased, head = eraser.overwrite(), turn.head
        if erased:
            now = max(int(clock() * 1e6), head.time)
            told = eraser.describe(erased, body)
            turn.insert([Event(head.sequence + 1, experiment, kinds.REDACTED, None, now, None, told)])
    clear_files(Reader(store.query), experiment)
    store.scrub()
    return len(erased)


def unknown_person(experiment: str, of: str | Unit) -> UnknownDecision:
    """Nobody was decided for under this name."""
    whose = f"is of the unit {of.name!r:.80}" if isinstance(of, Unit) else f"has the event_id {of!r:.80}"
    return UnknownDecision(f"no decision of {experiment!r} {whose}")


def _read_bounds(reader: Reader, experiment: str) -> Callable[[int], Bounds]:
    """The bounds that were in force at an event: a decision is counted by those of its time."""
    begun = [
        event
        for kind in (kinds.CONFIGURATION, kinds.WARM_START, kinds.LOG_WITHDRAWN)
        for event in reader.all_of(experiment, kind)
    ]
    begun.sort(key=lambda event: event.sequence)
    bounds, config = [UNBOUNDED], None
    for event in begun:
        if event.kind == kinds.CONFIGURATION:
            config = read_experiment(experiment, event.body)
        assert config is not None
        bounds.append(Bounds.in_force(config, event.body if event.kind == kinds.WARM_START else None))
    starts = [event.sequence for event in begun]
    return lambda sequence: bounds[bisect_right(starts, sequence)]
