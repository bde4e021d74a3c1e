"""Leases: one holder at a time, by PostgreSQL's clock."""

import time

import pytest

from headstart.serve.engine.opening import open_store
from headstart.serve.errors import StoreUnavailable
from headstart.serve.store.leases import LEASE_SECONDS, RENEW_SECONDS, Leases


@pytest.fixture
def store(postgres):
    opened = open_store(postgres.new_store())
    yield opened
    opened.close()


def test_one_process_holds_a_lease_and_keeps_it_while_it_renews_it(store):
    one, other = Leases(store.query), Leases(store.query)
    until = time.monotonic() + LEASE_SECONDS + RENEW_SECONDS
    while time.monotonic() < until:
        assert one.holds("ads")
        assert not other.holds("ads")
        time.sleep(0.1)


def test_each_experiment_has_a_lease_of_its_own(store):
    one, other = Leases(store.query), Leases(store.query)
    assert one.holds("ads")
    assert other.holds("offers")
    assert not one.holds("offers")


def test_a_holder_that_does_not_renew_its_lease_loses_it(store):
    one, other = Leases(store.query), Leases(store.query)
    assert one.holds("ads")
    started = time.monotonic()
    while not other.holds("ads"):
        time.sleep(0.05)
    assert LEASE_SECONDS - RENEW_SECONDS < time.monotonic() - started < LEASE_SECONDS + 2 * RENEW_SECONDS < 5.1
    assert not one.holds("ads")


def test_a_lease_that_is_given_up_is_free_at_once(store):
    one, other = Leases(store.query), Leases(store.query)
    assert one.holds("ads")
    one.give_up()
    assert other.holds("ads")


def test_a_lease_is_asked_for_once_a_second(store):
    n = 0

    def count(statement, parameters=()):
        nonlocal n
        n += 1
        return store.query(statement, parameters)

    lease = Leases(count)
    for _ in range(100):
        assert lease.holds("ads")
    assert n == 1


def test_a_server_that_does_not_answer_is_not_taken_for_a_no():
    """It was, and the service was said to be ready for a deadline more."""
    answers = [[("ads",)], StoreUnavailable("silent")]

    def query(statement, parameters=()):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    lease = Leases(query)
    assert lease.holds("ads")
    lease._asked.clear()  # a second later
    with pytest.raises(StoreUnavailable, match="silent"):
        lease.holds("ads")
    assert not lease.holds("ads")
