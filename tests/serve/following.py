"""How long decisions take while a report is folded from the first event, and how soon the first metrics come.

python -m tests.serve.following 1000000
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from headstart.serve import Engine
from headstart.serve.http.app import App
from tests.serve.experiments import make_config
from tests.serve.in_process import running
from tests.serve.ready import fill_store


def time_decisions(engine: Engine, seconds: float) -> np.ndarray:
    """Milliseconds of durable decisions, one after the other."""
    took, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        started = time.perf_counter()
        engine.decide("ads")
        took.append(1e3 * (time.perf_counter() - started))
    return np.array(took)


def main() -> None:
    """Fill a store, open it without a report's snapshot, decide while the report is folded and after."""
    n_events = int(sys.argv[1])
    folder = Path(tempfile.mkdtemp())
    address = str(folder / "events.sqlite")
    try:
        fill_store(address, n_events, keeps_snapshots=True)
        sys.setswitchinterval(0.001)  # as `headstart serve` has it
        engine = Engine.open(make_config(address, server={"port": 0}) if False else make_config(address))
        app = App(engine)
        with running(app) as client:
            client.get("/health")  # connects
            started = time.perf_counter()
            client.get("/metrics")
            print(f"first /metrics: {1e3 * (time.perf_counter() - started):.1f} ms")
            before = time.perf_counter()
            chunks = []
            while app.overviews["ads"].as_dict()["as_of"]["position"] < n_events:
                chunks.append(time_decisions(engine, 0.5))
            print(f"folded within {time.perf_counter() - before:.1f} s of deciding")
            tell("decide while it is folded", np.concatenate(chunks))
            tell("decide afterwards", time_decisions(engine, 4.0))
            started = time.perf_counter()
            client.get("/metrics")
            print(f"/metrics afterwards: {1e3 * (time.perf_counter() - started):.1f} ms")
    finally:
        shutil.rmtree(folder)


def tell(what: str, took: np.ndarray) -> None:
    """Its quantiles."""
    p50, p99 = np.quantile(took, [0.5, 0.99])
    print(f"{what}: {len(took):,}, p50 {p50:.2f} ms, p99 {p99:.2f} ms, longest {took.max():.0f} ms")


if __name__ == "__main__":
    main()
