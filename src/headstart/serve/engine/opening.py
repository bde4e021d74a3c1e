"""Opening a store: which events the configuration calls for, and the folds brought up to the head."""

from __future__ import annotations

import logging
from typing import Any

import orjson

from headstart.errors import OptionError
from headstart.serve.config import ExperimentConfig
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.policies import build_policy
from headstart.serve.engine.sources import Source, Sources
from headstart.serve.store import events as kinds
from headstart.serve.store.addresses import is_postgres
from headstart.serve.store.events import Event
from headstart.serve.store.reader import FOLD, Reader
from headstart.serve.store.store import Store

logger = logging.getLogger("headstart.serve")

_FIXED = ("outcome_window", "default_outcome")  # rows already learnt would have been others


def open_store(address: str) -> Store:
    """A path is SQLite's, postgresql://... is PostgreSQL's."""
    if is_postgres(address):
        from headstart.serve.store.postgres import PostgresStore

        return PostgresStore(address)
    if "://" in address and not address.startswith("file:"):
        raise OptionError(f"store must be a path or postgresql://..., got {address!r}")
    from headstart.serve.store.sqlite import SQLiteStore

    return SQLiteStore(address)


def declare(store: Store, config: ExperimentConfig, sources: Sources, now: int) -> None:
    """Append the configuration and warm start of an experiment that is new or has changed."""
    source = sources.read(config)
    if not _changes(Reader(store.query), config, source):
        return
    _check_buildable(config, source)
    with store.writing(config.name) as transaction:
        time, first = max(now, transaction.head.time), transaction.head.sequence + 1
        events = [
            Event(first + i, config.name, kind, None, time, None, body)
            for i, (kind, body) in enumerate(_changes(Reader(transaction.query), config, source))
        ]
        if events:
            transaction.insert(events)


def _check_buildable(config: ExperimentConfig, source: Source | None) -> None:
    """What cannot be built must not be recorded: every replica would fail on it."""
    low, high = build_policy(config, source and source.log).outcome_range
    if config.default_outcome is not None and not low <= config.default_outcome <= high:
        raise OptionError(
            f"experiments.{config.name}.default_outcome must be in [{low:g}, {high:g}] for this policy, "
            f"got {config.default_outcome:g}"
        )


def _changes(reader: Reader, config: ExperimentConfig, source: Source | None) -> list[tuple[str, dict[str, Any]]]:
    declared = orjson.loads(orjson.dumps(config.as_dict()))
    before = reader.last(config.name, kinds.CONFIGURATION)
    if before is not None:
        for key in _FIXED:
            if before.body[key] != declared[key]:
                raise OptionError(
                    f"experiments.{config.name}.{key} was {before.body[key]} and cannot become {declared[key]}: what "
                    "was learnt would have been something else. Give the experiment a new name"
                )
    changes: list[tuple[str, dict[str, Any]]] = []
    # Equal mappings may differ in their order, and that of contexts is the order of the columns.
    is_new = before is None or before.body != declared or list(before.body["contexts"]) != list(declared["contexts"])
    if is_new:
        changes.append((kinds.CONFIGURATION, declared))
    if source is not None:
        started = reader.last(config.name, kinds.WARM_START)
        if is_new or started is None or started.body["hash"] != source.hash:
            changes.append((kinds.WARM_START, orjson.loads(orjson.dumps(source.summary()))))
    return changes


def load_fold(name: str, reader: Reader, sources: Sources) -> tuple[Fold, int]:
    """The fold of what the store holds, and the sequence number of the snapshot that it began with (0: none).

    A snapshot of another history than the store's is none.
    """
    fold = Fold(name, reader, sources.find)
    snapshot = reader.snapshot(name, FOLD)
    if snapshot is not None and fold.load(snapshot) and reader.hash_at(name, fold.position) != fold.hash:
        logger.warning("a snapshot of experiment %r was dropped: it is of another history than the store's", name)
        fold = Fold(name, reader, sources.find)
    saved = fold.position
    builds = [reader.last(name, kind) for kind in kinds.BUILDS]
    fold.quiet_until = max((event.sequence for event in builds if event is not None), default=0)
    for event in reader.linked(name, saved, fold.hash):
        fold.apply(event)
    fold.policy.warm_up()  # built and loaded now, not at the first user
    return fold, saved
