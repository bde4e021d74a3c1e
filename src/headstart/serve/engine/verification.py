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

from headstart.errors import HeadstartError
from headstart.serve.engine.anchor import Anchored, find_losses
from headstart.serve.engine.decision import Decider
from headstart.serve.engine.draw import draw_action, draw_by_id
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.part_checks import PartChecks
from headstart.serve.engine.parts import decision_id
from headstart.serve.engine.repeats import find_share, is_kept, repeat_draw
from headstart.serve.engine.snapshot import is_of_this_version
from headstart.serve.engine.sources import Sources
from headstart.serve.engine.surprises import Seen
from headstart.serve.errors import StoreCorrupt
from headstart.serve.store import events as kinds
from headstart.serve.store.chain import GENESIS, digest_row
from headstart.serve.store.events import Event, decision_body, write_body
from headstart.serve.store.questions import READ_NAMES, READ_SNAPSHOTS
from headstart.serve.store.reader import FOLD, Reader
from headstart.serve.store.store import Head, Known, Query, Trace

_MAX_FAULTS = 100  # told one by one; beyond that they are only counted
_ASIDE = (kinds.SET_ASIDE, kinds.TAKEN_BACK)
_OUTCOMES = (kinds.OUTCOME, kinds.LATE, kinds.DANGLING, kinds.CONFLICTING, kinds.PART, kinds.EARLY)


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


def verify_store(query: Query, sources: Sources | None = None, anchored: Anchored | None = None) -> Verification:
    """Refold every experiment from its first event, and compare the store with an anchor.

    `sources` holds logs that are in memory only.
    """
    verification, reader = Verification(), Reader(query)
    for (name,) in query(READ_NAMES):
        _check_chain(reader, name, verification)
        _Walk(query, reader, name, sources or Sources(), verification).run()
        verification.heads[name] = reader.head(name)
    if anchored is not None:
        for loss in find_losses(anchored, reader, anchored.heads):
            verification.add(str(loss))
    return verification


