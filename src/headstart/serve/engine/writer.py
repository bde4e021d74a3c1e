"""Group commit: one thread writes; whoever asks while it commits is in the next group.

A group is one transaction and one fsync. Its callers are answered when it is durable, or all get the same error, and
nothing of it is applied.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Sequence

from headstart.errors import HeadstartError
from headstart.serve.engine.answers import Answer
from headstart.serve.engine.asks import Ask
from headstart.serve.errors import StoreUnavailable

MAX_GROUP = 1024  # asks in one transaction
MAX_WAITING = 20_000  # tickets in the queue; beyond it, callers are turned away at once
_TICK_SECONDS = 0.2  # how long the thread waits for asks before it looks after other things

logger = logging.getLogger("headstart.serve")
RunGroup = Callable[[list[Ask]], list[Answer]]


class Ticket:
    """Some asks of one caller, and where its answers go."""

    __slots__ = ("answers", "asks", "error", "future", "is_done", "loop")

    def __init__(self, asks: Sequence[Ask], loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.asks = asks
        self.answers: list[Answer] = []
        self.error: Exception | None = None
        self.loop = loop
        self.future: asyncio.Future[list[Answer]] | None = None if loop is None else loop.create_future()
        self.is_done = None if loop is not None else threading.Event()

    def wait(self) -> list[Answer]:
        """The answers, when they are durable."""
        assert self.is_done is not None
        self.is_done.wait()
        if self.error is not None:
            raise self.error
        return self.answers

    def _settle(self) -> None:
        if self.future is not None and not self.future.done():  # a caller may have gone away
            if self.error is not None:
                self.future.set_exception(self.error)
            else:
                self.future.set_result(self.answers)


class Writer:
    """The thread that writes."""

    def __init__(self, run_group: RunGroup, run_idle: Callable[[], None]) -> None:
        self._run_group, self._run_idle = run_group, run_idle
        self._queue: queue.SimpleQueue[Ticket | None] = queue.SimpleQueue()
        self._is_closed = False
        self._lock = threading.Lock()  # between a submit and the close
        self._thread = threading.Thread(target=self._run, name="headstart-writer", daemon=True)
        self._thread.start()

    @property
    def n_waiting(self) -> int:
        return self._queue.qsize()

    def submit(self, ticket: Ticket) -> Ticket:
        """Queue a ticket for the next group."""
        if self._queue.qsize() >= MAX_WAITING:
            raise StoreUnavailable(f"{MAX_WAITING} requests are waiting for the store already")
        with self._lock:
            if self._is_closed:
                raise StoreUnavailable("the service is closing")
            self._queue.put(ticket)
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
        tickets: list[Ticket] = []
        n = 0
        while first is not None:
            tickets.append(first)
            n += len(first.asks)
            if n >= MAX_GROUP:
                return tickets, True
            try:
                first = self._queue.get_nowait()
            except queue.Empty:
                return tickets, True
        return tickets, False

    def _serve(self, tickets: list[Ticket]) -> None:
        asks = [ask for ticket in tickets for ask in ticket.asks]
        try:
            answers = self._run_group(asks)
        except Exception as error:
            # One error object per caller: a traceback grows with each raise.
            for ticket in tickets:
                ticket.error = _as_error(error)
        else:
            place = 0
            for ticket in tickets:
                ticket.answers = answers[place : place + len(ticket.asks)]
                place += len(ticket.asks)
        _notify(tickets)


def _as_error(error: Exception) -> Exception:
    if isinstance(error, HeadstartError):
        return type(error)(*error.args)
    return StoreUnavailable(f"the store failed: {type(error).__name__}: {error}")


def _notify(tickets: list[Ticket]) -> None:
    """Wake each event loop once, whatever the number of its tickets."""
    loops: dict[asyncio.AbstractEventLoop, list[Ticket]] = {}
    for ticket in tickets:
        if ticket.loop is not None:
            loops.setdefault(ticket.loop, []).append(ticket)
        elif ticket.is_done is not None:
            ticket.is_done.set()
    for loop, group in loops.items():
        try:
            loop.call_soon_threadsafe(_settle_all, group)
        except RuntimeError:  # the loop was closed: nobody is waiting
            continue


def _settle_all(tickets: list[Ticket]) -> None:
    for ticket in tickets:
        ticket._settle()
