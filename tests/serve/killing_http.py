"""SIGKILL of `headstart serve` while clients ask it over HTTP: what was answered is in the store, once."""

from __future__ import annotations

import http.client
import json
import random
import re
import signal
import subprocess
import sys
import threading
import time
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

from tests.serve.killing import N_THREADS, Tally, make_tables, run_kills

# The experiments of `make_tables`: who looks afterwards declares nothing new.
_PLAIN = """
actions = ["a", "b", "c"]
oracle = "{oracle}"
seed = 3
safe_action = "c"
guardrails = {{ r = {{ worse = "lower", than = 0.0, then = "fall back" }} }}
"""
CONFIG = f"""
store = "{{address}}"

[experiments.now]{_PLAIN.format(oracle="ThompsonBeta")}
[experiments.later]{_PLAIN.format(oracle="UCB")}outcome_window = 0.05
default_outcome = 0.0

[experiments.worth]{_PLAIN.format(oracle="UCB")}outcomes = {{ click = {{}}, revenue = {{}} }}
value = 'revenue - shown("c")'
"""


def run_http_kills(folder: Path, address: str, runs: int, seed: int, longest: float = 0.5) -> Tally:
    """Kill `runs` servers on one store, which is looked at after each."""
    config = folder / "kill.toml"
    text = CONFIG.replace("{address}", address)
    assert tomllib.loads(text) == make_tables(address)
    config.write_text(text)
    return run_kills(address, runs, seed, longest, partial(_kill_one, config))


def _kill_one(config: Path, run: int, seconds: float, acknowledged: dict[tuple[str, str, str], Any]) -> None:
    command = [sys.executable, "-u", "-m", "headstart.cli", "serve", str(config), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        found = None
        while found is None:  # the address may be broken over lines
            line = process.stdout.readline()
            assert line, "the server did not start"
            found = re.search(rb"http://127\.0\.0\.1:(\d+)", line)
        port = int(found[1])
        threads = [
            threading.Thread(target=_ask, args=(port, run, thread, acknowledged)) for thread in range(N_THREADS)
        ]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        for thread in threads:
            thread.join()
        process.stdout.read()


def _ask(port: int, run: int, thread: int, acknowledged: dict[tuple[str, str, str], Any]) -> None:
    """Decide and report until the connection breaks."""
    rng = random.Random(f"{run}-{thread}")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)

    def post(path: str, body: dict[str, Any]) -> Any:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = json.loads(response.read())
        assert response.status == 200, answer
        return answer

    try:
        for i in range(10**9):
            experiment, event_id = rng.choice(("now", "later")), f"h{run}-{thread}-{i}"
            decision = post(f"/v1/{experiment}/decide", {"event_id": event_id})
            acknowledged[experiment, "decision", event_id] = decision["action"]
            if rng.random() < 0.8:
                value = float(rng.random() < 0.3)
                receipt = post(f"/v1/{experiment}/outcome", {"event_id": event_id, "outcome": value})
                if receipt["status"] in ("applied", "waiting", "duplicate"):
                    acknowledged[experiment, "outcome", event_id] = value
    except (OSError, http.client.HTTPException):
        return
    finally:
        connection.close()