def _check_chain(reader: Reader, name: str, verification: Verification) -> None:
    """Each event follows the one before it; after a fault the chain is taken up again where it is."""
    after, hash, time = 0, GENESIS, 0
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
        self._decided: dict[str, tuple[int, int]] = {}  # sequence and time of each decision
        self._kept: dict[str, Trace] = {}  # by unit
        self._parts = PartChecks(verification.add)
        self._reported: dict[tuple[str, str], float] = {}  # by event id and kind
        self._snapshots: dict[int, str] = dict(query(READ_SNAPSHOTS, (name, FOLD)))
        steering = [e for kind in kinds.BUILDS for e in reader.all_of(name, kind)]
        self._builds = sorted(event.sequence for event in steering)
        erasures = list(reader.all_of(name, kinds.REDACTED))
        self._erased_by = {sequence: event.sequence for event in erasures for sequence, _ in event.body["decisions"]}
        self._erasures = [event.sequence for event in erasures]
        self._left: dict[int, str] = {}  # digests of decisions without their contexts
        self._clear_at = 0  # the event from which on the policy is known again
        self._turn: list[Event] = []  # decisions that are not folded yet: a turn's are made by the state before it

    def run(self) -> None:
        verification = self._verification
        try:
            for event in self._reader.events(self._name):
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
        if event.kind == kinds.DECISION:
            if self._turn and event.body["version"] != self._fold.version:
                self._fold_turn()
            self._check_decision(event)
            self._turn.append(event)
            if self._is_known and self._fold.waits:
                return
        else:
            self._fold_turn()
            if event.kind in _OUTCOMES:
                self._check_outcome(event)
            elif event.kind in _ASIDE:
                self._check_aside(event)
            elif event.kind in (kinds.RETIRED, kinds.REINSTATED):
                self._check_retired(event)
            elif event.kind == kinds.REDACTED:
                self._check_redacted(event)
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
        if sequence < self._clear_at:
            self._is_known = False
            self._fold.quiet_until = max(self._fold.quiet_until, self._clear_at)

    def _check_decision(self, event: Event) -> None:
        body, verification = event.body, self._verification
        verification.decisions += 1
        at = f"decision {event.sequence} ({event.event_id!r})"
        if not self._fold.declared or event.event_id is None:
            verification.add(f"{at} comes before any configuration, or has no event id")
            return
        config = self._fold.config
        if "is_redacted" in body:
            self._meet_redacted(event)
        if event.event_id in self._decided:
            verification.add(f"{at} is the second one of its event id")
        self._decided[event.event_id] = event.sequence, event.time
        share = find_share(self._fold, self._kept.get(body.get("unit") or ""), event.time)
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
        verification.clouded += event.sequence < self._clear_at
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
        kept, available, event_id = self._kept.get(unit), body.get("available"), event.event_id or ""
        if kept is not None and not is_kept(fold, kept.draw, available, event.time):
            kept = None
        if "follows" not in body:
            if kept is not None:
                self._verification.add(f"{at} was drawn, though its unit keeps the action of {kept.draw_id!r}")
            draw = {name: body[name] for name in ("action", "version")}  # the rest comes with what repeats it
            self._kept[unit] = Trace(event_id, 1, event_id, Known(event.sequence, event.time, draw))
            return True
        if kept is None or event.decision is None or event.about != kept.draw.sequence:
            self._verification.add(f"{at} repeats {body['follows']!r}, which its unit does not keep")
            return False
        self._kept[unit] = kept._replace(event_id=event_id, number=kept.number + 1)
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
        decision, config = self._decided.get(decision_id(event_id)), self._fold.config
        if "name" in event.body or event.kind in (kinds.PART, kinds.EARLY):
            self._parts.check_part(event, config, decision)
            return
        at = f"{event.kind} outcome {event.sequence} ({event_id!r})"
        if (event.about is None) != (event.kind == kinds.DANGLING or decision is None):
            verification.add(f"{at} points to decision {event.about}")
        if event.kind == kinds.DANGLING:
            if decision is not None:
                verification.add(f"{at} has a decision before it, {decision[0]}")
        elif event.kind == kinds.CONFLICTING:
            # It contradicts the first outcome, or where that is missing, the late or dangling one.
            known = [self._reported.get((event_id, kind)) for kind in (kinds.OUTCOME, kinds.LATE, kinds.DANGLING)]
            if next((value for value in known if value is not None), None) in (None, event.body["outcome"]):
                verification.add(f"{at} contradicts no other outcome")
        elif decision is None or event.about != decision[0]:
            verification.add(f"{at} has no decision before it")
        elif config.outcomes:
            self._parts.check_value(event, config)
        else:
            limit = None if config.outcome_window is None else decision[1] + config.window_length
            if (event.kind == kinds.LATE) != (limit is not None and event.time > limit):
                verification.add(f"{at} came {(event.time - decision[1]) / 1e6} s after its decision")
        if (event_id, event.kind) in self._reported:
            verification.add(f"{at} is the second one of its event id")
        self._reported[event_id, event.kind] = event.body["outcome"]

    def _meet_redacted(self, event: Event) -> None:
        """A decision without its context: what made it cannot be asked again, nor what learnt from it until then."""
        self._verification.redacted += 1
        self._left[event.sequence] = digest_row((*event[:6], write_body(event.body)))
        if self._fold.config.contexts:
            later = [sequence for sequence in self._erasures if sequence > event.sequence]
            erased_at = self._erased_by.get(event.sequence, later[0] if later else 0)
            self._clear_at = max(self._clear_at, erased_at)
            self._cloud(event.sequence)

    def _check_redacted(self, event: Event) -> None:
        for sequence, digest in event.body["decisions"]:
            if self._left.get(sequence) != digest:
                self._verification.add(
                    f"redacted {event.sequence} names decision {sequence}, which is not what it left of it"
                )

    def _check_retired(self, event: Event) -> None:
        actions, label = self._fold.config.actions, event.body["action"]
        gone = [each for each, _ in self._fold.retired]
        is_new = (label in gone) == (event.kind == kinds.REINSTATED)
        if not is_new or label not in actions or (event.kind == kinds.RETIRED and {*actions} <= {*gone, label}):
            self._verification.add(f"{event.kind} {event.sequence} cannot be of the action {label!r}")

    def _check_aside(self, event: Event) -> None:
        decision = self._decided.get(event.body.get("event_id", ""))
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
