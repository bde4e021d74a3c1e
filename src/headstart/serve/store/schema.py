"""The tables, as a list of steps: a store of any earlier version is brought up to date when it is opened.

`events` is append-only: nothing updates or deletes a row. Each experiment numbers its own, without gaps since version
3 (before it, the numbers of all experiments were one row) and in the order of commits. The unique index is the last
guard of exactly-once: one decision, one outcome per event id. Since version 4 two indices find the decisions of a
unit, by what their bodies say of it, and the parts of a decision's value; what has neither is in neither. PostgreSQL
has one table more, `heads`, whose rows are the locks under which writers to an experiment take turns (SQLite has a
write lock of its own).
"""

from __future__ import annotations

from typing import NamedTuple

from headstart.serve.errors import StoreCorrupt

CURRENT = 4
VERSIONS = "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)"
INSERT_IDENTITY = "INSERT INTO identity (id, epoch) VALUES (?, 1)"
READ_OLD = """
SELECT sequence, experiment, kind, event_id, time, about, body FROM old_events ORDER BY experiment, sequence"""


def check_version(version: int, place: str) -> int:
    """A version that this headstart knows."""
    if version > CURRENT:
        raise StoreCorrupt(f"{place} has schema version {version}: a newer headstart wrote it")
    return version


class Step(NamedTuple):
    """From one version to the next: statements, then (once) every event is copied into its chain, then statements."""

    before: tuple[str, ...]
    links_events: bool = False
    after: tuple[str, ...] = ()


_FIRST = """
CREATE TABLE events (
    sequence {big} PRIMARY KEY,
    experiment TEXT NOT NULL,
    kind TEXT NOT NULL,
    event_id TEXT,
    time {big} NOT NULL,
    about {big},
    body TEXT NOT NULL
)"""
_LINKED = """
CREATE TABLE events (
    sequence {big} NOT NULL,
    experiment TEXT NOT NULL,
    kind TEXT NOT NULL,
    event_id TEXT,
    time {big} NOT NULL,
    about {big},
    body TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (experiment, sequence)
)"""
_ONE_PER_ID = "CREATE UNIQUE INDEX one_per_id ON events (experiment, event_id, kind)"
_SNAPSHOTS = """
CREATE TABLE snapshots (
    experiment TEXT NOT NULL,
    kind TEXT NOT NULL,
    sequence {big} NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (experiment, kind, sequence)
)"""
_HEADS = """
CREATE TABLE heads (
    experiment TEXT PRIMARY KEY,
    sequence BIGINT NOT NULL,
    time BIGINT NOT NULL,
    hash TEXT NOT NULL
)"""
_FILL_HEADS = """
INSERT INTO heads SELECT DISTINCT ON (experiment) experiment, sequence, time, hash FROM events
ORDER BY experiment, sequence DESC"""
_LEASES = "CREATE TABLE leases (experiment TEXT PRIMARY KEY, holder TEXT NOT NULL, until TIMESTAMPTZ NOT NULL)"
_OTHERS = (
    "CREATE TABLE identity (id TEXT NOT NULL, epoch BIGINT NOT NULL)",
    "CREATE TABLE fits (hash TEXT PRIMARY KEY, body TEXT NOT NULL)",
    "CREATE TABLE probe (filler TEXT NOT NULL)",
)
_BY_UNIT = """
CREATE INDEX by_unit ON events (experiment, ({unit}), sequence) WHERE kind = 'decision' AND ({unit}) IS NOT NULL"""
_BY_DECISION = "CREATE INDEX by_decision ON events (experiment, about) WHERE kind = 'part'"
SQLITE_UNIT = "json_extract(body, '$.unit')"
POSTGRES_UNIT = "body::jsonb ->> 'unit'"
_MAKE_ROOM = ("DROP INDEX one_per_id", "ALTER TABLE events RENAME TO old_events", "DROP TABLE snapshots")

SQLITE = (
    Step((_FIRST.format(big="INTEGER"), _ONE_PER_ID)),
    Step(("CREATE TABLE snapshots (experiment TEXT)",)),
    Step(
        (*_MAKE_ROOM, f"{_LINKED.format(big='INTEGER')} WITHOUT ROWID", _SNAPSHOTS.format(big="INTEGER"), *_OTHERS),
        links_events=True,
        after=("DROP TABLE old_events", _ONE_PER_ID),
    ),
    Step((_BY_UNIT.format(unit=SQLITE_UNIT), _BY_DECISION)),
)
POSTGRES = (
    Step((_FIRST.format(big="BIGINT"), _ONE_PER_ID, "CREATE TABLE head (sequence BIGINT)")),
    Step(("CREATE TABLE snapshots (experiment TEXT)",)),
    Step(
        (*_MAKE_ROOM, "DROP TABLE head", _LINKED.format(big="BIGINT"), _SNAPSHOTS.format(big="BIGINT"), *_OTHERS),
        links_events=True,
        after=("DROP TABLE old_events", _ONE_PER_ID, _HEADS, _FILL_HEADS, _LEASES),
    ),
    Step((_BY_UNIT.format(unit=POSTGRES_UNIT), _BY_DECISION)),
)
