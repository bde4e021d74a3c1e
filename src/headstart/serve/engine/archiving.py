"""Archiving: old events leave the store for Parquet files, and the fold goes on from a checkpoint.

A stretch at a time: its file is written as a whole and read back; then one turn of writing appends the `archived`
event (the file and its digest, the checkpoint and its digest), keeps the checkpoint and deletes the rows. Whoever is
killed in between has lost nothing: the rows are in the store until the chain names their file.

An archived decision is over. Its event id is free, a report of its outcome finds no decision (`dangling`), and what
it taught stays. A unit still keeps its action: its newest decision and its draw stay in the store
(`store/archives.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

from headstart.errors import OptionError
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.opening import load_fold
from headstart.serve.engine.sources import Sources
from headstart.serve.errors import StoreCorrupt, UnknownExperiment
from headstart.serve.store import events as kinds
from headstart.serve.store.archives import Archive, ArchiveFile, write_stretch
from headstart.serve.store.events import Body, Event, read_body
from headstart.serve.store.questions import FORGET_SNAPSHOTS, READ_BEFORE, READ_CLOSES, READ_ROWS, SAVE_SNAPSHOT
from headstart.serve.store.reader import CHECKPOINT, FOLD, Reader
from headstart.serve.store.store import Store, Transaction

SLICE = 100_000  # events of a file: what is in memory, and leaves the store in one turn


def archive_events(
    store: Store,
    experiment: str,
    before: int,
    folder: Path,
    body: Body,
    *,
    sources: Sources | None = None,
    clock: Callable[[], float] = time.time,
    slice_size: int = SLICE,
) -> list[ArchiveFile]:
    """Archive an experiment's events from before a time (microseconds since 1970); the files that were written.

    A decision whose window is open, or that a frozen policy has still to learn, is not old yet.
    """
    reader, files = Reader(store.query), list[ArchiveFile]()
    fold, _ = load_fold(experiment, reader, sources or Sources(), lambda position: None)
    if fold.position == 0:
        raise UnknownExperiment(f"no experiment {experiment!r} in this store")
    archive = reader.archive(experiment)
    after, limit = 0 if archive is None else archive.through, _find_limit(store, fold, before, clock)
    while after < limit:
        rows = store.query(READ_ROWS, (experiment, after, limit, slice_size))
        name = f"{experiment}-{after + 1}-{rows[-1][0]}-{rows[-1][7][:8]}.parquet"
        file = write_stretch(folder, name, rows, after)
        if Archive(experiment, [file]).read_file(file) != rows:
            raise StoreCorrupt(f"the archive {file.path} does not read as what was written: nothing was deleted")
        _hand_over(store, fold, file, after, {**body, "rows": len(rows)}, clock)
        files.append(file)
        after = file.through
    return files


def _find_limit(store: Store, fold: Fold, before: int, clock: Callable[[], float]) -> int:
    """The last event that may go."""
    if fold.config.outcome_window is not None:
        before = min(before, int(clock() * 1e6) - fold.config.window_length)
    limit: int = store.query(READ_BEFORE, (fold.name, before))[0][0] or 0
    return min(limit, fold.position if fold.frozen_at is None else fold.frozen_at)


def _find_open(turn: Transaction, fold: Fold, file: ArchiveFile) -> int:
    """The last decision whose window was closed by the end of a stretch: what closes those after it needs them."""
    if not fold.closes:
        return file.through
    archived, name = Reader(turn.query).last(fold.name, kinds.ARCHIVED), fold.name
    before: int = 0 if archived is None else archived.body["open_after"]
    closes = turn.query(READ_CLOSES, (name, file.after, file.through))
    closed: list[int] = [read_body(body)["through"] for _, _, body in closes]
    return max([before, *closed])


def _hand_over(
    store: Store, fold: Fold, file: ArchiveFile, after: int, body: Body, clock: Callable[[], float]
) -> None:
    """From the store to the file, in one turn: event, checkpoint, deletion."""
    name = fold.name
    with store.writing(name) as turn:
        reader, head = Reader(turn.query), turn.head
        known = reader.archive(name)
        if (0 if known is None else known.through) != after:
            raise OptionError(f"somebody else has archived events of {name!r} meanwhile: ask again")
        for event in reader.linked(name, fold.position, fold.hash):
            fold.apply(event)
        checkpoint = fold.save()
        if checkpoint is None:
            raise OptionError(f"the policy of {name!r} cannot be saved, so nothing could go on without its events")
        open_after, digest = _find_open(turn, fold, file), digest_checkpoint(checkpoint)
        told = {**body, "file": file.as_dict(), "open_after": open_after, "checkpoint": [fold.position, digest]}
        now = max(int(clock() * 1e6), head.time)
        archived = turn.insert([Event(head.sequence + 1, name, kinds.ARCHIVED, None, now, None, told)])
        for kind in (FOLD, CHECKPOINT):
            turn.execute(FORGET_SNAPSHOTS, (name, kind))
        turn.execute(SAVE_SNAPSHOT, (name, CHECKPOINT, fold.position, checkpoint.decode()))
        turn.take_away(file.through, open_after)
    fold.apply(archived[0])


def digest_checkpoint(checkpoint: bytes) -> str:
    """By which an `archived` event knows its checkpoint."""
    return blake2b(checkpoint, digest_size=16).hexdigest()
