"""The chain: each event's hash covers the one before it, so a history cannot be cut, swapped or changed unseen.

    hash(n) = blake2b(hash(n - 1), sequence, experiment, kind, event id, time, about, body as it is written)

A decision whose context was erased keeps the hash that it was written with, which it no longer has: it is sound if a
`redacted` event, later in the same chain, holds the digest of the row as it is now.

The first event of an experiment follows the empty hash. A head, the last event's sequence number and hash, therefore
stands for everything before it: two processes with the same head have folded the same events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import islice

import orjson

from headstart.serve.store.events import Event, Row, write_body

GENESIS = ""  # what the first event follows


def next_hash(previous: str, row: Row) -> str:
    """The hash of an event (sequence, experiment, kind, event id, time, about, body) that follows `previous`."""
    return blake2b(previous.encode() + orjson.dumps(row), digest_size=16).hexdigest()


def digest_row(row: Row) -> str:
    """What a `redacted` event keeps of a row (sequence, experiment, kind, event id, time, about, body)."""
    return blake2b(orjson.dumps(row), digest_size=16).hexdigest()


def link_rows(previous: str, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows, each with its hash at the end."""
    for row in rows:
        previous = next_hash(previous, row)
        yield (*row, previous)


def link_events(previous: str, events: Iterable[Event]) -> list[Row]:
    """Events as the rows of the store, which follow the event with the hash `previous`."""
    return list(link_rows(previous, ((*event[:6], write_body(event.body)) for event in events)))


def in_pages(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """The rows, so many at a time."""
    left = iter(rows)
    while page := list(islice(left, size)):
        yield page
