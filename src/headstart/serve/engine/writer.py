"""Group commit: one thread writes; whoever asks while it commits is in the next group, and so is whoever asks while
that waits for its turn.

A group is one transaction and one fsync. Its callers are answered when it is durable, or all get the same error, and
nothing of it is applied. Nobody waits for longer than a deadline, and what nobody waits for any more is not carried
out: while a store hangs, the queue holds what came last and no more.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

from headstart.serve.engine.answers import Answer
from headstart.serve.engine.asks import Ask
from headstart.serve.engine.tickets import Ticket, settle
from headstart.serve.errors import StoreUnavailable

MAX_GROUP = 1024  # asks in one transaction
# Asks in the queue; beyond it callers are turned away at once. A store commits some thousand asks a second, so who
# comes later would hardly be answered within a deadline of seconds; and these are some twenty megabytes.
MAX_WAITING = 20_000
_TICK_SECONDS = 0.2  # how long the thread waits for asks before it looks after other things

logger = logging.getLogger("headstart.serve")
RunGroup = Callable[
    [list[Ask], Callable[[], list[Ask]]], list[Answer]
]  # the asks, and what gives those that came since


class Writer:
    """The thread that writes."""

    def __init__(self, run_group: RunGroup, run_idle: Callable[[], None]) -> None:
        self._run_group, self._run_idle = run_group, run_idle
        self._queue: queue.SimpleQueue[Ticket | None] = queue.SimpleQueue()
        self.n_waiting = 0  # asks in the queue
        self._is_closed = self._is_ending = False  # nothing more is taken in; the queue is empty
        self._lock = threading.Lock()  # between a submit, the close, and what is taken from the queue
        self._thread = threading.Thread(target=self._run, name="headstart-writer", daemon=True)
        self._thread.start()

    def submit(self, ticket: Ticket) -> Ticket:
        """Queue a ticket for the next group."""
        with self._lock:
            if self._is_closed:
                raise StoreUnavailable("the service is closing")
            if self.n_waiting and self.n_waiting + len(ticket.asks) > MAX_WAITING:
                raise StoreUnavailable(f"{self.n_waiting} requests are waiting for the store already")
            self.n_waiting += len(ticket.asks)
            self._queue.put(ticket)
        ticket.start()
        return ticket

    def close(self) -> None:
        """Finish what was asked, then stop."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        self._look_after()  # which opens the store: not after a tick, but now
        while not self._is_ending:
            tickets = self._take(MAX_GROUP, _TICK_SECONDS)
            if tickets:
                self._serve(tickets)
            self._look_after()

    def _look_after(self) -> None:
        try:
            self._run_idle()
        except Exception:  # what could not be done now is done at the next tick
            logger.exception("looking after the store failed")

    def _take(self, room: int, seconds: float = 0.0) -> list[Ticket]:
        """What is in the queue, up to `room` asks or a little more; it may wait for the first."""
        taken: list[Ticket] = []
        n = 0
        while n < room and not self._is_ending:
            try:
                ticket = self._queue.get_nowait() if taken or not seconds else self._queue.get(timeout=seconds)
            except queue.Empty:
                break
            if ticket is None:
                self._is_ending = True
            else:
                taken.append(ticket)
                n += len(ticket.asks)
        with self._lock:
            self.n_waiting -= n
        return self._drop_late(taken)

    def _drop_late(self, taken: list[Ticket]) -> list[Ticket]:
        late = [ticket for ticket in taken if ticket.is_over]
        if not late:
            return taken
        for ticket in late:
            ticket.expire()
        settle(late)
        return [ticket for ticket in taken if ticket.error is None]

    def _serve(self, tickets: list[Ticket]) -> None:
        asks = [ask for ticket in tickets for ask in ticket.asks]

        def take_more() -> list[Ask]:
            more = self._take(MAX_GROUP - len(asks))
            tickets.extend(more)
            return [ask for ticket in more for ask in ticket.asks]

        try:
            answers = self._run_group(asks, take_more)
        except Exception as error:
            for ticket in tickets:
                ticket.fail(error)
        else:
            place = 0
            for ticket in tickets:
                ticket.answers = answers[place : place + len(ticket.asks)]
                place += len(ticket.asks)
        settle(tickets)
