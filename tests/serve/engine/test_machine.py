"""The engine against a plain model in memory: decide, outcome, duplicates, late, unknown, restart, clock, freeze."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from headstart.serve import ConflictError, Engine
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.verification import verify_store
from headstart.serve.errors import UnknownDecision
from tests.serve.experiments import Clock, make_config

WINDOW = 10.0
IDS = st.sampled_from([f"u{i}" for i in range(8)])
OUTCOMES = st.sampled_from([0.0, 0.5, 1.0])
MODES: dict[str, dict[str, Any]] = {
    "no window": {},
    "window": {"outcome_window": WINDOW},
    "default": {"outcome_window": WINDOW, "default_outcome": 0.0},
}


class Model:
    """What the engine promises, in dictionaries."""

    def __init__(self, mode: str) -> None:
        self.has_window, self.has_default = mode != "no window", mode == "default"
        self.time = 0.0
        self.decisions: dict[str, tuple[Any, float, float]] = {}  # action, age, time
        self.first: dict[str, float] = {}
        self.late: dict[str, float] = {}
        self.dangling: dict[str, float] = {}
        self.conflicting: set[str] = set()
        self.learnt: list[tuple[str, Any, float]] = []  # event id, action, outcome, in order
        self.held: list[tuple[str, Any, float]] = []
        self.aside: set[str] = set()
        self.closed: set[str] = set()
        self.is_frozen = False

    def learn(self, event_id: str, action: Any, outcome: float) -> None:
        (self.held if self.is_frozen else self.learnt).append((event_id, action, outcome))

    def record(self, event_id: str, outcome: float) -> str:
        if event_id not in self.decisions:
            kept, status = self.dangling, "dangling"
        elif self.has_window and self.time > self.decisions[event_id][2] + WINDOW:
            kept, status = self.late, "late"
        else:
            kept, status = self.first, "waiting" if self.has_default or self.is_frozen else "applied"
            status = "set_aside" if event_id in self.aside else status
        earlier = self.first.get(event_id, kept.get(event_id))
        if earlier == outcome:
            return "duplicate"
        if earlier is not None:
            self.conflicting.add(event_id)
            return "conflicting"
        kept[event_id] = outcome
        if kept is self.first and not self.has_default:
            self.learn(event_id, self.decisions[event_id][0], outcome)
        return status

    def close(self) -> int:
        due = [i for i, d in self.decisions.items() if i not in self.closed and d[2] + WINDOW < self.time]
        for event_id in due:
            self.closed.add(event_id)
            self.learn(event_id, self.decisions[event_id][0], self.first.get(event_id, 0.0))
        return len(due)


class Machine(RuleBasedStateMachine):
    @initialize(mode=st.sampled_from(sorted(MODES)))
    def begin(self, mode: str) -> None:
        # In memory where there is such a folder: what is asked here is the logic, not the disk.
        place = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.folder = Path(tempfile.mkdtemp(prefix="headstart-machine-", dir=place))
        self.clock, self.model = Clock(), Model(mode)
        self.model.time = self.clock.seconds
        self.address = str(self.folder / "events.sqlite")
        self.config = make_config(self.address, contexts={"age": "number"}, **MODES[mode])
        self.engine = Engine.open(self.config, clock=self.clock)

    @rule(event_id=IDS, age=st.sampled_from([1.0, 2.0]))
    def decide(self, event_id: str, age: float) -> None:
        known = self.model.decisions.get(event_id)
        if known is not None and known[1] != age:
            with pytest.raises(ConflictError):
                self.engine.decide("ads", {"age": age}, event_id=event_id)
            return
        decision = self.engine.decide("ads", {"age": age}, event_id=event_id)
        self.model.time = max(self.model.time, self.clock.seconds)
        if known is not None:
            assert decision.action == known[0]
        else:
            self.model.decisions[event_id] = decision.action, age, self.model.time

    @rule(event_id=IDS, outcome=OUTCOMES)
    def report(self, event_id: str, outcome: float) -> None:
        self._tick()
        assert self.engine.outcome("ads", event_id, outcome).status == self.model.record(event_id, outcome)

    @rule(pairs=st.lists(st.tuples(IDS, OUTCOMES), min_size=1, max_size=5))
    def report_many(self, pairs: list[tuple[str, float]]) -> None:
        self._tick()
        statuses = [receipt.status for receipt in self.engine.outcome_many("ads", pairs)]
        assert statuses == [self.model.record(*pair) for pair in pairs]

    @rule(seconds=st.sampled_from([0.5, 6.0, 11.0, -30.0, -1.0]))
    def jump(self, seconds: float) -> None:
        self.clock.seconds += seconds

    @rule()
    def restart(self) -> None:
        before = self.engine.fingerprint("ads")
        self.engine.close()
        self.engine = Engine.open(self.config, clock=self.clock)
        assert self.engine.fingerprint("ads") == before

    @precondition(lambda self: not self.model.is_frozen)
    @rule()
    def freeze(self) -> None:
        self._tick()
        self.engine.freeze("ads")
        self.model.is_frozen = True

    @precondition(lambda self: self.model.is_frozen)
    @rule()
    def unfreeze(self) -> None:
        self._tick()
        self.engine.unfreeze("ads")
        self.model.is_frozen = False
        self.model.learnt += self.model.held
        self.model.held = []

    @rule(event_id=IDS, is_back=st.booleans())
    def set_aside(self, event_id: str, is_back: bool) -> None:
        steer = self.engine.take_back if is_back else self.engine.set_aside
        if event_id not in self.model.decisions:
            with pytest.raises(UnknownDecision):
                steer("ads", event_id)
            return
        if (event_id in self.model.aside) == is_back:  # otherwise nothing is written
            self._tick()
        steer("ads", event_id)
        (self.model.aside.discard if is_back else self.model.aside.add)(event_id)

    @precondition(lambda self: self.model.has_default)
    @rule()
    def close_windows(self) -> None:
        now = max(self.model.time, self.clock.seconds)
        # Asking writes nothing unless something is due, so only then does time go on.
        before, self.model.time = self.model.time, now
        n = self.model.close()
        if not n:
            self.model.time = before
        assert self.engine.close_windows() == n

    def _tick(self) -> None:
        """An event's time is the clock's, or the last event's if that is later.

        A duplicate writes nothing and leaves no time behind; the model may then be ahead of the store, but never by
        more than the clock itself, which the next event takes anyway unless it has jumped back.
        """
        head = self.engine.events("ads", after=self.engine.health()["position"] - 1)[0].time / 1e6
        self.model.time = max(head, self.clock.seconds)

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "engine"):
            return
        state, model = self.engine.state("ads"), self.model
        assert state["decisions"] == len(model.decisions)
        assert state["outcomes"] == len(model.first)
        assert state["late"] == len(model.late)
        assert state["dangling"] == len(model.dangling)
        assert state["conflicting"] == len(model.conflicting)
        assert state["set_aside"] == len(model.aside)
        assert state["learnt"] == sum(row[0] not in model.aside for row in [*model.learnt, *model.held])
        assert state["is_frozen"] == model.is_frozen
        for action in state["actions"]:
            rows = [row for row in model.learnt if row[0] not in model.aside]
            mine = [outcome for _, label, outcome in rows if label == action["action"]]
            assert action["policy"]["counts"] == len(mine)
            if mine:
                assert action["policy"]["means"] == pytest.approx(sum(mine) / len(mine))

    def teardown(self) -> None:
        if hasattr(self, "engine"):
            live = self.engine.fingerprint("ads")
            self.engine.close()
            store = open_store(self.address)
            verdict = verify_store(store.query)
            store.close()
            shutil.rmtree(self.folder)
            assert verdict.faults == []
            assert verdict.fingerprints["ads"] == live
            assert verdict.decisions == verdict.decided_again


@pytest.fixture(autouse=True)
def nobody_looks(monkeypatch):
    """The engine would close windows by itself, at moments that the model does not know."""
    monkeypatch.setattr("headstart.serve.engine.ledger._LOOK_SECONDS", 1e9)


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=int(os.environ.get("HEADSTART_EXAMPLES", "25")), stateful_step_count=40)
