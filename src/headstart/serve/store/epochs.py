"""Epochs: a store that goes on from fewer events than it once had says so, and every process folds it anew."""

from __future__ import annotations

import time

from headstart.serve.errors import StoreCorrupt
from headstart.serve.store.questions import NEW_EPOCH
from headstart.serve.store.store import Query, Transaction

UNFINISHED = 0  # of a store that is being restored; the first epoch is 1


def begin_epoch(turn: Transaction) -> None:
    """An epoch's number is the time at which it began, so it exceeds every earlier one of every copy of the store."""
    turn.execute(NEW_EPOCH, (max(turn.head.epoch + 1, int(time.time())),))


def check_finished(query: Query) -> None:
    """Refuse a store into which a backup was not restored to its end."""
    if query("SELECT epoch FROM identity")[0][0] == UNFINISHED:
        raise StoreCorrupt(
            "a backup was not restored to its end into this store, or is being: wait for it, or drop the schema and "
            "restore it again"
        )
