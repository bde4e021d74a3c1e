"""Connections to PostgreSQL: few, and no call on one of them without a deadline.

PostgreSQL ends a statement that takes too long, a wait for a lock, a transaction that its client forgot. A server
that is stopped or cut off does none of that: TCP acknowledges what it is sent, and it is silent. So a thread watches,
and shuts the socket of a connection whose call is past its deadline; the call, which waits for that socket, raises.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from headstart.addresses import mask_secrets
from headstart.extras import brought_by
from headstart.serve.errors import StoreCorrupt, StoreUnavailable
from headstart.serve.store.events import Row

if TYPE_CHECKING:
    from psycopg import Connection

N_READERS = 4  # connections for reading: more would only share the same disk
_CONNECT_SECONDS = 2  # for each address of the server: the least that psycopg knows
_LEFT_TO_CONNECT = 1.0  # seconds of a deadline without which connecting is not begun
_REST_SECONDS = 1.0  # after a server has been silent, during which nobody else waits for it
# Shares of the deadline after which the server itself ends things, one before the other and all before the watchdog:
_IDLE_SHARE = 0.6  # a turn whose owner is paused, so that another process, which waits for it, gets it in time
_LOCK_SHARE = 0.8
_STATEMENT_SHARE = 0.9


class Line:
    """A connection, and the means to cut it off from another thread."""

    def __init__(self, connection: Connection[Row], watchdog: Watchdog) -> None:
        self.connection = connection
        self.until: float | None = None  # when the present call has taken too long, by time.monotonic
        self.is_cut = False
        self.was_lost = False  # whether it had ended by itself, as when the server was started anew
        self._watchdog = watchdog
        # A number of its own for the same socket: the connection's may be another socket's by the time it is used.
        self._socket = socket.socket(fileno=os.dup(connection.fileno()))
        watchdog.watch(self)

    def cut(self) -> None:
        """Have the present call raise."""
        self.is_cut = True
        with suppress(OSError):  # it is shut already
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go of it; the server rolls back what was not committed."""
        self._watchdog.leave(self)
        self.was_lost = self.connection.broken and not self.is_cut
        self._socket.close()
        self.connection.close()


class Watchdog:
    """A thread that cuts off every line whose call has taken too long."""

    def __init__(self, period: float) -> None:
        self._lines: set[Line] = set()
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._period = period
        threading.Thread(target=self._run, name="headstart-watchdog", daemon=True).start()

    def watch(self, line: Line) -> None:
        with self._lock:
            self._lines.add(line)

    def leave(self, line: Line) -> None:
        with self._lock:
            self._lines.discard(line)

    def stop(self) -> None:
        self._is_over.set()

    def _run(self) -> None:
        while not self._is_over.wait(self._period):
            now = time.monotonic()
            with self._lock:  # so that none is closed meanwhile
                for line in self._lines:
                    until = line.until
                    if until is not None and now > until and not line.is_cut:
                        line.cut()


