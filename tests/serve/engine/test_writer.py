"""The writer: nobody waits beyond a deadline, what nobody waits for is not done, and the queue is bounded."""

import asyncio
import threading
import time
from contextlib import contextmanager, suppress

import pytest

from headstart.serve import StoreUnavailable
from headstart.serve.engine.asks import OutcomeAsk
from headstart.serve.engine.tickets import Ticket
from headstart.serve.engine.writer import MAX_WAITING, Writer


class Store:
    """Carries out groups, when it does not hang: either before it has its turn, or in it."""

    def __init__(self, hangs_before_its_turn=False):
        self.goes = threading.Event()
        self.began = threading.Event()
        self.hangs_before_its_turn = hangs_before_its_turn
        self.done, self.groups = [], []

    def run_group(self, asks, take_more):
        if self.hangs_before_its_turn:
            self._hang()
        group = [ask.of for ask in (*asks, *take_more())]
        if not self.hangs_before_its_turn:
            self._hang()
        self.done.extend(group)
        self.groups.append(group)
        return group

    def _hang(self):
        self.began.set()
        assert self.goes.wait(30)


@contextmanager
def hanging(**when):
    """A writer in the middle of a group."""
    store = Store(**when)
    writer = Writer(store.run_group, lambda: None)
    writer.submit(Ticket(make_asks("first"), 60.0))
    assert store.began.wait(10)
    try:
        yield store, writer
    finally:
        store.goes.set()
        writer.close()


def make_asks(*ids):
    return [OutcomeAsk("ads", event_id, 1.0) for event_id in ids]


def finish(store, writer):
    store.goes.set()
    while writer.n_waiting:
        time.sleep(0.01)
    writer.submit(Ticket(make_asks("last"), 60.0)).wait()


def test_the_store_is_looked_after_before_anybody_asks(monkeypatch):
    """That opens it: a start does not wait for the first tick."""
    monkeypatch.setattr("headstart.serve.engine.writer._TICK_SECONDS", 60.0)
    looked = threading.Event()
    writer = Writer(Store().run_group, looked.set)
    assert looked.wait(20)
    writer.close()


def test_a_thread_is_told_at_its_deadline_and_its_ask_is_not_carried_out():
    with hanging() as (store, writer):
        started = time.monotonic()
        with pytest.raises(StoreUnavailable, match=r"no answer within 0\.2 seconds: .* same event_id is safe"):
            writer.submit(Ticket(make_asks("late"), 0.2)).wait()
        assert 0.19 < time.monotonic() - started < 1.0
        finish(store, writer)
    assert store.done == ["first", "last"]


def test_a_task_is_told_at_its_deadline_and_its_ask_is_not_carried_out():
    async def ask(writer):
        ticket = writer.submit(Ticket(make_asks("late"), 0.2, asyncio.get_running_loop()))
        with pytest.raises(StoreUnavailable, match=r"no answer within 0\.2 seconds"):
            await asyncio.wait_for(ticket.future, 5.0)

    with hanging() as (store, writer):
        asyncio.run(ask(writer))
        finish(store, writer)
    assert store.done == ["first", "last"]


def test_what_a_cancelled_task_asked_for_is_not_carried_out():
    async def ask(writer):
        ticket = writer.submit(Ticket(make_asks("cancelled"), 60.0, asyncio.get_running_loop()))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ticket.future, 0.1)

    with hanging() as (store, writer):
        asyncio.run(ask(writer))
        finish(store, writer)
    assert store.done == ["first", "last"]


def test_the_queue_is_bounded_by_asks_and_a_batch_counts_as_many_as_it_has():
    with hanging() as (store, writer):
        batch = make_asks(*(str(i) for i in range(1000)))
        for _ in range(MAX_WAITING // 1000):
            writer.submit(Ticket(batch, 0.5))
        assert writer.n_waiting == MAX_WAITING
        with pytest.raises(StoreUnavailable, match=f"{MAX_WAITING} requests are waiting"):
            writer.submit(Ticket(make_asks("one more"), 0.5))
        time.sleep(0.5)
        finish(store, writer)
    assert store.done == ["first", "last"]


def test_a_batch_larger_than_the_queue_is_taken_when_nobody_waits():
    store = Store()
    store.goes.set()
    writer = Writer(store.run_group, lambda: None)
    batch = make_asks(*(str(i) for i in range(MAX_WAITING + 1)))
    assert len(writer.submit(Ticket(batch, 60.0)).wait()) == MAX_WAITING + 1
    writer.close()


def test_a_hanging_store_does_not_gather_what_nobody_waits_for():
    """Three times ten thousand callers, one lot after the other: the queue holds no more than its bound."""

    async def ask(writer, n):
        loop = asyncio.get_running_loop()
        futures = []
        for i in range(n):
            with suppress(StoreUnavailable):  # the queue is full
                futures.append(writer.submit(Ticket(make_asks(f"u{i}"), 0.2, loop)).future)
        told = await asyncio.gather(*futures, return_exceptions=True)
        assert all(isinstance(each, StoreUnavailable) for each in told)

    with hanging() as (store, writer):
        for _ in range(3):
            asyncio.run(ask(writer, 10_000))
            assert writer.n_waiting <= MAX_WAITING
        finish(store, writer)
    assert store.done == ["first", "last"]


def test_what_is_asked_while_a_group_waits_for_its_turn_is_in_it():
    with hanging(hangs_before_its_turn=True) as (store, writer):
        one, more = Ticket(make_asks("a"), 60.0), Ticket(make_asks("b", "c"), 60.0)
        late = Ticket(make_asks("late"), 0.0)
        for ticket in (one, late, more):
            writer.submit(ticket)
        store.goes.set()
        assert (one.wait(), more.wait()) == (["a"], ["b", "c"])
    assert store.groups == [["first", "a", "b", "c"]]


def test_a_writer_that_is_closed_while_a_group_waits_finishes_all_and_stops():
    with hanging(hangs_before_its_turn=True) as (store, writer):
        ticket = writer.submit(Ticket(make_asks("a"), 60.0))
        closing = threading.Thread(target=writer.close)
        closing.start()
        store.goes.set()
        closing.join(10)
        assert not closing.is_alive()
        assert ticket.wait() == ["a"]


def test_closing_ends_within_the_callers_deadlines():
    store = Store()
    writer = Writer(store.run_group, lambda: None)
    store.goes.set()
    writer.submit(Ticket(make_asks("a"), 1.0)).wait()
    writer.close()
    with pytest.raises(StoreUnavailable, match="closing"):
        writer.submit(Ticket(make_asks("b"), 1.0))
