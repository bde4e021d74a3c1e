"""The fold: an experiment's state is its events, one after the other, and nothing else.

    configuration, warm_start, log_withdrawn   the policy is built anew and learns again what counts
    outcome                                    learnt at once (without a default outcome)
    window_closed                              its decisions are learnt, in their order
    frozen ... unfrozen                        outcomes between the two are learnt at the second
    rolled_back                                what was learnt after a version is forgotten
    set_aside, taken_back                      one decision is learnt and counted no more, or again
    retired, reinstated                        an action has no chance any more, or has one again; nothing is unlearnt
    tripped, resumed                           a guardrail may have the safe action shown, till somebody resumes
    redacted                                   contexts were erased: who looked at them is built anew without them
    accepted                                   somebody went on with a store that had lost events; nothing else
    archived                                   old events went into a file; nothing else
    decision                                   counted, and in flight: a policy to which that matters is told
    late, dangling, conflicting, part, early   counted; the policy stays as it is

The clock does not enter: time is in the events. The policy is built when it is first needed, so a configuration that
another replaced costs nothing, nor does a log that was withdrawn need to be there.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from headstart.errors import HeadstartError
from headstart.parts import OracleAbilities, Saved
from headstart.serve.config import ExperimentConfig, Label, read_experiment
from headstart.serve.engine.binding import Binding
from headstart.serve.engine.bounds import Bounds
from headstart.serve.engine.fits import take_up_fit
from headstart.serve.engine.flight import Flight
from headstart.serve.engine.guards import Guards
from headstart.serve.engine.policies import build_policy
from headstart.serve.engine.reckoning import Reckoning
from headstart.serve.engine.served_policy import ServedPolicy
from headstart.serve.engine.snapshot import read_snapshot, write_snapshot
from headstart.serve.engine.sources import Source
from headstart.serve.engine.tally import EventTally
from headstart.serve.engine.tower import Tower
from headstart.serve.errors import StoreCorrupt
from headstart.serve.store import events as kinds
from headstart.serve.store.chain import GENESIS
from headstart.serve.store.events import Body, Event, Learnt
from headstart.serve.store.reader import as_learnt

logger = logging.getLogger("headstart.serve")


class LearntReader(Protocol):
    """How the fold looks back into the store."""

    def learnt(self, experiment: str, after: int, through: int, *, at_close: bool) -> Iterator[Learnt]:
        """The outcomes that began to count in (after, through], in their order."""

    def fit(self, hash: str) -> str | None:
        """What a policy was before its first user, as it was recorded."""


def _log_lost_fit(fault: str) -> None:
    logger.error("%s: the policy is built anew, and may differ in its last bits from other processes'", fault)


class Fold:
    """One experiment's state after the events folded so far."""

    def __init__(
        self,
        name: str,
        reader: LearntReader,
        find_source: Callable[[ExperimentConfig, Body], Source],
        on_lost_fit: Callable[[str], None] = _log_lost_fit,
    ) -> None:
        self.name = name
        self._config: ExperimentConfig | None = None
        self.position = 0  # the last event folded
        self.hash = GENESIS  # of it and all before it
        self.moved = 0  # the last event, decisions apart, that changed what the policy would do
        self.frozen_at: int | None = None
        self.log: Body | None = None  # the warm start in force: hash, rows, counts, means, how it was read, its audit
        self.closed_through = 0  # decisions up to here have been learnt (with a default outcome)
        self.counts_after: list[list[int]] = []  # stretches (after, through] of earlier events that still count
        self.began = 0  # and everything after this one
        self.declared: list[list[Any]] = []  # [sequence, actions] of every configuration so far
        self.retired: list[tuple[Label, int]] = []  # actions that are shown no more, and the event that retired each
        self.guards = Guards()  # guardrails, and which have tripped
        self.reckoning = Reckoning()  # what outcomes count
        self.flight = Flight()  # decisions whose outcomes are still to come
        self.not_learnable = 0  # outcomes that the present policy cannot take: an action or column it does not have
        self.quiet_until = 0  # learning before this event would be thrown away
        self._rows, self._read_fit = reader.learnt, reader.fit
        self._find_source, self._on_lost_fit = find_source, on_lost_fit
        self.offered: tuple[Label, ...] = ()  # the actions that are not retired; all, if every one is
        self._policy: ServedPolicy | None = None
        self._indices: dict[Any, int] = {}

    @property
    def config(self) -> ExperimentConfig:
        """The configuration in force."""
        if self._config is None:
            raise StoreCorrupt(f"experiment {self.name!r} has no configuration before event {self.position}")
        return self._config

    @property
    def binding(self) -> Binding:
        """What the warm start in force holds the policy to."""
        return Binding.in_force(self.config, self.log)

    def _configure(self, config: ExperimentConfig) -> None:
        self._config = config
        self._indices = {label: a for a, label in enumerate(config.actions)}
        self._offer()

    def _offer(self) -> None:
        gone = [label for label, _ in self.retired]
        self.offered = tuple(label for label in self.config.actions if label not in gone) or self.config.actions

    def find_safe(self, available: Sequence[Label] | None) -> Label | None:
        """The safe action, where a guardrail has it shown to all but the hold-out and it can be; else None."""
        safe = None if self.guards.fallen_back is None else self.config.safe_action
        is_there = safe in self.offered and (available is None or safe in available)
        return safe if is_there else None

    @property
    def tally(self) -> EventTally:
        """What the events add up to."""
        self._settle_counts()
        return self.reckoning.tally

    def _settle_counts(self) -> None:
        if not self.reckoning.is_counted:
            self.reckoning.count_again(self._rows(self.name, 0, self.position, at_close=self.learns_at_close))

    @property
    def policy(self) -> ServedPolicy:
        """The policy as of `position`."""
        if self._policy is None:
            self._policy = self._rebuild(self.position)
        return self._policy

    @property
    def waits(self) -> bool:
        """Whether a decision changes what the policy would do: whether it is told what is in flight, and minds."""
        return self.config.forget_after is not None and self.frozen_at is None and self.policy.waits

    @property
    def version(self) -> int:
        """The last event that changed what the policy would do; of one that is not there yet, decisions apart."""
        is_told = self._policy is not None and self._policy.waits
        return max(self.moved, self.flight.told) if is_told else self.moved

    @property
    def is_settled(self) -> bool:
        """Whether policy and counts are there, or would be made from the events when somebody asks for them."""
        return self._policy is not None and self.reckoning.is_counted

    def settle(self) -> None:
        """Make them."""
        assert self.policy is not None
        assert self.tally is not None

    @property
    def outcome_range(self) -> tuple[float, float]:
        """Outcomes that the present policy can learn."""
        return (-math.inf, math.inf) if self._policy is None else self._policy.outcome_range

    def actions_at(self, version: int) -> list[Any]:
        """The labels, in order, that a decision of this version was drawn from."""
        actions: list[Any] = []
        for sequence, declared in self.declared:
            if sequence <= version:
                actions = declared
        return actions

    @property
    def learns_at_close(self) -> bool:
        return self._config is not None and self._config.default_outcome is not None

    @property
    def closes(self) -> bool:
        """Whether something is settled when windows close: defaults, or the values of outcomes with names."""
        config = self._config
        return self.learns_at_close or (
            config is not None and bool(config.outcomes) and config.outcome_window is not None
        )

    def apply(self, event: Event) -> None:
        """Fold one more event."""
        kind, sequence = event.kind, event.sequence
        if kind == kinds.DECISION:
            self.reckoning.add_decision(event, self.config)
            self._depart(event)
        elif kind == kinds.OUTCOME:
            self.reckoning.add_outcome(event)
            if not self.learns_at_close:
                if event.decision is None:
                    raise StoreCorrupt(f"outcome {sequence} of {self.name!r} has no decision {event.about}")
                about = event.about or 0
                self._take(as_learnt(sequence, event.time, event.decided, event.decision, event.body, about))
        elif kind == kinds.WINDOW_CLOSED:
            if self.learns_at_close:  # values of outcomes with names are events of their own
                for row in self._rows(self.name, sequence - 1, sequence, at_close=True):
                    self._take(row)
            self.closed_through = event.body["through"]
        elif kind == kinds.LATE:
            self.reckoning.tally.late += 1
        elif kind == kinds.DANGLING:
            self.reckoning.tally.dangling += 1
        elif kind == kinds.CONFLICTING:
            self.reckoning.tally.conflicting += 1
        elif kind == kinds.PART:
            self.reckoning.tally.parts += 1
        elif kind == kinds.EARLY:
            self.reckoning.tally.early += 1
        else:
            self._steer(event)
            self.moved = sequence
        self.position, self.hash = sequence, event.hash

    def _steer(self, event: Event) -> None:
        """The rare events: what people and configurations decide about the policy."""
        if event.kind == kinds.CONFIGURATION:
            self._configure(read_experiment(self.name, event.body))
            self.declared.append([event.sequence, list(self.config.actions)])
            self.guards.declare(self.config.guardrails, event.sequence)
            self._begin_with(None, event.sequence)
        elif event.kind == kinds.WARM_START:
            self._begin_with(event.body, event.sequence)
        elif event.kind == kinds.LOG_WITHDRAWN:
            self._begin_with(None, event.sequence)
        elif event.kind == kinds.FROZEN:
            if self.frozen_at is None:
                self.frozen_at = event.sequence
                self.flight.freeze()
        elif event.kind == kinds.UNFROZEN:
            frozen_at, self.frozen_at = self.frozen_at, None
            known = self.flight.thaw()
            if frozen_at is not None and self._policy is not None:
                tower, waiting = self._tower_of(self._policy), self.flight.waiting
                tower.release_all(known, but=waiting)
                for row in self._rows(self.name, frozen_at, event.sequence, at_close=self.learns_at_close):
                    self._teach(self._policy, row)
                tower.expect_all(waiting, but=known)
        elif event.kind == kinds.ROLLED_BACK:
            to = min(event.body["to"], self.frozen_at or event.sequence)
            stretches = [*self.counts_after, [self.began, event.sequence]]
            self.counts_after = [[after, min(through, to)] for after, through in stretches if after < to]
            self.began, self._policy = event.sequence, None
            if self.frozen_at is not None:
                self.frozen_at = event.sequence
                self.flight.freeze()
        elif event.kind in (kinds.SET_ASIDE, kinds.TAKEN_BACK):
            self.reckoning.set_aside(event)
            self._policy = None
        elif event.kind in (kinds.RETIRED, kinds.REINSTATED):
            self.retired = [each for each in self.retired if each[0] != event.body["action"]]
            if event.kind == kinds.RETIRED:
                self.retired.append((event.body["action"], event.sequence))
            self._offer()
        elif event.kind in (kinds.TRIPPED, kinds.RESUMED):
            self.guards.take(event)
        elif event.kind == kinds.REDACTED:
            self.reckoning.redact(event.sequence)
            self.flight.redact(sequence for sequence, _ in event.body["decisions"])
            if self.config.contexts:
                self._policy = None
        elif event.kind not in (kinds.ACCEPTED, kinds.ARCHIVED):
            raise StoreCorrupt(f"event {event.sequence} is of an unknown kind {event.kind!r}: a newer headstart's?")

    def _begin_with(self, log: Body | None, sequence: int) -> None:
        """Another policy, from this log or none, and the bounds that come with it."""
        self.log, self._policy = log, None
        self.reckoning.bound(Bounds.in_force(self.config, log), sequence)

    def _take(self, row: Learnt) -> None:
        """An outcome begins to count."""
        self.reckoning.add_learnt(row)
        is_learnt = self.frozen_at is None and row.sequence > self.quiet_until
        if is_learnt and self._policy is None:
            self._policy = self._rebuild(row.sequence - 1)
        departure = self.flight.land(row.about)
        if is_learnt and self._policy is not None:
            if departure is not None:
                self._tower_of(self._policy).release(row.about, departure)
            self._teach(self._policy, row)
            self.moved = row.sequence
        self._forget(row.time)

    def _depart(self, event: Event) -> None:
        """A decision is in flight, and perhaps the last that an older one is waited for."""
        if self.config.forget_after is None:
            return
        departure, tower = self.flight.depart(event, self.config), self._find_tower()
        if tower is not None:
            tower.expect(event.sequence, departure)
        self._forget(event.time)

    def _forget(self, now: int) -> None:
        tower = self._find_tower()
        for decision, departure in self.flight.forget(self.config, now):
            if tower is not None:
                tower.release(decision, departure)

    def _find_tower(self) -> Tower | None:
        """Who tells the policy; None where there is none yet, or it is frozen."""
        return None if self._policy is None or self.frozen_at is not None else self._tower_of(self._policy)

    def _tower_of(self, policy: ServedPolicy) -> Tower:
        return Tower(policy, self._indices, self.reckoning.aside)

    def _teach(self, policy: ServedPolicy, row: Learnt) -> None:
        if row.about in self.reckoning.aside:
            return
        try:
            action, surprises = self._indices[row.body["action"]], row.body.get("surprises", {})
            policy.learn(row.body["context"], action, row.outcome, surprises)
        except (KeyError, HeadstartError):  # the configuration has changed since; a rejected call changes nothing
            self.not_learnable += 1

    def _rebuild(self, through: int) -> ServedPolicy:
        """A policy of its configuration and log that has learnt again everything that counts.

        It is the fold's when it has learnt all of it: a read may fail half-way.
        """
        source = None if self.log is None else self._find_source(self.config, self.log)
        starts = source and source.starts
        policy = build_policy(self.config, source and source.log, self.reckoning.bounds, self.binding, starts)
        self.not_learnable = 0
        if self.log is not None and "fit" in self.log:
            self._take_up(policy, self.log["fit"])
        end = through if self.frozen_at is None else min(through, self.frozen_at)
        for after, stretch_end in [*self.counts_after, [self.began, end]]:
            if after < stretch_end:
                for row in self._rows(self.name, after, stretch_end, at_close=self.learns_at_close):
                    self._teach(policy, row)
        self._tower_of(policy).expect_all(self.flight.known)
        return policy

    def _take_up(self, policy: ServedPolicy, fit: str) -> None:
        """Go on from the fit that was recorded: this machine's own may differ in its last bits."""
        try:
            take_up_fit(policy, fit, self._read_fit(fit))
        except StoreCorrupt as fault:
            self._on_lost_fit(f"experiment {self.name!r}: {fault}")

    def save(self) -> bytes | None:
        """A snapshot, or None for a policy that cannot be saved. Equal states give equal bytes."""
        policy = OracleAbilities(self.policy.policy).try_get_state()
        return None if policy is None else write_snapshot({**self._plain(), "policy": policy})

    def fingerprint(self) -> bytes:
        """Everything that a refold must reproduce, bit for bit; without a saved policy, what it answers."""
        return self.save() or write_snapshot({**self._plain(), "readings": self.policy.readings()})

    def load(self, snapshot: str | bytes) -> bool:
        """Take up a snapshot. One that cannot be is dropped, with a word in the log: the events say the same."""
        try:
            saved = read_snapshot(snapshot)
            config = read_experiment(self.name, saved["config"])
            source = None if saved["log"] is None else self._find_source(config, saved["log"])
            bounds = Bounds.in_force(config, saved["log"])
            binding, starts = Binding.in_force(config, saved["log"]), source and source.starts
            policy = build_policy(config, source and source.log, bounds, binding, starts)
            OracleAbilities(policy.policy).set_state(saved["policy"])
            reckoning, flight = Reckoning.from_dict(saved["reckoning"], bounds), Flight.from_dict(saved["flight"])
            guards = Guards.from_dict(saved["guards"], config.guardrails)
            plain = {name: saved[name] for name in _PLAIN}
            plain["retired"] = [(label, sequence) for label, sequence in plain["retired"]]
        except Exception as error:  # whatever is wrong with a cache, what it was made from is there
            logger.warning("a snapshot of experiment %r was dropped, its events are folded: %s", self.name, error)
            return False
        self._policy, self.reckoning, self.flight, self.guards = policy, reckoning, flight, guards
        vars(self).update(plain)
        self._configure(config)
        return True

    def _plain(self) -> Saved:
        self._settle_counts()
        return {
            "config": self.config.as_dict(),
            "reckoning": self.reckoning.as_dict(),
            "flight": self.flight.as_dict(),
            "guards": self.guards.as_dict(),
            **{name: vars(self)[name] for name in _PLAIN},
        }


_PLAIN = (
    "position", "hash", "moved", "frozen_at", "log", "closed_through", "counts_after", "began", "declared",
    "not_learnable", "retired",
)  # fmt: skip
