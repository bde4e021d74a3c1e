"""SIGKILL under load: a process that decides and learns in many threads is killed at a random moment, many times.

What was acknowledged to it goes to a pipe, after the call has returned; so whatever the pipe holds must be in the
store, once, and the state must be the fold of the events. `main` is the process that dies.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

from headstart.errors import OptionError
from headstart.serve import Engine, load_config
from headstart.serve.engine.archiving import archive_events
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.verification import verify_store
from headstart.serve.errors import UnknownDecision
from headstart.serve.units import Unit
from tests.serve.forked import forked

N_THREADS = 8
_YOUNG = 0.2  # seconds: what is older is archived while the others go on
READY = b"ready\n"


def make_tables(address: str) -> dict[str, Any]:
    """Three experiments: one learns at once, one when windows close, one the value of outcomes with names."""
    rails = {"r": {"worse": "lower", "than": 0.0, "then": "fall back"}}
    plain = {
        "actions": ["a", "b", "c"], "oracle": "ThompsonBeta", "seed": 3, "safe_action": "c", "guardrails": rails,
    }  # fmt: skip
    window = {**plain, "oracle": "UCB", "outcome_window": 0.05, "default_outcome": 0.0}
    worth = {**plain, "oracle": "UCB", "outcomes": {"click": {}, "revenue": {}}, "value": 'revenue - shown("c")'}
    return {"store": address, "experiments": {"now": plain, "later": window, "worth": worth}}


def find_folder(address: str) -> Path:
    """Where the archives of a store that is killed go."""
    return Path(tempfile.gettempdir()) / f"headstart-killed-{blake2b(address.encode(), digest_size=8).hexdigest()}"


@dataclass
class Tally:
    """What a campaign saw."""

    runs: int = 0
    acknowledged: int = 0
    events: int = 0
    slowest_open: float = 0.0
    faults: list[str] = field(default_factory=list)


Kill = Callable[[int, float, dict[tuple[str, str, str], Any]], None]  # (run, seconds to live, acknowledged)


def run_kills(address: str, runs: int, seed: int, longest: float = 0.5, kill: Kill | None = None) -> Tally:
    """Kill `runs` processes on one store, which is looked at after each; by default engines without HTTP."""
    rng, tally = random.Random(seed), Tally()
    acknowledged: dict[tuple[str, str, str], Any] = {}
    for run in range(runs):
        (kill or partial(_kill_one, address))(run, rng.uniform(0.01, longest), acknowledged)
        tally.runs += 1
        tally.faults += look(address, acknowledged, tally)
    tally.acknowledged = len(acknowledged)
    shutil.rmtree(find_folder(address), ignore_errors=True)
    return tally


def _kill_one(address: str, run: int, seconds: float, acknowledged: dict[tuple[str, str, str], Any]) -> None:
    with forked("tests.serve.killing", json.dumps(make_tables(address)), str(run)) as process:
        assert process.stdout.readline() == READY
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        for line in process.stdout.read().split(b"\n")[:-1]:  # a line that was cut off was not written
            experiment, kind, event_id, value = json.loads(line)
            acknowledged[experiment, kind, event_id] = value


def look(address: str, acknowledged: dict[tuple[str, str, str], Any], tally: Tally) -> list[str]:
    """Faults: of the store, of the state, and of what was acknowledged."""
    store = open_store(address)
    try:
        verdict = verify_store(store.query)
    finally:
        store.close()
    faults, tally.events = list(verdict.faults), verdict.events
    started = time.perf_counter()
    with Engine.open(load_config(make_tables(address))) as engine:
        tally.slowest_open = max(tally.slowest_open, time.perf_counter() - started)
        for name in engine.experiments:
            seen: dict[tuple[str, str, str], Any] = {}
            for event in _events(engine, name):
                key = (name, event.kind, event.event_id or "")
                if event.kind in ("decision", "outcome", "part"):
                    if key in seen:
                        faults.append(f"{key} is there twice")
                    seen[key] = event.body["action"] if event.kind == "decision" else event.body["outcome"]
            for key, value in acknowledged.items():
                if key[0] == name and seen.get(key) != value:
                    faults.append(f"{key} was acknowledged as {value!r} and is {seen.get(key)!r}")
    # The windows of `later` close as soon as the engine runs: only `now` is still what was verified.
    with Engine.open(load_config(make_tables(address))) as engine:
        if engine.fingerprint("now") != verdict.fingerprints.get("now", b""):
            faults.append("the state of 'now' is not the fold of its events")
    return faults


def _events(engine: Engine, name: str) -> Any:
    after = 0
    while page := engine.events(name, after):
        yield from page
        after = page[-1].sequence


def _work(engine: Engine, run: str, thread: int, lock: threading.Lock) -> None:
    rng = random.Random(f"{run}-{thread}")

    def tell(*said: Any) -> None:
        line = json.dumps(said).encode() + b"\n"
        with lock:
            os.write(1, line)

    for i in range(10**9):
        experiment, event_id = rng.choice(engine.experiments), f"{run}-{thread}-{i}"
        unit = f"c{rng.randrange(50)}" if rng.random() < 0.5 else None
        decision = engine.decide(experiment, event_id=event_id, unit=unit)
        tell(experiment, "decision", event_id, decision.action)
        if unit is not None and rng.random() < 0.02:
            with suppress(UnknownDecision):  # another thread has erased it in between
                engine.erase(experiment, Unit(unit))
        if thread == 0 and rng.random() < 0.05:
            before = int((time.time() - _YOUNG) * 1e6)
            with suppress(OptionError):  # nobody else archives, but the next turn may find another epoch
                archive_events(engine._store, experiment, before, find_folder(engine.config.store), {"by": "a test"})
        if rng.random() < 0.02:
            (engine.retire if rng.random() < 0.5 else engine.reinstate)(experiment, "c")
        if rng.random() < 0.02:
            _guard(engine, experiment, trips=rng.random() < 0.5)
        if experiment == "worth":
            outcomes = {name: float(rng.random() < 0.3) for name in rng.sample(["click", "revenue"], 2)}
            engine.outcome(experiment, event_id, outcomes)
            for name, value in outcomes.items():
                tell(experiment, "part", f"{event_id}\x1f{name}", value)
        elif rng.random() < 0.8:
            value = float(rng.random() < 0.3)
            receipt = engine.outcome(experiment, event_id, value)
            if receipt.status in ("applied", "waiting", "duplicate"):
                tell(experiment, "outcome", event_id, value)


def _guard(engine: Engine, experiment: str, *, trips: bool) -> None:
    """Trip the guardrail, as its watch would, or resume."""
    if not trips:
        engine.resume(experiment, "r")
        return
    since = engine._ledgers[experiment].fold.guards.since["r"]
    engine.trip(experiment, "r", {"since": since, "looked_at": since, "reason": "a seed"})


def main() -> None:
    """Decide and learn until killed."""
    engine = Engine.open(load_config(json.loads(sys.argv[1])))
    os.write(1, READY)
    lock = threading.Lock()
    for thread in range(N_THREADS):
        threading.Thread(target=_work, args=(engine, sys.argv[2], thread, lock), daemon=True).start()
    time.sleep(60)
