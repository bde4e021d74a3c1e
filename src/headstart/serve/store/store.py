"""What a store promises, and the questions that both kinds of store answer in the same words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, TypeAlias

from headstart.serve.store.events import Body, Event, Learnt, decision_body, read_body

PAGE = 5_000  # rows read at a time: no reader holds a transaction for long

_COLUMNS = "e.sequence, e.experiment, e.kind, e.event_id, e.time, e.about, e.body"
READ_ALL = f"""
SELECT {_COLUMNS}, d.body, d.time FROM events e LEFT JOIN events d ON d.sequence = e.about
WHERE e.sequence > ? ORDER BY e.sequence LIMIT ?"""
READ_ONE = f"""
SELECT {_COLUMNS}, d.body, d.time FROM events e LEFT JOIN events d ON d.sequence = e.about
WHERE e.experiment = ? AND e.sequence > ? ORDER BY e.sequence LIMIT ?"""
READ_STEERING = f"""
SELECT {_COLUMNS}, NULL, NULL FROM events e
WHERE e.experiment = ? AND e.event_id IS NULL AND e.kind = ? ORDER BY e.sequence DESC LIMIT 1"""
READ_KIND = f"""
SELECT {_COLUMNS}, NULL, NULL FROM events e
WHERE e.experiment = ? AND e.event_id IS NULL AND e.kind = ? ORDER BY e.sequence"""
READ_LEARNT = """
SELECT o.sequence, o.time, d.time, d.body, o.body FROM events o JOIN events d ON d.sequence = o.about
WHERE o.experiment = ? AND o.kind = 'outcome' AND o.sequence > ? AND o.sequence <= ? ORDER BY o.sequence LIMIT ?"""
READ_CLOSES = """
SELECT e.sequence, e.time, e.body FROM events e
WHERE e.experiment = ? AND e.event_id IS NULL AND e.kind = 'window_closed' AND e.sequence > ? AND e.sequence <= ?
ORDER BY e.sequence"""
READ_CLOSED = """
SELECT d.sequence, d.time, d.body, o.body FROM events d
LEFT JOIN events o
  ON o.experiment = d.experiment AND o.event_id = d.event_id AND o.kind = 'outcome' AND o.sequence < ?