class Connections:
    """Opens connections, and lends out a fixed number of them for reading.

    `connection_class` is the seam through which tests make statements fail. `settings` are statements that every
    connection begins with.
    """

    def __init__(
        self,
        address: str,
        deadline: float,
        connection_class: type[Connection[Row]] | None = None,
        settings: tuple[str, ...] = (),
    ) -> None:
        with brought_by("postgres"):
            import psycopg
        self._psycopg = psycopg
        self._connection_class = connection_class or psycopg.Connection
        self.address, self.deadline = address, deadline
        self._settings = "; ".join((*_settings(deadline), *settings))
        self._free = threading.Semaphore(N_READERS)
        self._idle: list[Line] = []
        self._is_closed = False
        self._silent_at = -1e9  # when the server was last given up
        self._answered_at = -1e9  # when it last answered anything
        self._watchdog = Watchdog(min(0.2, deadline / 10))

    def open(self, until: float) -> Line:
        """A new connection, ready before `until`; or StoreUnavailable."""
        if until - time.monotonic() < min(_LEFT_TO_CONNECT, self.deadline / 2):
            raise StoreUnavailable(f"PostgreSQL: no connection within {self.deadline:g} s")
        began = time.monotonic()
        try:
            connection = self._connection_class.connect(
                self.address,
                autocommit=True,
                connect_timeout=_CONNECT_SECONDS,
                fallback_application_name="headstart",
                tcp_user_timeout=round(self.deadline * 1000),
            )
        except self._psycopg.errors.ConnectionTimeout:
            self._give_up(began)
            raise
        line = Line(connection, self._watchdog)
        try:
            with self.within(line, until):
                connection.execute(self._settings)
        except BaseException:
            line.close()
            raise
        return line

    @contextmanager
    def within(self, line: Line, until: float) -> Iterator[None]:
        """Calls on a line that are cut off at `until`. A line that failed is not used again: close it."""
        line.until, began = until, time.monotonic()
        try:
            yield
        except self._psycopg.Error as error:
            if line.is_cut:
                if until - began > self.deadline * _STATEMENT_SHARE:  # a server that is alive had ended it by then
                    self._give_up(began)
                raise StoreUnavailable(f"PostgreSQL has not answered within {self.deadline:g} s") from error
            raise
        else:
            self._answered_at = time.monotonic()
        finally:
            line.until = None

    def _give_up(self, began: float) -> None:
        """Nobody waits for it now; unless it has answered another since this call began: then it is back."""
        if began > self._answered_at:
            self._silent_at = time.monotonic()

    def query(self, statement: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        """Rows, read on one of the connections for reading."""
        now = time.monotonic()
        if self._silent_at > self._answered_at and now - self._silent_at < _REST_SECONDS:
            raise StoreUnavailable("PostgreSQL does not answer at present; it is asked again in a second")
        if not self._free.acquire(timeout=self.deadline):
            raise StoreUnavailable(f"PostgreSQL: the {N_READERS} connections for reading are busy")
        try:
            with self.translated():
                return self._read(statement, parameters, now + self.deadline)
        finally:
            self._free.release()

    def _read(self, statement: str, parameters: tuple[object, ...], until: float) -> list[Row]:
        try:
            line = self._idle.pop()
        except IndexError:
            return self._fetch(self.open(until), statement, parameters, until)
        try:
            return self._fetch(line, statement, parameters, until)
        except self._psycopg.OperationalError:
            if not line.was_lost:
                raise
        return self._fetch(self.open(until), statement, parameters, until)

    def _fetch(self, line: Line, statement: str, parameters: tuple[object, ...], until: float) -> list[Row]:
        try:
            with self.within(line, until):
                rows = line.connection.execute(in_dialect(statement), parameters).fetchall()
        except BaseException:
            line.close()
            raise
        self._idle.append(line)
        if self._is_closed:
            self._close_idle()
        return rows

    @contextmanager
    def translated(self) -> Iterator[None]:
        """PostgreSQL's errors as the service's."""
        try:
            yield
        except self._psycopg.errors.UniqueViolation as error:
            raise StoreCorrupt(f"PostgreSQL: {mask_secrets(str(error), self.address)}") from error
        except self._psycopg.Error as error:
            raise StoreUnavailable(f"PostgreSQL: {mask_secrets(str(error), self.address)}") from error

    def close(self) -> None:
        """Close what was lent for reading, now or when it comes back."""
        self._is_closed = True
        self._close_idle()
        self._watchdog.stop()

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()


def _settings(deadline: float) -> tuple[str, ...]:
    milliseconds = round(deadline * 1000)
    return (
        "SET synchronous_commit = on",
        f"SET statement_timeout = {round(milliseconds * _STATEMENT_SHARE)}",
        f"SET lock_timeout = {round(milliseconds * _LOCK_SHARE)}",
        f"SET idle_in_transaction_session_timeout = {round(milliseconds * _IDLE_SHARE)}",
    )


@lru_cache
def in_dialect(statement: str) -> str:
    """A question of `questions` as psycopg wants it."""
    return statement.replace("?", "%s")
