"""Accepting a loss: going on with a store that lacks events it once had, on purpose and on the record."""

from __future__ import annotations

import time
from collections.abc import Callable

from headstart.serve.store import events as kinds
from headstart.serve.store.epochs import begin_epoch
from headstart.serve.store.events import Event
from headstart.serve.store.questions import READ_NAMES
from headstart.serve.store.store import Store


def accept_history(store: Store, reason: str, by: str = "", clock: Callable[[], float] = time.time) -> dict[str, int]:
    """Begin a new epoch: every process folds anew what the store holds. Each experiment's last event before it.

    An `accepted` event in each experiment says when, why and by whom.
    """
    accepted: dict[str, int] = {}
    for (name,) in store.query(READ_NAMES):
        with store.writing(name) as turn:
            head = turn.head
            body = {"reason": reason, "by": by, "epoch": head.epoch}
            now = max(int(clock() * 1e6), head.time)
            turn.insert([Event(head.sequence + 1, name, kinds.ACCEPTED, None, now, None, body)])
            accepted[name] = head.sequence
    for name in list(accepted)[:1]:  # after the events: whoever sees the epoch sees them
        with store.writing(name) as turn:
            begin_epoch(turn)
    return accepted
