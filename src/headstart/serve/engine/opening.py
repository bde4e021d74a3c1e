"""Opening a store: which events the configuration calls for, and the folds brought up to the head."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from headstart.errors import LogError, OptionError
from headstart.serve.config import ExperimentConfig, Label
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.policies import build_policy
from headstart.serve.engine.sources import Source, read_source
from headstart.serve.store import events as kinds
from headstart.serve.store.events import Event
from headstart.serve.store.store import READ_SNAPSHOT, Reader, Store

_FIXED = ("outcome_window", "default_outcome")  # rows already learnt would have been others


def open_store(address: str) -> Store:
    """A path is SQLite's, postgresql://... is PostgreSQL's."""
    if address.startswith(("postgresql://", "postgres://")):
        from headstart.serve.store.postgres import PostgresStore

        return PostgresStore(address)
    if "://" in address and not address.startswith("file:"):
        raise OptionError(f"store must be a path or postgresql://..., got {address!r}")
    from headstart.serve.store.sqlite import SQLiteStore

    return SQLiteStore(address)


_Key = tuple[str, str, tuple[str, ...], tuple[Label, ...]]


class Sources:
    """Logs by their hash and by what the experiment makes of them, its columns and actions: read once."""

    def __init__(self) -> None:
        self._known: dict[_Key, Source] = {}

    def read(self, config: ExperimentConfig) -> Source | None:
        """The configuration's log as it is now."""
        source = read_source(config)
        if source is not None:
            self._known[_key(config, source.hash)] = source
        return source

    def find(self, config: ExperimentConfig, wanted: str) -> Source:
        """The log with this hash."""
        key = _key(config, wanted)
        if key not in self._known:
            source = self.read(config)
            if source is None or source.hash != wanted:
                raise LogError(
                    f"the log of experiment {config.name!r} is not the one it began with (hash {wanted}): "
                    "restore it, or withdraw it"
                )
        return self._known[key]


def _key(config: ExperimentConfig, wanted: str) -> _Key:
    return config.name, wanted, config.encoding.names, config.actions


def declare(store: Store, experiments: Mapping[str, ExperimentConfig], sources: Sources, now: int) -> None:
    """Append the configuration and warm start of each experiment that is new or has changed."""
    logs = {name: sources.read(config) for name, config in experiments.items()}
    for name, config in experiments.items():
        source = logs[name]
        if _changes(Reader(store.query), config, source):
            _check_buildable(config, source)
    with store.writing() as transaction:
        reader = Reader(transaction.query)
        time, first = max(now, transaction.head.time), transaction.head.sequence + 1
        events: list[Event] = []
        for name, config in experiments.items():
            for kind, body in _changes(reader, config, logs[name]):
                events.append(Event(first + len(events), name, kind, None, time, None, body))
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


def load_fold(fold: Fold, reader: Reader, query: Any) -> int:
    """Fold what the store holds from the newest snapshot, whose sequence number is returned, or from nothing (0)."""
    builds = [reader.last(fold.name, kind) for kind in kinds.BUILDS]
    fold.quiet_until = max((event.sequence for event in builds if event is not None), default=0)
    rows = query(READ_SNAPSHOT, (fold.name, 2**62))
    if rows:
        fold.load(rows[0][0])
    saved = fold.position
    for event in reader.events(saved, fold.name):
        fold.apply(event)
    fold.policy.warm_up()  # built and loaded now, not at the first user
    return saved
