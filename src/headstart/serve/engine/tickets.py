"""Tickets: some asks of one caller on their way to the writer, and the answers on their way back."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence

from headstart.errors import HeadstartError
from headstart.serve.engine.answers import Answer
from headstart.serve.engine.asks import Ask
from headstart.serve.errors import StoreUnavailable, TooSlow


class Ticket:
    """Some asks of one caller, who waits at most `seconds` for the answers: in a thread, or on an event loop."""

    __slots__ = ("_seconds", "_timer", "_until", "answers", "asks", "error", "future", "is_done", "loop")

    def __init__(self, asks: Sequence[Ask], seconds: float, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.asks = asks
        self.answers: list[Answer] = []
        self.error: Exception | None = None
        self.loop = loop
        self.future: asyncio.Future[list[Answer]] | None = None if loop is None else loop.create_future()
        self.is_done = None if loop is not None else threading.Event()
        self._seconds, self._until = seconds, time.monotonic() + seconds
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """From now on somebody waits; called where the caller is."""
        if self.loop is not None:
            self._timer = self.loop.call_later(self._seconds, self._give_up)

    @property
    def is_over(self) -> bool:
        """Whether its caller has gone, or been told that there is no answer."""
        return (self.future is not None and self.future.done()) or time.monotonic() >= self._until

    def wait(self) -> list[Answer]:
        """The answers, when they are durable."""
        assert self.is_done is not None
        if not self.is_done.wait(max(0.0, self._until - time.monotonic())):
            raise TooSlow.after(self._seconds)
        if self.error is not None:
            raise self.error
        return self.answers

    def expire(self) -> None:
        """Nobody waits for it any more."""
        self.error = TooSlow.after(self._seconds)

    def fail(self, error: Exception) -> None:
        """An error object of its own: a traceback grows with each raise."""
        if isinstance(error, HeadstartError):
            self.error = type(error)(*error.args)
        else:
            self.error = StoreUnavailable(f"the store failed: {type(error).__name__}: {error}")

    def _give_up(self) -> None:
        assert self.future is not None
        if not self.future.done():
            self.future.set_exception(TooSlow.after(self._seconds))

    def _settle(self) -> None:
        assert self.future is not None
        if self._timer is not None:
            self._timer.cancel()
        if not self.future.done():  # a caller may have gone away
            if self.error is not None:
                self.future.set_exception(self.error)
            else:
                self.future.set_result(self.answers)


def settle(tickets: Sequence[Ticket]) -> None:
    """Tell the callers; each event loop is woken once, whatever the number of its tickets."""
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


def _settle_all(tickets: Sequence[Ticket]) -> None:
    for ticket in tickets:
        ticket._settle()
