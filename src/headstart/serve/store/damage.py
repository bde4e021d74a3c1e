"""Damage: pages of a SQLite file that are not what SQLite wrote."""

from __future__ import annotations

import sqlite3

from headstart.serve.errors import StoreCorrupt


def check_pages(connection: sqlite3.Connection, path: str) -> None:
    """A damaged page is found now, not by the user whose decision stands on it."""
    told: str = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if told != "ok":
        cause = told.splitlines()[-1]
        raise StoreCorrupt(f"{path} is damaged ({cause}): restore a backup by `headstart store restore`")
