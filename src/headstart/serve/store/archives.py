"""Archives: old events as Parquet files beside the store, which asks them as if they were its own.

A file holds a stretch of one experiment's events, whole rows with their hashes, and is named by an `archived` event
with its digest. It is written as a whole before that event, and the rows leave the store in the event's own commit:
an event is always in the store, in a file that the chain names, or in both. What stays in the store of an archived
stretch: what people and configurations decided, the newest window that closed, of each unit the newest decision and
its draw, decisions that later events are about or whose windows a later one closes, and what came of all these.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import orjson

from headstart.errors import OptionError
from headstart.serve.errors import ArchiveAway, StoreCorrupt
from headstart.serve.store.chain import digest_row
from headstart.serve.store.events import DECISION, Event, Row, read_body, write_body
from headstart.whole_files import write_whole

if TYPE_CHECKING:
    import duckdb

_KEY = b"headstart"  # of a file's metadata
_READ = 1 << 20  # bytes of a file at a time
# The decisions that are still asked for; `{unit}` is a store's own word for whose it is.
KEPT = """
WITH newest AS (
  SELECT max(sequence) AS sequence FROM events
  WHERE experiment = ? AND kind = 'decision' AND ({unit}) IS NOT NULL GROUP BY {unit}
), kept AS (
  SELECT sequence FROM newest UNION
  SELECT e.about FROM events e JOIN newest n ON n.sequence = e.sequence
  WHERE e.experiment = ? AND e.about IS NOT NULL UNION
  SELECT about FROM events WHERE experiment = ? AND sequence > ? AND about IS NOT NULL UNION
  SELECT sequence FROM events WHERE experiment = ? AND kind = 'decision' AND sequence > ? AND sequence <= ?
)"""
TAKE_AWAY = f"""{KEPT}
DELETE FROM events WHERE experiment = ? AND sequence <= ? AND (event_id IS NOT NULL OR kind = 'window_closed')
AND sequence NOT IN (SELECT sequence FROM kept)
AND NOT (kind <> 'decision' AND coalesce(about, 0) IN (SELECT sequence FROM kept))
AND sequence <> coalesce((
  SELECT max(c.sequence) FROM events c WHERE c.experiment = ? AND c.event_id IS NULL AND c.kind = 'window_closed'), 0)
"""


class ArchiveFile(NamedTuple):
    """A file as the chain names it."""

    folder: str
    name: str
    sha256: str
    after: int  # it holds the events in (after, through]
    through: int
    hash: str  # of the last of them

    @property
    def path(self) -> Path:
        """Where it was written to."""
        return Path(self.folder) / self.name

    def as_dict(self) -> dict[str, object]:
        """As an event keeps it."""
        return self._asdict()


def find_archive_files(archived: Iterable[Event], redacted: Iterable[Event]) -> list[ArchiveFile]:
    """The files in force: those of `archived` events, in the place of which erasures may have put others."""
    files = {each.name: each for event in archived for each in [ArchiveFile(**event.body["file"])]}
    for event in redacted:
        for name, instead in event.body.get("files", {}).items():
            files[name] = ArchiveFile(**instead)
        files = {each.name: each for each in files.values()}
    return sorted(files.values(), key=lambda each: each.after)


def write_stretch(folder: Path, name: str, rows: Sequence[Row], before: int) -> ArchiveFile:
    """Rows (sequence, experiment, kind, event id, time, about, body, hash) after an event as a whole file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = list(zip(*rows, strict=True))
    told = {"experiment": rows[0][1], "after": before, "through": rows[-1][0], "hash": rows[-1][7]}
    fields = [(column, pa.string() if kind == "text" else pa.int64()) for column, kind in _COLUMNS.items()]
    schema = pa.schema(fields, {_KEY: orjson.dumps(told)})
    table = pa.table([pa.array(column, type_) for column, type_ in zip(columns, schema.types, strict=True)], schema)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with write_whole(folder / name) as part:
            pq.write_table(table, part, compression="zstd")
    except OSError as error:
        raise OptionError(f"the archive {folder / name} cannot be written: {error.strerror or error}") from None
    return ArchiveFile(str(folder), name, digest_file(folder / name), before, rows[-1][0], rows[-1][7])


