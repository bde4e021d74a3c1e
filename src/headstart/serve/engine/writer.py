"""Group commit: one thread writes; whoever asks while it commits is in the next group.

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
RunGroup = Callable[[list[Ask]], list[Answer]]


class Writer:
    """The thread that writes."""

    def __init__(self, run_group: RunGroup, run_idle: Callable[[], None]) -> None:
        self._run_group, self._run_idle = run_group, run_idle
        self._queue: queue.SimpleQueue[Ticket | None] = queue.SimpleQueue()
        self.n_waiting = 0  # asks in the queue
        self._is_closed = False
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
        is_open = True
        while is_open:
            try:
                self._run_idle()  # first of all: it opens the experiment
            except Exception:  # what could not be done now is done at the next tick
                logger.exception("looking after the store failed")
            tickets, is_open = self._collect()
            if tickets:
                self._serve(tickets)

    def _collect(self) -> tuple[list[Ticket], bool]:
        try:
            first = self._queue.get(timeout=_TICK_SECONDS)
        except queue.Empty:
            return [], True
        taken: list[Ticket] = []
        n = 0
        while first is not None:
            taken.append(first)
            n += len(first.asks)
            if n >= MAX_GROUP:
                break
            try:
                first = self._queue.get_nowait()
            except queue.Empty:
                break
        with self._lock:
            self.n_waiting -= n
        return self._drop_late(taken), first is not None

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
        try:
            answers = self._run_group(asks)
        except Exception as error:
            for ticket in tickets:
                ticket.fail(error)
        else:
            place = 0
            for ticket in tickets:
                ticket.answers = answers[place : place + len(ticket.asks)]
                place += len(ticket.asks)
        settle(tickets)
