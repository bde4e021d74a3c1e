"""The decision service as its log grows: decisions a second, the time until it is ready, `/metrics`, memory.

    python -m benchmarks.serve_growth --events 1000000

The store is filled in batches through the engine; then `headstart serve` is started on it, as a user would, and put
under wrk. Flat is what one wants to see: neither deciding nor watching may become slower with the past.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np

from benchmarks.serve import CONFIG, SCRIPT, await_server, free_port, load
from benchmarks.timing import print_table
from headstart.serve import Decision, Engine, load_config

_USER = {"context": {"age": 34, "likes_videos": "yes"}}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=100_000, help="in the largest store")
    parser.add_argument("--seconds", type=int, default=5, help="of load per figure")
    given = parser.parse_args()
    sizes = [n for n in (1_000, 10_000, 100_000, 1_000_000) if n < given.events] + [given.events]
    rows, n = [], 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "decide.lua").write_text(SCRIPT)
        for size in sizes:
            port = free_port()
            config = place / "ads.toml"
            config.write_text(CONFIG.format(store="ads.sqlite", port=port))
            n += _fill(config, size - n)
            rows.append((f"{n:,}", *_measure(config, port, place / "decide.lua", given.seconds)))
    print_table(
        "As the log grows, 16 connections",
        ("events", "ready after s", "first /metrics ms", "decisions a second", "99 % in ms", "memory MB"),
        rows,
    )


def _fill(config: Path, n_events: int) -> int:
    """About so many events, half of them outcomes; how many."""
    rng, n = np.random.default_rng(1), 0
    with Engine.open(load_config(config)) as engine:
        while n < n_events:
            found = engine.decide_many("ads", [_USER] * 500)
            ids = [each.event_id for each in found if isinstance(each, Decision)]
            engine.outcome_many("ads", [(event_id, float(rng.random() < 0.3)) for event_id in ids])
            n += 2 * len(ids)
    return n


def _measure(config: Path, port: int, script: Path, seconds: int) -> tuple[str, ...]:
    started = time.perf_counter()
    command = [sys.executable, "-m", "headstart.cli", "serve", str(config), "--log-level", "error"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        await_server(port)
        ready = time.perf_counter() - started
        started = time.perf_counter()
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60).read()
        metrics = time.perf_counter() - started
        load(port, script, 16, 1)
        rate, _, _, worst = load(port, script, 16, seconds)
        memory = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * 4096 / 1e6
    finally:
        process.terminate()
        process.wait(30)
    return f"{ready:.1f}", f"{1e3 * metrics:.0f}", f"{rate:,.0f}", f"{worst:.1f}", f"{memory:.0f}"


if __name__ == "__main__":
    main()
