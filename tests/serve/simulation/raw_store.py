"""The store as a stranger sees it: plain SQL beside the service, for looking, for spoiling and for going back."""

from __future__ import annotations

import json
import random
import sqlite3

from headstart.serve.store.events import write_body
from tests.serve.simulation.model import Row

_EVENTS = """
SELECT sequence, kind, event_id, time, about, body FROM events
WHERE experiment = ? AND sequence > ? ORDER BY sequence"""
_PUT_BACK = "UPDATE events SET body = ? WHERE experiment = ? AND sequence = ? AND body <> ?"
_SNAPSHOTS = "SELECT experiment, kind, sequence, body FROM snapshots ORDER BY experiment, kind, sequence"
_SPOIL = "UPDATE snapshots SET body = ? WHERE experiment = ? AND kind = ? AND sequence = ?"


class RawStore:
    """A connection of its own, which never fails."""

    def __init__(self, path: str) -> None:
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

    def go_back(self, heads: dict[str, int], decisions: dict[str, list[Row]]) -> None:
        """Lose what came after these sequence numbers, as a standby that lags does when it takes over.

        Decisions that were erased since are what they were.
        """
        for experiment, rows in decisions.items():
            for row in rows:
                body = write_body(row.body)
                self._connection.execute(_PUT_BACK, (body, experiment, row.sequence, body))
        for experiment, head in heads.items():
            for table in ("events", "snapshots"):
                self._connection.execute(
                    f"DELETE FROM {table} WHERE experiment = ? AND sequence > ?", (experiment, head)
                )


def _flip(rng: random.Random, body: str) -> str:
    """One bit of one letter is another."""
    if not body:
        return body
    at = rng.randrange(len(body))
    return body[:at] + chr(ord(body[at]) ^ (1 << rng.randrange(7))) + body[at + 1 :]
