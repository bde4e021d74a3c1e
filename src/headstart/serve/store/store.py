"""What a store promises: a log of events per experiment, for good, and snapshots as a cache."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from headstart.serve.store.events import Body, Event, Row


class Query(Protocol):
    """A question to a store, in the words of `questions`."""

    def __call__(self, statement: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        """The rows that it has."""


class Head(NamedTuple):
    """The last event of an experiment, and the store that it stands in."""

    sequence: int
    time: int
    hash: str  # of it and all before it
    store: str  # the store's identity, made when it was
    epoch: int  # one more each time somebody accepted that events were lost, or restored a backup


class Known(NamedTuple):
    """What the store holds under an event id, by kind."""

    sequence: int
    time: int
    body: Body


class Trace(NamedTuple):
    """A unit's newest decision, and the draw that it repeats (itself, if it was drawn)."""

    event_id: str
    number: int  # among the decisions of that draw
    draw_id: str
    draw: Known


class Sought(NamedTuple):
    """What a turn looks up: what is known under event ids, and the newest decisions of units."""

    ids: Sequence[str] = ()
    units: Sequence[str] = ()


NOTHING = Sought()
Question = tuple[str, tuple[object, ...]]  # in the words of `questions`, and its parameters
Found = dict[str, dict[str, Known]]


class Transaction(Protocol):
    """A turn of writing to one experiment: no other writer is in between, in this process or another."""

    head: Head
    found: Found  # what is known under the event ids that were looked up, and those of the units' newest decisions
    traces: dict[str, Trace]  # by unit; a unit that nobody decided for has none

    def find(self, sought: Sought) -> None:
        """Look up more than the turn was begun for."""

    def query(self, statement: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        """The rows that a question has, as seen in this turn."""

    def execute(self, statement: str, parameters: tuple[object, ...] = ()) -> None:
        """Carry out a statement that has no rows, at the latest when the turn ends."""

    def of_unit(self, unit: str) -> list[Event]:
        """Every decision of a unit, in their order."""

    def take_away(self, through: int, open_after: int) -> None:
        """Delete the archived events up to one, but for those that are still asked for.

        Of decisions after `open_after` the windows were not closed then.
        """

    def insert(self, events: list[Event]) -> list[Event]:
        """Append events, whose numbers follow the head, and move it; they come back with their hashes."""

    def append(self, rows: list[Row]) -> None:
        """Append rows with their hashes, of another store or just linked, and move the head."""


class Store(Protocol):
    """A log per experiment."""

    def writing(
        self, experiment: str, sought: Sought = NOTHING, ahead: Question | None = None
    ) -> AbstractContextManager[Transaction]:
        """A turn of writing, durable when it ends; raises StoreUnavailable and leaves nothing if it cannot be.

        What is `sought` is looked up as it begins; a question that will be asked in it may be given ahead.
        """

    def query(self, statement: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        """The rows that a question has, beside any writing; from any thread."""

    def is_folder(self, experiment: str) -> bool:
        """Whether this process closes windows and writes snapshots; of many replicas one does."""

    def scrub(self) -> bool:
        """Have nothing left of what was overwritten, as far as the store itself can; whether that is so by now."""

    def shrink(self) -> None:
        """Write the store anew without what was overwritten and deleted, for who has the time."""

    def close(self) -> None:
        """Let go of the store."""
