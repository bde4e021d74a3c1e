"""Processes that are stopped in the middle (SIGSTOP): a PostgreSQL that is silent, a replica that is paused."""

import json
import threading
import time

import httpx
import pytest

from headstart.serve import Engine, StoreUnavailable
from headstart.serve.engine.verification import verify_store
from headstart.serve.store.read_only import reading
from tests.serve.experiments import make_config
from tests.serve.in_process import USER, served
from tests.serve.pauses import Replica, run_paused_folder
from tests.serve.waiting import wait

DEADLINE = 2.0


def test_while_postgresql_is_silent_every_request_ends_by_its_deadline_and_then_all_goes_on(postgres):
    """The campaign pauses it for 25 s with a deadline of 5."""
    address = postgres.new_store()
    with served(address, server={"deadline": DEADLINE}) as client:
        wait(lambda: client.post("/v1/ads/decide", json={"context": USER}).status_code == 200)  # compiled now
        wait(lambda: client.get("/experiments/ads").status_code == 200)
        told = Told()
        with postgres.paused():
            paused = time.monotonic()
            threads = [threading.Thread(target=told.ask, args=(str(client.base_url), *each)) for each in ASKED]
            for thread in threads:
                thread.start()
            time.sleep(2 * DEADLINE)
            assert client.get("/ready").status_code == 503
            assert time.monotonic() - paused < 2 * DEADLINE + 1.0
        for thread in threads:
            thread.join()
        assert max(told.seconds) < DEADLINE + 1.0
        assert {200, 503} >= set(told.statuses)
        assert 503 in told.statuses
        wait(lambda: client.get("/ready").status_code == 200)
        again = client.post("/v1/ads/decide", json={"context": USER, "event_id": "during-0"})
        assert again.status_code == 200
        assert client.get("/experiments/ads").status_code == 200
        decided = {row["event_id"] for row in read_log(client)}
    assert told.acknowledged <= decided
    with reading(address) as query:
        assert verify_store(query).faults == []


ASKED = [("POST", "/v1/ads/decide")] * 4 + [("GET", "/ready"), ("GET", "/experiments/ads"), ("GET", "/metrics")]


class Told:
    """What callers were answered, and how long they waited."""

    def __init__(self):
        self.seconds, self.statuses, self.acknowledged = [], [], set()
        self._n = iter(range(10**9))

    def ask(self, base_url, method, path):
        """Three times, one after the other."""
        with httpx.Client(base_url=base_url, timeout=30) as client:
            for _ in range(3):
                event_id = f"during-{next(self._n)}"
                body = {"context": USER, "event_id": event_id} if method == "POST" else None
                started = time.monotonic()
                answer = client.request(method, path, json=body)
                self.seconds.append(time.monotonic() - started)
                self.statuses.append(answer.status_code)
                if method == "POST" and answer.status_code == 200:
                    self.acknowledged.add(event_id)


def read_log(client):
    return [json.loads(line) for line in client.get("/v1/ads/log").text.splitlines()]


def test_an_engine_on_a_silent_postgresql_closes_in_time(postgres):
    engine = Engine.open(make_config(postgres.new_store()), deadline=1.0)
    engine.decide("ads")
    with postgres.paused():
        with pytest.raises(StoreUnavailable):
            engine.decide("ads")
        started = time.monotonic()
        engine.close()
        assert (
            time.monotonic() - started < 8.0
        )  # the turn at hand, a look, a snapshot and the lease: each its deadline


def test_a_folder_that_is_paused_is_replaced_in_under_five_seconds_and_nothing_is_doubled(postgres):
    """The campaign pauses it for 30 s."""
    found = run_paused_folder(postgres.new_store(), seconds=7.0)
    assert found.takeover < 5.0
    assert found.faults == []
    assert found.learnt == found.decisions


def test_a_replica_that_is_paused_within_its_turn_stops_the_others_for_less_than_their_deadline(postgres):
    address = postgres.new_store()
    with Engine.open(make_config(address)) as engine, Replica(address) as other:
        other.pause_in_turn()
        started = time.monotonic()
        decision = engine.decide("ads", event_id="u1")
        assert time.monotonic() - started < 5.0
        other.resume()
        assert other.decide("u1") == decision.action
