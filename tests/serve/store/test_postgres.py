"""Turns on PostgreSQL: what one sees of those before it, and what is left of one that fails."""

import threading
import time

import psycopg
import pytest

from headstart.errors import OptionError
from headstart.serve import StoreCorrupt, StoreUnavailable
from headstart.serve.engine.opening import open_store
from headstart.serve.store.events import DECISION, Event
from headstart.serve.store.reader import page_after
from headstart.serve.store.store import Sought


@pytest.fixture
def address(postgres):
    return postgres.new_store()


@pytest.fixture
def stores(address):
    """Two processes' stores."""
    opened = open_store(address), open_store(address)
    yield opened
    for store in opened:
        store.close()


def make_event(sequence, event_id):
    return Event(sequence, "ads", DECISION, event_id, 1_000_000, None, {"action": 'a"\\\n é'})


def test_a_turn_sees_all_that_was_committed_while_it_was_waited_for(stores):
    """Its head, the ids that it was begun for, and the answer to a question that was asked ahead."""
    one, other = stores
    seen = {}
    page = page_after("ads", 0)

    def follow():
        with other.writing("ads", Sought(["u1"]), page) as turn:
            seen["head"], seen["found"] = turn.head, turn.found
            seen["ahead"], seen["again"] = turn.query(*page), turn.query(*page)
            turn.find(Sought(["u2", "nobody"]))
            seen["found since"] = set(turn.found)

    with one.writing("ads") as turn:
        follower = threading.Thread(target=follow)
        follower.start()
        time.sleep(0.3)  # it waits for the turn by now
        turn.insert([make_event(1, "u1"), make_event(2, "u2")])
    follower.join()
    assert seen["head"].sequence == 2
    assert seen["found"]["u1"][DECISION].body == {"action": 'a"\\\n é'}
    assert [row[0] for row in seen["ahead"]] == [1, 2]
    assert seen["again"] == seen["ahead"]
    assert seen["found since"] == {"u1", "u2"}


def test_a_turn_that_fails_leaves_nothing_and_the_next_one_goes_on(stores):
    one, _ = stores
    with one.writing("ads") as turn:
        turn.insert([make_event(1, "u1")])
    with pytest.raises(StoreCorrupt, match="one_per_id"), one.writing("ads") as turn:
        turn.insert([make_event(2, "u2"), make_event(3, "u1")])
    with pytest.raises(OptionError), one.writing("ads") as turn:
        _insert_and_fail(turn)
    with one.writing("ads", Sought(["u2"])) as turn:
        assert turn.head.sequence == 1
        assert turn.found == {}


def test_turns_of_different_experiments_do_not_wait_for_each_other(stores):
    one, other = stores
    with one.writing("ads"):
        started = time.monotonic()
        with other.writing("offers"):
            assert time.monotonic() - started < 1.0


def test_a_turn_whose_owner_does_nothing_is_ended_by_the_server(address):
    """After 0.6 of the deadline: whoever waits for it gets it within his own."""
    one = open_store(address, 1.0)
    with pytest.raises(StoreUnavailable), one.writing("ads"):
        _lock_head_by_hand(address, after=0.9)
    one.close()


def _insert_and_fail(turn):
    turn.insert([make_event(2, "u2")])
    raise OptionError("what the engine found out in its turn")


def _lock_head_by_hand(address, after):
    time.sleep(after)
    with psycopg.connect(address) as connection:
        connection.execute("SET lock_timeout = '10ms'")
        connection.execute("SELECT * FROM heads WHERE experiment = 'ads' FOR UPDATE")
