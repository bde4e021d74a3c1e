"""Connections to PostgreSQL: a deadline for every call, and a fixed number for reading."""

import os
import signal
import threading
import time

import httpx
import psycopg
import pytest

from headstart.serve import StoreUnavailable
from headstart.serve.store.connections import N_READERS, Connections
from tests.serve.in_process import served
from tests.serve.waiting import wait

DEADLINE = 2.0


@pytest.fixture
def connections(postgres):
    opened = Connections(postgres.address, DEADLINE)
    yield opened
    opened.close()


def time_failure(call, *given):
    started = time.monotonic()
    with pytest.raises(StoreUnavailable) as told:
        call(*given)
    return time.monotonic() - started, str(told.value)


def test_a_server_that_is_silent_is_given_up_at_the_deadline(postgres, connections):
    assert connections.query("SELECT 1") == [(1,)]
    with postgres.paused():
        seconds, told = time_failure(connections.query, "SELECT 1")
        assert DEADLINE - 0.1 < seconds < DEADLINE + 1.0
        assert told == "PostgreSQL has not answered within 2 s"
        seconds, told = time_failure(connections.query, "SELECT 1")  # the next one does not wait for it again
        assert seconds < 0.5
        assert "asked again in a second" in told
    time.sleep(1.1)
    assert connections.query("SELECT 1") == [(1,)]


def test_a_server_that_takes_no_connections_is_given_up_at_the_deadline(postgres):
    unconnected = Connections(postgres.address, DEADLINE)
    with postgres.paused():
        seconds, told = time_failure(unconnected.query, "SELECT 1")
        assert seconds < DEADLINE + 1.0
        assert "timeout" in told
    unconnected.close()


def test_a_statement_that_takes_too_long_is_ended_by_the_server_which_is_not_silent_then(connections):
    seconds, told = time_failure(connections.query, "SELECT pg_sleep(10)")
    assert seconds < DEADLINE + 1.0
    assert "statement timeout" in told
    assert connections.query("SELECT 1") == [(1,)]


def test_one_connection_that_hangs_is_no_silent_server(connections):
    """Who has waited for it fails at the deadline; others, whom the server has answered since, are not refused."""
    [(backend,)] = connections.query("SELECT pg_backend_pid()")
    os.kill(backend, signal.SIGSTOP)
    try:
        told = []
        hung = threading.Thread(target=lambda: told.append(time_failure(connections.query, "SELECT 1")[1]))
        hung.start()
        time.sleep(0.3)
        assert connections.query("SELECT 1") == [(1,)]
        hung.join()
        assert told == ["PostgreSQL has not answered within 2 s"]
        assert connections.query("SELECT 1") == [(1,)]
    finally:
        os.kill(backend, signal.SIGCONT)


def test_a_hundred_readers_take_no_more_connections_than_the_pool_has(postgres):
    connections, seen = Connections(f"{postgres.address}?application_name=readers", DEADLINE), []
    threads = [threading.Thread(target=connections.query, args=("SELECT pg_sleep(0.02)",)) for _ in range(100)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        seen.append(postgres.count_connections("readers"))
    connections.close()
    assert 1 <= max(seen) <= N_READERS


def test_who_finds_all_connections_busy_is_turned_away_at_the_deadline(connections):
    busy = [threading.Thread(target=try_to_sleep, args=(connections,)) for _ in range(N_READERS)]
    for thread in busy:
        thread.start()
    time.sleep(0.3)
    seconds, _ = time_failure(connections.query, "SELECT 1")
    assert seconds < DEADLINE + 1.0
    for thread in busy:
        thread.join()


def try_to_sleep(connections):
    with pytest.raises(StoreUnavailable):
        connections.query("SELECT pg_sleep(60)")


def test_a_connection_that_died_in_its_sleep_is_replaced_unnoticed(postgres, connections):
    (pid,) = connections.query("SELECT pg_backend_pid()")[0]
    with psycopg.connect(postgres.address, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", (pid,))
    assert connections.query("SELECT pg_backend_pid() <> %s", (pid,)) == [(True,)]


def test_none_is_left_when_it_is_closed(postgres):
    opened = Connections(f"{postgres.address}?application_name=closed", DEADLINE)
    reader = threading.Thread(target=opened.query, args=("SELECT pg_sleep(0.5)",))
    reader.start()
    opened.query("SELECT 1")
    opened.close()
    reader.join()
    wait(lambda: postgres.count_connections("closed") == 0)


def test_a_hundred_callers_of_a_service_take_no_more_connections_than_it_has(postgres):
    """Readiness, which needs no key, and pages; one experiment, so one connection for writing."""
    address, seen = f"{postgres.new_store()}&application_name=service", []
    with served(address) as client:

        def look(path):
            with httpx.Client(base_url=client.base_url, timeout=60, verify=False) as own:
                own.get(path)

        threads = [threading.Thread(target=look, args=(("/ready", "/experiments/ads")[i % 2],)) for i in range(100)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            seen.append(postgres.count_connections("service"))
            time.sleep(0.02)
    assert 1 <= max(seen) <= N_READERS + 1
    wait(lambda: postgres.count_connections("service") == 0)
