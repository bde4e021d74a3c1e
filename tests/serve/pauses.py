"""Replicas in processes of their own that are paused: as a folder, or in the middle of a turn."""

from __future__ import annotations

import json
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from headstart.serve import Engine, StoreUnavailable
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.verification import verify_store
from headstart.serve.store.read_only import reading
from tests.serve.experiments import make_config
from tests.serve.forked import forked
from tests.serve.waiting import wait

_LATER = {"outcome_window": 0.3, "default_outcome": 0.0}


class Replica:
    """A process with an engine on the store; it does what it is told."""

    def __init__(self, address: str, **settings: Any) -> None:
        self._begun = forked("tests.serve.pauses", address, json.dumps(settings))

    def __enter__(self) -> Self:
        self._process = self._begun.__enter__()
        assert self._process.read() == "open"
        return self

    def __exit__(self, *raised: Any) -> None:
        self.resume()
        self._begun.__exit__(*raised)

    def decide(self, event_id: str) -> str:
        return self._ask(f"decide {event_id}")

    def become_folder(self) -> None:
        """Returns when it closes windows."""
        assert self._ask("folder") == "folder"

    def pause_in_turn(self) -> None:
        """It takes a turn of writing, and stops."""
        assert self._ask("turn") == "in turn"
        self.pause()

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def _ask(self, line: str) -> str:
        self._process.tell(line)
        return self._process.read()


@dataclass
class PausedFolder:
    """How long nobody closed windows, and what came of it."""

    takeover: float  # seconds
    decisions: int
    learnt: int
    faults: list[str]


def run_paused_folder(address: str, seconds: float) -> PausedFolder:
    """The folder is paused for so long under traffic; another closes windows; it wakes up and goes on."""
    with Replica(address, **_LATER) as folder, Engine.open(make_config(address, **_LATER)) as other:
        folder.become_folder()
        other.decide("ads")
        wait(lambda: _is_all_learnt(other), 20.0)
        folder.pause()
        paused = time.monotonic()
        other.decide("ads")
        wait(lambda: _is_all_learnt(other), 20.0)
        takeover = time.monotonic() - paused
        while time.monotonic() - paused < seconds:
            other.decide("ads")
            time.sleep(0.05)
        folder.resume()
        for i in range(20):
            folder.decide(f"after-{i}")
            other.decide("ads")
        wait(lambda: _is_all_learnt(other), 20.0)
        state = other.state("ads")
    with reading(address) as query:
        faults = verify_store(query).faults
    return PausedFolder(takeover, state["decisions"], state["learnt"], faults)


def _is_all_learnt(engine: Engine) -> bool:
    state = engine.state("ads")
    return state["learnt"] == state["decisions"]


def main() -> None:
    """One replica."""
    address, settings = sys.argv[1], json.loads(sys.argv[2])
    with Engine.open(make_config(address, **settings)) as engine:
        print("open", flush=True)
        for line in sys.stdin:
            verb, _, given = line.strip().partition(" ")
            if verb == "decide":
                print(engine.decide("ads", event_id=given).action, flush=True)
            elif verb == "folder":
                wait(lambda: engine.health()["is_folder"])
                print("folder", flush=True)
            elif verb == "turn":
                _hold_turn(address)


def _hold_turn(address: str) -> None:
    store = open_store(address)
    with suppress(StoreUnavailable), store.writing("ads"):  # the server ends it meanwhile
        print("in turn", flush=True)
        time.sleep(1.0)  # it is paused here
    store.close()
