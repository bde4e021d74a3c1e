"""The log that an experiment begins with, as its configuration declares it: a table, or rows in memory."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from headstart.addresses import mask_secrets
from headstart.errors import OptionError
from headstart.logs.log import Log
from headstart.serve.tables import Table, check_table

IN_MEMORY = "in memory"  # what an event says of rows that stand in no file


class DeclaredLog(NamedTuple):
    """Where the rows are, and whether they are used whatever the audit says of them."""

    rows: Log | Table | None  # in memory, or path and the options of read_log
    despite_audit: bool = False

    def as_dict(self) -> dict[str, object] | None:
        """What a `configuration` event holds of it; what is not declared is absent, as before it could be."""
        if self.rows is None:
            return None
        table: dict[str, object] = {"rows": IN_MEMORY} if isinstance(self.rows, Log) else dict(self.rows)
        return {**table, "despite_audit": True} if self.despite_audit else table


def read_declared(at: str, value: object, folder: Path) -> DeclaredLog:
    """From the table of an experiment; relative paths count from the folder."""
    if value is None or isinstance(value, Log):
        return DeclaredLog(value)
    table = dict(check_table(at, value))
    despite_audit = table.pop("despite_audit", False)
    if not isinstance(despite_audit, bool):
        raise OptionError(f"{at}.despite_audit must be true or false, got {despite_audit!r}")
    rows = table.get("rows")
    if isinstance(rows, Log):
        return DeclaredLog(rows, despite_audit)
    if rows == IN_MEMORY:  # from a configuration event: the rows stand elsewhere
        return DeclaredLog(table, despite_audit)
    path = table.get("path")
    if not isinstance(path, str):
        raise OptionError(f"{at}.path must be the path of a log, got {path!r}")
    if mask_secrets(path) != path:
        raise OptionError(
            f"{at}.path holds a password, which would be recorded with the configuration: leave it out, and give it "
            "to the database's own means (PGPASSWORD, ~/.pgpass)"
        )
    return DeclaredLog({**table, "path": path if "://" in path else str(folder / path)}, despite_audit)
