"""Epochs: a store that goes on from fewer events than it once had says so, and every process folds it anew."""

from __future__ import annotations

import time

from headstart.serve.store.questions import NEW_EPOCH
from headstart.serve.store.store import Transaction


def begin_epoch(turn: Transaction) -> None:
    """An epoch's number is the time at which it began, so it exceeds every earlier one of every copy of the store."""
    turn.execute(NEW_EPOCH, (max(turn.head.epoch + 1, int(time.time())),))