_COLUMNS = {
    "sequence": "whole", "experiment": "text", "kind": "text", "event_id": "text", "time": "whole",
    "about": "whole", "body": "text", "hash": "text",
}  # fmt: skip


def digest_file(path: Path) -> str:
    """The SHA-256 of a file, as sha256sum tells it."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(_READ):
            digest.update(piece)
    return digest.hexdigest()


class Archive:
    """The files of one experiment, asked in the words of `questions`. They may be in another folder by now."""

    def __init__(self, experiment: str, files: Sequence[ArchiveFile], folder: Path | None = None) -> None:
        self.experiment, self.files, self._folder = experiment, list(files), folder
        self.through, self.hash = files[-1].through, files[-1].hash
        self._lock = threading.Lock()
        self._connection: duckdb.DuckDBPyConnection | None = None

    def path_of(self, file: ArchiveFile) -> Path:
        """Where a file is looked for."""
        return file.path if self._folder is None else self._folder / file.name

    def find_missing(self) -> list[Path]:
        """Files that are not where they should be."""
        return [path for path in map(self.path_of, self.files) if not path.is_file()]

    def check_there(self) -> None:
        """Raise ArchiveAway if a file is not where it should be."""
        missing = self.find_missing()
        if missing:
            raise ArchiveAway(
                f"events up to {self.through:,} of {self.experiment!r} were archived, and {missing[0]} is not there: "
                "bring the file back, for what is asked needs them"
            )

    def check_files(self) -> None:
        """Raise StoreCorrupt for a file that is not the one which the chain names."""
        for file in self.files:
            if digest_file(self.path_of(file)) != file.sha256:
                raise StoreCorrupt(
                    f"the archive {self.path_of(file)} is not the file that was written: it was changed"
                )

    def query(self, statement: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        """The rows that a question has among the archived events."""
        import duckdb

        with self._lock:
            self.check_there()
            try:
                if self._connection is None:
                    connection = duckdb.connect()
                    connection.read_parquet([str(self.path_of(file)) for file in self.files]).create_view("events")
                    self._connection = connection
                return self._connection.execute(statement, list(parameters)).fetchall()
            except duckdb.Error as error:
                raise ArchiveAway(f"the archive of {self.experiment!r} cannot be read: {error}") from error

    def of_unit(self, unit: str) -> list[Event]:
        """Every archived decision of a unit, in their order."""
        self.check_there()
        found, sought = [], orjson.dumps(unit).decode()
        for file in self.files:
            for row in self.read_file(file):
                if row[2] == DECISION and sought in row[6]:
                    event = Event(row[0], row[1], row[2], row[3], row[4], row[5], read_body(row[6]), hash=row[7])
                    found += [event] if event.body.get("unit") == unit else []
        return found

    def read_file(self, file: ArchiveFile) -> list[Row]:
        """Every row of a file."""
        import pyarrow.parquet as pq

        columns = pq.read_table(self.path_of(file), columns=list(_COLUMNS)).to_pydict()
        return list(zip(*columns.values(), strict=True))

    def overwrite(self, file: ArchiveFile, left: dict[int, Event]) -> ArchiveFile:
        """Another file in the place of one, in which some events have other bodies, and the hashes that they had."""
        bodies = {sequence: write_body(event.body) for sequence, event in left.items()}
        rows = [(*row[:6], bodies.get(row[0], row[6]), row[7]) for row in self.read_file(file)]
        stem = file.name.removesuffix(".parquet").partition("~")[0]
        name = f"{stem}~{digest_row(tuple(sorted(left)))[:8]}.parquet"
        written = write_stretch(self.path_of(file).parent, name, rows, file.after)
        return written._replace(through=file.through, hash=file.hash)
