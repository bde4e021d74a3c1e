"""A store that lets its reader wait, so that a test can look at an experiment while it is opened."""

from __future__ import annotations

import threading

from headstart.serve.store.events import Row
from headstart.serve.store.questions import READ_EVENTS
from headstart.serve.store.sqlite import SQLiteStore


class PausedStore(SQLiteStore):
    """The events of `ads` beyond the first page come when they are let go."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.is_free, self.is_asked = threading.Event(), threading.Event()

    def query(self, statement: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        """Rows, when they are let go."""
        if statement == READ_EVENTS and parameters[0] == "ads" and parameters[1] != 0:
            self.is_asked.set()
            self.is_free.wait(30)
        return super().query(statement, parameters)
