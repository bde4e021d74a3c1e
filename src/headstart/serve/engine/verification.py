"""Verifying a store: fold everything from the first event and compare, bit for bit.

- Every event follows the one before it: its hash covers that one's, and times never decrease.
- Every outcome is what it is called: the first in its window, late, dangling or conflicting; every value is what its
  outcomes with names make.
- Every decision can be made again: the chances from the state at its version, the action from its event id; or, of
  a unit that keeps its action, from the draw that it repeats.
- Every snapshot is the fold of the events up to it.
- Every fit that a decision rests on is the one that its warm start names.

Decisions under a configuration whose log is no longer there cannot be made again: they are counted, and their draws
are checked against the chances they logged. The same holds from a decision whose context was erased until the event
that erased it, where the policy may have looked at contexts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from headstart.errors import HeadstartError
from headstart.serve.engine.anchor import Anchored, find_losses
from headstart.serve.engine.archiving import digest_checkpoint
from headstart.serve.engine.decision import Decider
from headstart.serve.engine.draw import draw_action, draw_by_id
from headstart.serve.engine.erasure_checks import ErasureChecks
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.parts import decision_id
from headstart.serve.engine.remembering import OUTCOMES, KnownDecision, Memory
from headstart.serve.engine.repeats import find_share, is_kept, repeat_draw
from headstart.serve.engine.snapshot import is_of_this_version
from headstart.serve.engine.sources import Sources
from headstart.serve.engine.surprises import Seen
from headstart.serve.errors import StoreCorrupt
from headstart.serve.store import events as kinds
from headstart.serve.store.chain import GENESIS
from headstart.serve.store.events import Event, decision_body
from headstart.serve.store.questions import READ_NAMES, READ_SNAPSHOTS
from headstart.serve.store.reader import CHECKPOINT, FOLD, Reader
from headstart.serve.store.store import Head, Query

_MAX_FAULTS = 100  # told one by one; beyond that they are only counted
_ASIDE = (kinds.SET_ASIDE, kinds.TAKEN_BACK)


@dataclass
class Verification:
    """What was looked at and what was wrong with it."""

    events: int = 0
    decisions: int = 0
    decided_again: int = 0  # decisions made again from the events, bit for bit
    outcomes: int = 0
    snapshots: int = 0
    redacted: int = 0  # decisions whose context was erased, as an event of the chain says
    clouded: int = 0  # others, made by a policy that had learnt from such a context
    archived: int = 0  # events that were read from archives
    away: list[str] = field(default_factory=list)  # archives that are not there: what was not looked at
    n_faults: int = 0
    faults: list[str] = field(default_factory=list)
    heads: dict[str, Head] = field(default_factory=dict)
    fingerprints: dict[str, bytes] = field(default_factory=dict)  # the folded state of each experiment

    @property
    def is_sound(self) -> bool:
        return self.n_faults == 0

    def add(self, fault: str) -> None:
        """One more fault."""
        self.n_faults += 1
        if len(self.faults) < _MAX_FAULTS:
            self.faults.append(fault)


def verify_store(
    query: Query,
    sources: Sources | None = None,
    anchored: Anchored | None = None,
    archive_folder: Path | None = None,
) -> Verification:
    """Refold every experiment from its first event, and compare the store with an anchor.

    `sources` holds logs that are in memory only. What was archived is read from its files, in the folder where they
    were written or in this one; without them an experiment is refolded from its checkpoint.
    """
    verification, reader = Verification(), Reader(query, archive_folder)
    for (name,) in query(READ_NAMES):
        walk = _Walk(query, reader, name, sources or Sources(), verification)
        if _check_archive(reader, name, verification):
            _check_chain(reader, name, verification, (0, GENESIS))
            walk.run()
        else:
            _check_chain(reader, name, verification, reader.begin_of(name))
            walk.run_from_checkpoint()
        verification.heads[name] = reader.head(name)
    if anchored is not None:
        for loss in find_losses(anchored, reader, anchored.heads):
            verification.add(str(loss))
    return verification


def _check_archive(reader: Reader, name: str, verification: Verification) -> bool:
    """Whether every event can be read: the files are there, and those which the chain names."""
    archive = reader.archive(name)
    if archive is None:
        return True
    missing = archive.find_missing()
    if missing:
        lack = f"{missing[0]} is not there, so events up to {archive.through:,} are not verified"
        verification.away.append(f"{name}: {lack}")
        return False
    try:
        archive.check_files()
    except StoreCorrupt as fault:
        verification.add(str(fault))
        return False
    verification.archived += archive.through
    return True


def _check_chain(reader: Reader, name: str, verification: Verification, begin: tuple[int, str]) -> None:
    """Each event follows the one before it; after a fault the chain is taken up again where it is."""
    (after, hash), time = begin, 0
    while True:
        try:
            for event in reader.linked(name, after, hash):
                _check_time(event, time, verification)
                after, hash, time = event.sequence, event.hash, event.time
            return
        except StoreCorrupt as fault:
            verification.add(str(fault))
            broken = next(reader.events(name, after, limit=1))
            _check_time(broken, time, verification)
            after, hash, time = broken.sequence, broken.hash, broken.time


def _check_time(event: Event, before: int, verification: Verification) -> None:
    verification.events += 1
    if event.time < before:
        verification.add(
            f"event {event.sequence} of {event.experiment!r} has a time before that of the one before it"
        )


class _CannotBeFolded(Exception):
    """An experiment that cannot be followed any further."""


class _Walk:
    """One experiment, event by event."""

    def __init__(self, query: Query, reader: Reader, name: str, sources: Sources, verification: Verification) -> None:
        self._name, self._reader, self._verification, self._sources = name, reader, verification, sources
        self._fold = Fold(name, reader, sources.find, on_lost_fit=verification.add)
        self._decider = Decider(self._fold)
        self._is_known = False  # whether the policy of the present configuration can be built
        self._memory = Memory(verification.add)
        self._erasures = ErasureChecks(reader, name, verification.add)
        self._snapshots: dict[int, str] = dict(query(READ_SNAPSHOTS, (name, FOLD)))
        steering = [e for kind in kinds.BUILDS for e in reader.all_of(name, kind)]
        self._builds = sorted(event.sequence for event in steering)
        self._turn: list[Event] = []  # decisions that are not folded yet: a turn's are made by the state before it

    def run_from_checkpoint(self) -> None:
        """What came after the newest checkpoint, by what the store has kept from before it."""
        verification, name = self._verification, self._name
        archived, snapshot = self._reader.last(name, kinds.ARCHIVED), self._reader.snapshot(name, CHECKPOINT)
        if archived is None or snapshot is None:
            verification.away.append(f"{name}: nor has it a checkpoint: only its chain is verified")
        elif digest_checkpoint(snapshot.encode()) != archived.body["checkpoint"][1]:
            verification.add(f"the checkpoint of {name!r} is not the one that event {archived.sequence} names")
        elif not self._fold.load(snapshot):
            verification.away.append(f"{name}: its checkpoint does not load: only its chain is verified")
        else:
            begin = self._fold.position
            self._snapshots = {at: body for at, body in self._snapshots.items() if at > begin}
            for event in self._reader.stored(name, begin):
                self._memory.recall(event)
                if "is_redacted" in event.body:
                    self._erasures.meet(event, has_contexts=False)
            self._find_log(archived)
            self.run(begin)

    def run(self, after: int = 0) -> None:
        verification = self._verification
        try:
            for event in self._reader.events(self._name, after):
                self._check(event)
            self._fold_turn()
        except _CannotBeFolded as fault:
            verification.add(str(fault))
            return
        for sequence in self._snapshots:
            verification.add(f"the snapshot of {self._name!r} at {sequence} belongs to no event of it")
        if self._is_known:
            verification.fingerprints[self._name] = self._fold.fingerprint()

    def _check(self, event: Event) -> None:
        """An event by the state that it was made by; it is folded when what was made by the same state is checked."""
        self._memory.note(event)
        if event.kind == kinds.DECISION:
            if self._turn and event.body["version"] != self._fold.version:
                self._fold_turn()
            self._check_decision(event)
            self._turn.append(event)
            if self._is_known and self._fold.waits:
                return
        else:
            self._fold_turn()
            if event.kind in OUTCOMES:
                self._check_outcome(event)
            elif event.kind in _ASIDE:
                self._check_aside(event)
            elif event.kind in (kinds.RETIRED, kinds.REINSTATED):
                self._check_retired(event)
            elif event.kind in (kinds.TRIPPED, kinds.RESUMED):
                self._check_guard(event)
            elif event.kind == kinds.REDACTED:
                self._erasures.check(event)
            elif event.kind == kinds.ARCHIVED:
                self._memory.forget(event, closes=self._fold.closes)
            self._turn.append(event)
        self._fold_turn()

    def _fold_turn(self) -> None:
        turn, self._turn = self._turn, []
        for event in turn:
            try:
                self._fold.apply(event)
            except HeadstartError as error:
                raise _CannotBeFolded(f"event {event.sequence} cannot be folded: {error}") from error
            if event.kind in kinds.BUILDS:
                self._find_log(event)
            if event.sequence in self._snapshots:
                self._check_snapshot(event.sequence)

    def _find_log(self, event: Event) -> None:
        """A log that is no longer there: learning waits for the next configuration."""
        fold = self._fold
        self._is_known = True
        if fold.log is not None:
            try:
                self._sources.find(fold.config, fold.log)
            except (HeadstartError, OSError):
                later = [sequence for sequence in self._builds if sequence > event.sequence]
                fold.quiet_until = later[0] if later else 2**62
                self._is_known = False
        self._cloud(event.sequence)

    def _cloud(self, sequence: int) -> None:
        """What the policy learnt from contexts that were erased later, nobody can know before they were."""
        if sequence < self._erasures.clear_at:
            self._is_known = False
            self._fold.quiet_until = max(self._fold.quiet_until, self._erasures.clear_at)

    def _check_decision(self, event: Event) -> None:
        body, verification = event.body, self._verification
        verification.decisions += 1
        at = f"decision {event.sequence} ({event.event_id!r})"
        if not self._fold.declared or event.event_id is None:
            verification.add(f"{at} comes before any configuration, or has no event id")
            return
        config = self._fold.config
        if "is_redacted" in body:
            verification.redacted += 1
            self._erasures.meet(event, has_contexts=bool(config.contexts))
            self._cloud(event.sequence)
        if event.event_id in self._memory.decided:
            verification.add(f"{at} is the second one of its event id")
        self._memory.decided[event.event_id] = KnownDecision(event.sequence, event.time)
        share = find_share(self._fold, self._memory.kept.get(body.get("unit") or ""), event.time)
        if body.get("unit") is not None and not self._check_unit(event, at):
            return
        chances = body["probabilities"]
        action = draw_action(chances, draw_by_id("action", config.seed_in_force, self._name, event.event_id))
        if config.actions[action] != body["action"] or chances[action] != body["propensity"]:
            verification.add(f"{at} was not drawn from the probabilities that it logged")
        if abs(sum(chances) - 1.0) > 1e-9:
            verification.add(f"{at} has probabilities that sum to {sum(chances)}")
        if "is_redacted" in body:
            return
        verification.clouded += event.sequence < self._erasures.clear_at
        if self._is_known:
            self._fold.settle()  # whether decisions move the version is the policy's matter
        if body["version"] != self._fold.version:
            if self._is_known:
                verification.add(f"{at} has version {body['version']}, the state before it has {self._fold.version}")
        elif self._is_known:
            seen = Seen(body["context"], body.get("surprises", {}))
            again = self._decider.decide(event.event_id, seen, body.get("available"), body.get("unit"), share)
            verification.decided_again += 1
            if again != body:
                verification.add(f"{at} is not what the state at version {body['version']} decides")

    def _check_unit(self, event: Event, at: str) -> bool:
        """A decision that repeats the draw of its unit, or had to be drawn: whether its draw is to be checked."""
        body, fold, unit = decision_body(event.body), self._fold, event.body["unit"]
        kept, available, event_id = self._memory.kept.get(unit), body.get("available"), event.event_id or ""
        if kept is not None and not is_kept(fold, kept.draw, available, event.time):
            kept = None
        if "follows" not in body:
            if kept is not None:
                self._verification.add(f"{at} was drawn, though its unit keeps the action of {kept.draw_id!r}")
            self._memory.keep_draw(unit, event)
            return True
        if kept is None or event.decision is None or event.about != kept.draw.sequence:
            self._verification.add(f"{at} repeats {body['follows']!r}, which its unit does not keep")
            return False
        self._memory.kept[unit] = kept._replace(event_id=event_id, number=kept.number + 1)
        if self._is_known:
            fold.settle()
        seen = Seen(body["context"], event.body.get("surprises", {}))
        again = repeat_draw(
            kept._replace(draw=kept.draw._replace(body=event.decision)),
            unit,
            seen,
            available,
            version=fold.version if self._is_known else body["version"],
            drawn_from=fold.actions_at(kept.draw.body["version"]),
            actions=fold.config.actions,
        )
        if again == {name: each for name, each in body.items() if name not in ("is_redacted", "is_clipped")}:
            self._verification.decided_again += "is_redacted" not in body
        else:
            self._verification.add(f"{at} is not what it says it repeats")
        return False

    def _check_outcome(self, event: Event) -> None:
        event_id, verification = event.event_id or "", self._verification
        verification.outcomes += 1
        decision, config = self._memory.decided.get(decision_id(event_id)), self._fold.config
        if "name" in event.body or event.kind in (kinds.PART, kinds.EARLY):
            self._memory.parts.check_part(event, config, decision)
            return
        at = f"{event.kind} outcome {event.sequence} ({event_id!r})"
        if (event.about is None) != (event.kind == kinds.DANGLING or decision is None):
            verification.add(f"{at} points to decision {event.about}")
        if event.kind == kinds.DANGLING:
            if decision is not None:
                verification.add(f"{at} has a decision before it, {decision[0]}")
        elif event.kind == kinds.CONFLICTING:
            # It contradicts the first outcome, or where that is missing, the late or dangling one.
            reported = self._memory.reported
            known = [reported.get((event_id, kind)) for kind in (kinds.OUTCOME, kinds.LATE, kinds.DANGLING)]
            first = next((each.outcome for each in known if each is not None), None)
            if first in (None, event.body["outcome"]):
                verification.add(f"{at} contradicts no other outcome")
        elif decision is None or event.about != decision[0]:
            verification.add(f"{at} has no decision before it")
        elif config.outcomes:
            self._memory.parts.check_value(event, config)
        else:
            limit = None if config.outcome_window is None else decision[1] + config.window_length
            if (event.kind == kinds.LATE) != (limit is not None and event.time > limit):
                verification.add(f"{at} came {(event.time - decision[1]) / 1e6} s after its decision")
        if (event_id, event.kind) in self._memory.reported:
            verification.add(f"{at} is the second one of its event id")
        self._memory.note_outcome(event)

    def _check_retired(self, event: Event) -> None:
        actions, label = self._fold.config.actions, event.body["action"]
        gone = [each for each, _ in self._fold.retired]
        is_new = (label in gone) == (event.kind == kinds.REINSTATED)
        if not is_new or label not in actions or (event.kind == kinds.RETIRED and {*actions} <= {*gone, label}):
            self._verification.add(f"{event.kind} {event.sequence} cannot be of the action {label!r}")

    def _check_guard(self, event: Event) -> None:
        guards, name, is_trip = self._fold.guards, event.body["guardrail"], event.kind == kinds.TRIPPED
        is_new = name in guards.declared and (name in guards.tripped) != is_trip
        since, seen = event.body.get("since"), event.body.get("looked_at", 0)
        if not is_new or (is_trip and not guards.since[name] == since <= seen < event.sequence):
            self._verification.add(f"{event.kind} {event.sequence} cannot be of the guardrail {name!r}")

    def _check_aside(self, event: Event) -> None:
        decision = self._memory.decided.get(event.body.get("event_id", ""))
        if decision is None or decision[0] != event.about:
            self._verification.add(
                f"{event.kind} {event.sequence} points to {event.about}, which is not its decision"
            )

    def _check_snapshot(self, sequence: int) -> None:
        saved = self._snapshots.pop(sequence)
        if self._is_known and is_of_this_version(saved):
            self._verification.snapshots += 1
            present = self._fold.save()
            if present is None or present.decode() != saved:
                self._verification.add(f"the snapshot of {self._name!r} at {sequence} is not the fold of its events")
