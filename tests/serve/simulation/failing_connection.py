"""SQLite connections that fail when the seed says so: before or after a statement is done, once or for long."""

from __future__ import annotations

import random
import sqlite3
from dataclasses import dataclass
from typing import Any

_ERRORS = ("disk I/O error", "database or disk is full", "interrupted", "database is locked")
_WRITES = ("BEGIN", "INSERT", "UPDATE", "DELETE", "COMMIT")


@dataclass
class Fault:
    """From the `after`-th statement on, `length` statements fail."""

    after: int
    length: int
    is_carried_out: bool  # the statement was, and its answer was lost
    kind: str  # of statements: "write" alone, as on a full disk, "read" alone, or "any"
    error: str


class Faults:
    """What is to fail next, of all connections of one replica; and whether it did."""

    def __init__(self) -> None:
        self._armed: Fault | None = None
        self.n_fired = 0

    def arm(self, rng: random.Random) -> Fault:
        """Draw a fault, which takes the place of one that was waiting."""
        self._armed = Fault(
            after=rng.choice([0, 0, 1, 2, 3, rng.randint(0, 12)]),
            length=rng.choice([1, 1, 1, 2, 6]),
            is_carried_out=rng.random() < 0.4,
            kind=rng.choice(["any", "write", "read"]),
            error=rng.choice(_ERRORS),
        )
        return self._armed

    def heal(self) -> None:
        """Nothing fails any more."""
        self._armed = None

    def meets(self, statement: str) -> Fault | None:
        """The fault that this statement runs into, if any."""
        fault = self._armed
        kind = "write" if statement.lstrip().startswith(_WRITES) else "read"
        if fault is None or fault.kind not in ("any", kind):
            return None
        if fault.after > 0:
            fault.after -= 1
            return None
        fault.length -= 1
        if fault.length <= 0:
            self._armed = None
        self.n_fired += 1
        return fault

    def connect(self, path: str) -> sqlite3.Connection:
        """The seam of `SQLiteStore`. Nobody waits for a lock: there is one thread."""
        connection = sqlite3.connect(
            path, timeout=0.0, isolation_level=None, check_same_thread=False, factory=FailingConnection
        )
        connection.faults = self
        return connection


class FailingConnection(sqlite3.Connection):
    """Asks before each statement."""

    faults: Faults | None = None

    def execute(self, statement: str, *parameters: Any) -> sqlite3.Cursor:
        """Carry the statement out, or fail, or both."""
        fault = None if self.faults is None else self.faults.meets(statement)
        if fault is None:
            return super().execute(statement, *parameters)
        if fault.is_carried_out:
            super().execute(statement, *parameters).fetchall()
        raise sqlite3.OperationalError(f"injected: {fault.error}")
