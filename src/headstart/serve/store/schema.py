"""The tables, as a list of steps: a store of any earlier version is brought up to date when it is opened.

`events` is append-only: nothing updates or deletes a row. `sequence` has no gaps and follows the order of commits.
The unique index is the last guard of exactly-once: one decision, one outcome per event id. PostgreSQL has one table
more, `head`, whose only row is the lock under which writers take turns (SQLite has a write lock of its own).
"""

from __future__ import annotations

_EVENTS = """
CREATE TABLE events (
    sequence {big} PRIMARY KEY,
    experiment TEXT NOT NULL,
    kind TEXT NOT NULL,
    event_id TEXT,
    time {big} NOT NULL,
    about {big},
    body TEXT NOT NULL
)"""
_ONE_PER_ID = "CREATE UNIQUE INDEX one_per_id ON events (experiment, event_id, kind)"
_BY_EXPERIMENT = "CREATE INDEX by_experiment ON events (experiment, sequence)"
_SNAPSHOTS = """
CREATE TABLE snapshots (
    experiment TEXT NOT NULL,
    sequence {big} NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (experiment, sequence)
)"""
_HEAD = "CREATE TABLE head (sequence BIGINT NOT NULL, time BIGINT NOT NULL)"
_FIRST_HEAD = "INSERT INTO head SELECT coalesce(max(sequence), 0), coalesce(max(time), 0) FROM events"

SQLITE = (
    (_EVENTS.format(big="INTEGER"), _ONE_PER_ID),
    (_SNAPSHOTS.format(big="INTEGER"), _BY_EXPERIMENT),
)
POSTGRES = (
    (_EVENTS.format(big="BIGINT"), _ONE_PER_ID, _HEAD, _FIRST_HEAD),
    (_SNAPSHOTS.format(big="BIGINT"), _BY_EXPERIMENT),
)
VERSIONS = "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)"
