"""Lineage: whether a store still has the history that was folded from it."""

from __future__ import annotations

from headstart.serve.errors import HistoryLost
from headstart.serve.store.store import Head

_ACCEPT = "`headstart store accept`"


def is_same_epoch(name: str, known: Head, found: Head) -> bool:
    """Compare the store's head with the one that was folded; False if a new epoch has begun, so that all is new.

    Raises HistoryLost for another store, for one that has gone back and for one whose last event is another.
    """
    if found.store != known.store:
        raise HistoryLost(f"{name!r}: this is another store than the one that was opened")
    if found.epoch != known.epoch:
        return False
    if found.sequence < known.sequence:
        raise HistoryLost(
            f"{name!r}: the store has gone back from event {known.sequence} to event {found.sequence}: "
            f"{known.sequence - found.sequence} that were acknowledged are lost. Bring them back, or go on without "
            f"them by {_ACCEPT}"
        )
    if found.sequence == known.sequence and found.hash != known.hash:
        raise HistoryLost(
            f"{name!r}: event {found.sequence} of the store is not the one that was folded: its history was swapped. "
            f"Bring the right one back, or go on with this one by {_ACCEPT}"
        )
    return True


def as_swapped(error: Exception) -> HistoryLost:
    """A store that has more events than were folded, which follow others."""
    return HistoryLost(
        f"{error}, or swapped for another history. Bring the right one back, or go on with this one by {_ACCEPT}"
    )
