"""The store as a stranger sees it: plain SQL beside the service, for looking, for spoiling and for going back."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from tests.serve.simulation.model import Row

_EVENTS = """
SELECT sequence, kind, event_id, time, about, body FROM events
WHERE experiment = ? AND sequence > ? ORDER BY sequence"""
_NAMES = ("sequence", "kind", "event_id", "time", "about")
_SNAPSHOTS = "SELECT experiment, kind, sequence, body FROM snapshots ORDER BY experiment, kind, sequence"
_SPOIL = "UPDATE snapshots SET body = ? WHERE experiment = ? AND kind = ? AND sequence = ?"


class Copy(NamedTuple):
    """What a store and its archives were."""

    rows: list[tuple[object, ...]]
    files: dict[str, bytes]


class RawStore:
    """A connection of its own, which never fails; archives are beside it."""

    def __init__(self, path: str) -> None:
        self.folder = Path(path).parent / "archives"
        self._connection = sqlite3.connect(path, timeout=0.0, isolation_level=None)

    def close(self) -> None:
        self._connection.close()

    def rows(self, experiment: str, after: int) -> list[Row]:
        """Events after a sequence number."""
        found = self._connection.execute(_EVENTS, (experiment, after)).fetchall()
        return [Row(*row[:5], json.loads(row[5])) for row in found]

    def epoch(self) -> int:
        """The present one."""
        return int(self._connection.execute("SELECT epoch FROM identity").fetchone()[0])

    def spoil_snapshot(self, rng: random.Random) -> str | None:
        """Cut, empty, zero or change a snapshot, or put another one's in its place; what was done, if anything."""
        found = self._connection.execute(_SNAPSHOTS).fetchall()
        if not found:
            return None
        experiment, kind, sequence, body = rng.choice(found)
        how = rng.choice(["cut", "emptied", "zeroed", "flipped", "swapped"])
        spoilt = {
            "cut": body[: rng.randrange(len(body) + 1)],
            "emptied": "",
            "zeroed": "\0" * len(body),
            "flipped": _flip(rng, body),
            "swapped": rng.choice(found)[3],
        }[how]
        self._connection.execute(_SPOIL, (spoilt, experiment, kind, sequence))
        return f"{how}: the snapshot of {experiment} at {sequence}"

    def drop_snapshots(self) -> None:
        """A store without a cache."""
        self._connection.execute("DELETE FROM snapshots")

    def archived(self, experiment: str) -> list[Row]:
        """Every event that is in an archive; those of files that were written anew come last."""
        found: list[Row] = []
        for path in sorted(self.folder.glob(f"{experiment}-*.parquet"), key=lambda path: "~" in path.name):
            table = pq.read_table(path).to_pylist()
            found += [Row(*(each[name] for name in _NAMES), json.loads(each["body"])) for each in table]
        return found

    def copy(self) -> Copy:
        """All events, and the archives, for later."""
        copied = {path.name: path.read_bytes() for path in self.folder.glob("*.parquet")}
        return Copy(self._connection.execute("SELECT * FROM events").fetchall(), copied)

    def go_back(self, copy: Copy, heads: dict[str, int]) -> None:
        """Become an older copy, as a standby that lags is when it takes over."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute("DELETE FROM events")
        self._connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", copy.rows)
        for experiment, head in heads.items():
            self._connection.execute(
                "DELETE FROM snapshots WHERE experiment = ? AND sequence > ?", (experiment, head)
            )
        self._connection.execute("COMMIT")
        self.folder.mkdir(exist_ok=True)
        for name, written in copy.files.items():
            (self.folder / name).write_bytes(written)


def _flip(rng: random.Random, body: str) -> str:
    """One bit of one letter is another."""
    if not body:
        return body
    at = rng.randrange(len(body))
    return body[:at] + chr(ord(body[at]) ^ (1 << rng.randrange(7))) + body[at + 1 :]