WHERE d.experiment = ? AND d.kind = 'decision' AND d.sequence > ? AND d.sequence <= ? ORDER BY d.sequence LIMIT ?"""
READ_DUE = """
SELECT max(w.sequence), count(*) FROM (
  SELECT e.sequence, e.time FROM events e
  WHERE e.experiment = ? AND e.sequence > ? AND e.kind = 'decision' ORDER BY e.sequence LIMIT ?
) w WHERE w.time < ?"""
READ_JOINED = """
SELECT d.sequence, d.event_id, d.time, d.body, o.body, o.time FROM events d
LEFT JOIN events o ON o.experiment = d.experiment AND o.event_id = d.event_id AND o.kind = 'outcome'
WHERE d.experiment = ? AND d.kind = 'decision' AND d.sequence > ? ORDER BY d.sequence LIMIT ?"""
READ_SNAPSHOT = """
SELECT body FROM snapshots WHERE experiment = ? AND sequence <= ? ORDER BY sequence DESC LIMIT 1"""
READ_SNAPSHOTS = "SELECT sequence, body FROM snapshots WHERE experiment = ?"
READ_NAMES = "SELECT DISTINCT experiment FROM events ORDER BY experiment"


Row: TypeAlias = tuple[Any, ...]  # what a question asks for, as the database has it


class Query(Protocol):
    """A question to a store, in the words above."""

    def __call__(self, statement: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        """The rows that it has."""


class Head(NamedTuple):
    """The last event of the store."""

    sequence: int
    time: int


class Known(NamedTuple):
    """What the store holds under an event id, by kind."""

    sequence: int
    time: int
    body: Body


Ids = Iterable[tuple[str, str]]  # (experiment, event id)
Found = dict[tuple[str, str], dict[str, Known]]


class Transaction(Protocol):
    """A turn of writing: no other writer is in between, in this process or another."""

    head: Head

    def find(self, ids: Ids) -> Found:
        """What is known under these event ids."""

    def query(self, statement: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        """The rows that a question has, as seen in this turn."""

    def insert(self, events: list[Event]) -> None:
        """Append events, whose numbers follow the head."""


class Store(Protocol):
    """Events for good, snapshots as a cache."""

    def writing(self) -> AbstractContextManager[Transaction]:
        """A turn of writing, durable when it ends; raises StoreUnavailable and leaves nothing if it cannot be."""

    def query(self, statement: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        """The rows that a question has, beside any writing; from any thread."""

    def save_snapshot(self, experiment: str, sequence: int, body: bytes) -> None:
        """Keep a snapshot and forget all older ones but the last."""

    def is_folder(self) -> bool:
        """Whether this process closes windows and writes snapshots; of many replicas one does."""

    def close(self) -> None:
        """Let go of the store."""


def as_event(row: Row) -> Event:
    """A row of READ_ALL or READ_ONE."""
    known = None if row[7] is None else decision_body(read_body(row[7]))
    return Event(row[0], row[1], row[2], row[3], row[4], row[5], read_body(row[6]), known, row[8] or 0)


class Reader:
    """Questions in pages, so that neither memory nor a transaction grows with the log."""

    def __init__(self, query: Query) -> None:
        self._query = query

    def events(self, after: int, experiment: str | None = None, limit: int | None = None) -> Iterator[Event]:
        """Events after a sequence number, each outcome with its decision's body."""
        left = limit
        while left is None or left > 0:
            size = PAGE if left is None else min(PAGE, left)
            if experiment is None:
                rows = self._query(READ_ALL, (after, size))
            else:
                rows = self._query(READ_ONE, (experiment, after, size))
            for row in rows:
                yield as_event(row)
            if len(rows) < size:
                return
            after, left = rows[-1][0], None if left is None else left - size

    def all_of(self, experiment: str, kind: str) -> Iterator[Event]:
        """Every event of a kind that has no event id, in order."""
        for row in self._query(READ_KIND, (experiment, kind)):
            yield as_event(row)

    def last(self, experiment: str, kind: str) -> Event | None:
        """The last event of a kind that has no event id."""
        rows = self._query(READ_STEERING, (experiment, kind))
        return as_event(rows[0]) if rows else None

    def learnt(self, experiment: str, after: int, through: int, *, at_close: bool) -> Iterator[Learnt]:
        """The outcomes that began to count in (after, through]."""
        if at_close:
            for sequence, time, body in self._query(READ_CLOSES, (experiment, after, through)):
                yield from self._closed(experiment, sequence, time, read_body(body))
            return
        while True:
            rows = self._query(READ_LEARNT, (experiment, after, through, PAGE))
            for sequence, time, decided, decision, outcome in rows:
                yield Learnt(
                    sequence, time, decided, decision_body(read_body(decision)), read_body(outcome)["outcome"], False
                )
            if len(rows) < PAGE:
                return
            after = rows[-1][0]

    def _closed(self, experiment: str, sequence: int, time: int, close: Body) -> Iterator[Learnt]:
        after, default = close["after"], close["default"]
        while True:
            rows = self._query(READ_CLOSED, (sequence, experiment, after, close["through"], PAGE))
            for _, decided, decision, outcome in rows:
                value = default if outcome is None else read_body(outcome)["outcome"]
                yield Learnt(sequence, time, decided, decision_body(read_body(decision)), value, outcome is None)
            if len(rows) < PAGE:
                return
            after = rows[-1][0]

    def joined(self, experiment: str, after: int = 0) -> Iterator[Row]:
        """Decisions with their outcomes: (sequence, event id, time, decision's body, outcome's body, its time)."""
        while True:
            rows = self._query(READ_JOINED, (experiment, after, PAGE))
            yield from rows
            if len(rows) < PAGE:
                return
            after = rows[-1][0]
