"""A store with many events, and how long a server needs until it is ready to decide on it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import numpy as np

from headstart.serve import Engine
from headstart.serve.engine.opening import open_store
from tests.serve.experiments import make_config


def fill_store(address: str, n_events: int, *, keeps_snapshots: bool = False) -> None:
    """Half decisions, half outcomes, in batches."""
    rng = np.random.default_rng(2)
    with Engine.open(make_config(address)) as engine:
        for _ in range(0, n_events, 2000):
            decisions = engine.decide_many("ads", [{}] * 1000)
            engine.outcome_many("ads", [(d.event_id, float(rng.random() < 0.3)) for d in decisions])
    if not keeps_snapshots:
        store = open_store(address)
        with store.writing("ads") as turn:
            turn.execute("DELETE FROM snapshots")
        store.close()


def time_open(address: str) -> dict[str, float]:
    """Seconds from the process's start, and from the store's opening alone, to the first durable decision."""
    command = [sys.executable, "-m", "tests.serve.ready", address]
    started = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return {"process": time.perf_counter() - started, **told}


def main() -> None:
    """A new process: imports, opens, decides."""
    started = time.perf_counter()
    with Engine.open(make_config(sys.argv[1])) as engine:
        opened = time.perf_counter() - started
        engine.decide("ads")
        print(json.dumps({"open": opened, "first_decision": time.perf_counter() - started}))


if __name__ == "__main__":
    main()
