"""Retention: for how many days the store keeps its events, and where older ones go.

    [retention]
    keep = 90
    archive = "ads-archive"

It is a matter of the process that looks after the store, not of an experiment: nothing of it is recorded, and to
change it rebuilds no policy.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from headstart.checks import check_number
from headstart.errors import OptionError
from headstart.serve.tables import check_keys, check_table


class Retention(NamedTuple):
    """Events older than `keep` days go into files in a folder."""

    keep: float
    archive: str


def read_retention(value: object, folder: Path) -> Retention | None:
    """The configuration's [retention]; a relative path counts from the configuration's folder."""
    if value is None:
        return None
    table = check_table("retention", value)
    check_keys("retention", table, ("keep", "archive"))
    archive = table.get("archive")
    if not isinstance(archive, str) or not archive:
        raise OptionError(f"retention.archive must be the path of a folder, got {archive!r}")
    return Retention(check_number("retention.keep", table.get("keep"), 1e-6, 1e5), str((folder / archive).resolve()))
