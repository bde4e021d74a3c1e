"""A service over HTTP on a PostgreSQL that is stopped in the middle (SIGSTOP): how long requests are open."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import httpx

from headstart.serve.engine.verification import verify_store
from headstart.serve.store.read_only import reading
from tests.serve.in_process import USER, served
from tests.serve.postgres_server import PostgresServer
from tests.serve.waiting import wait

_DECIDE = "/v1/ads/decide"
_ASKED = [_DECIDE] * 4 + ["/ready", "/experiments/ads", "/metrics"]


@dataclass
class Silence:
    """What callers were answered while the store was silent, and what was there afterwards."""

    requests: int = 0
    slowest: float = 0.0  # seconds
    statuses: set[int] = field(default_factory=set)
    acknowledged: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)  # of requests, whichever thread makes them

    def ask(self, client: httpx.Client, path: str) -> None:
        """One request."""
        event_id = f"during-{next(self._numbers)}"
        self.requests += 1
        started = time.monotonic()
        if path == _DECIDE:
            answer = client.post(path, json={"context": USER, "event_id": event_id})
        else:
            answer = client.get(path)
        self.slowest = max(self.slowest, time.monotonic() - started)
        self.statuses.add(answer.status_code)
        if path == _DECIDE and answer.status_code == 200:
            self.acknowledged.add(event_id)


def run_silent_server(postgres: PostgresServer, seconds: float, deadline: float) -> Silence:
    """Decisions, readiness, pages and metrics are asked for all the time that PostgreSQL is stopped, and after it."""
    found, address = Silence(), postgres.new_store()
    with served(address, server={"deadline": deadline}) as client:
        wait(lambda: client.post(_DECIDE, json={"context": USER}).status_code == 200, 60)  # compiled now
        wait(lambda: client.get("/experiments/ads").status_code == 200, 60)
        with postgres.paused():
            until = time.monotonic() + seconds
            threads = [threading.Thread(target=_ask_until, args=(found, client, path, until)) for path in _ASKED]
            for thread in threads:
                thread.start()
            time.sleep(seconds)
            assert client.get("/ready").status_code == 503
        for thread in threads:
            thread.join()
        wait(lambda: client.get("/ready").status_code == 200)
        for path in _ASKED:
            found.ask(client, path)
        log = client.get("/v1/ads/log", timeout=60)
        assert log.status_code == 200, log.text
        found.lost = found.acknowledged - {json.loads(line)["event_id"] for line in log.text.splitlines()}
    with reading(address) as query:
        found.faults = verify_store(query).faults
    return found


def _ask_until(found: Silence, client: httpx.Client, path: str, until: float) -> None:
    with httpx.Client(base_url=client.base_url, timeout=60, verify=False) as own:
        while time.monotonic() < until:
            found.ask(own, path)
            time.sleep(0.05)
