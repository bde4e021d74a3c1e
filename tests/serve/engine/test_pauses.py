"""Processes that are stopped in the middle (SIGSTOP): a PostgreSQL that is silent, a replica that is paused."""

import time

import pytest

from headstart.serve import Engine, StoreUnavailable
from tests.serve.experiments import make_config
from tests.serve.pauses import Replica, run_paused_folder
from tests.serve.silence import run_silent_server

DEADLINE = 2.0


def test_while_postgresql_is_silent_every_request_ends_by_its_deadline_and_then_all_goes_on(postgres):
    """The campaign pauses it for 25 s with a deadline of 5."""
    found = run_silent_server(postgres, seconds=2 * DEADLINE, deadline=DEADLINE)
    assert found.slowest < DEADLINE + 1.0
    assert found.statuses <= {200, 503}
    assert 503 in found.statuses
    assert found.lost == set()
    assert found.faults == []


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
