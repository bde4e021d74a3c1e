"""Opening a store, and bringing a fold up to its head."""

from __future__ import annotations

import logging
from collections.abc import Callable

from headstart.addresses import mask_secrets
from headstart.errors import OptionError
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.sources import Sources
from headstart.serve.store import events as kinds
from headstart.serve.store.addresses import is_postgres
from headstart.serve.store.reader import CHECKPOINT, FOLD, Reader
from headstart.serve.store.store import Store

_TOLD_EVERY = 500  # events

logger = logging.getLogger("headstart.serve")


def open_store(address: str, deadline: float = 5.0) -> Store:
    """A path is SQLite's, postgresql://... is PostgreSQL's; no call to that takes longer than `deadline` seconds."""
    if is_postgres(address):
        from headstart.serve.store.postgres import PostgresStore

        return PostgresStore(address, deadline=deadline)
    if "://" in address and not address.startswith("file:"):
        raise OptionError(f"store must be a path or postgresql://..., got {mask_secrets(address)!r}")
    from headstart.serve.store.sqlite import SQLiteStore

    return SQLiteStore(address)


def load_fold(name: str, reader: Reader, sources: Sources, told: Callable[[int], None]) -> tuple[Fold, int]:
    """The fold of what the store holds, and the sequence number of the snapshot that it began with (0: none).

    A snapshot of another history than the store's is none. `told` is told now and then how far it has come.
    """
    fold = Fold(name, reader, sources.find)
    for kind in (FOLD, CHECKPOINT):
        snapshot = reader.snapshot(name, kind)
        if snapshot is not None and fold.load(snapshot) and reader.hash_at(name, fold.position) != fold.hash:
            logger.warning("a snapshot of experiment %r was dropped: it is of another history than the store's", name)
            fold = Fold(name, reader, sources.find)
        if fold.position:
            break
    saved = fold.position
    builds = [reader.last(name, kind) for kind in kinds.BUILDS]
    fold.quiet_until = max((event.sequence for event in builds if event is not None), default=0)
    for event in reader.linked(name, saved, fold.hash):
        fold.apply(event)
        if event.sequence % _TOLD_EVERY == 0:
            told(event.sequence)
    fold.policy.warm_up()  # built and loaded now, not at the first user
    return fold, saved
