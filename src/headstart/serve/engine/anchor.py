"""The anchor: a small file outside the store that remembers how far each experiment had come, and by which hash.

A store that lost its tail (its write-ahead log was deleted, an old copy was put back, the file is a new one) is sound
in itself: what is missing can only be seen from outside. The anchor is written about once a second, after what it
speaks of is durable, and once more at the end. It may lag behind the store; a store behind it has
lost events.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import orjson

from headstart.errors import OptionError
from headstart.serve.errors import HistoryLost
from headstart.serve.store.reader import Reader
from headstart.serve.store.store import Head

_WRITE_SECONDS = 1.0
logger = logging.getLogger("headstart.serve")


class Anchored(NamedTuple):
    """What an anchor says: of which store, and each experiment's epoch, sequence number and hash.

    The epoch is each experiment's own: when a new one begins, some have been seen in it and others not yet.
    """

    store: str
    heads: Mapping[str, tuple[int, int, str]]


def read_anchor(path: Path) -> Anchored | None:
    """An anchor, or None where there is none."""
    try:
        told = orjson.loads(path.read_bytes())
        return Anchored(told["store"], {name: (e, n, h) for name, (e, n, h) in told["heads"].items()})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise OptionError(f"the anchor {path} cannot be read ({error}): delete it to go on without it") from None


def find_losses(anchored: Anchored, reader: Reader, names: Iterable[str]) -> Iterator[HistoryLost]:
    """Experiments of which the store lacks events that the anchor knows; in another store, all of them."""
    for name in names:
        head, known = reader.head(name), anchored.heads.get(name)
        if head.store != anchored.store:
            come_to = "" if known is None else f", which had come to event {known[1]}"
            yield HistoryLost(
                f"{name!r}: this is another store than the one that the anchor knows{come_to}. Bring that one back, "
                "or delete the anchor to go on with this one"
            )
        elif known is not None and not _has(reader, name, head.epoch, known):
            yield HistoryLost(
                f"{name!r}: the store had come to event {known[1]}, and now it is at event {head.sequence} and its "
                "history is another: events that were acknowledged are lost. Bring them back, or go on without them "
                "by `headstart store accept`"
            )


def _has(reader: Reader, name: str, epoch: int, known: tuple[int, int, str]) -> bool:
    known_epoch, sequence, hash = known
    return known_epoch < epoch or (known_epoch == epoch and reader.hash_at(name, sequence) == hash)


class Anchor:
    """Keeps the file up to date; safe from any thread. Without a path it does nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._known = None if path is None else read_anchor(path)
        self._written = self._known
        self._failure: str | None = None  # why it could not be written
        self._at = -_WRITE_SECONDS

    def check(self, name: str, reader: Reader) -> None:
        """Raise HistoryLost if the store lacks what the anchor knows of an experiment."""
        known = self._known
        if known is not None:
            for loss in find_losses(known, reader, [name]):
                raise loss

    def note(self, name: str, head: Head, *, now: bool = False) -> None:
        """An experiment has come this far; the file is written at most once a second, or at once."""
        if self._path is None:
            return
        with self._lock:
            known = self._known
            others = known.heads if known is not None and known.store == head.store else {}
            come_to = head.epoch, head.sequence, head.hash
            if others.get(name) != come_to:
                self._known = Anchored(head.store, {**others, name: come_to})
            if self._known != self._written and (now or time.monotonic() - self._at >= _WRITE_SECONDS):
                self._write(self._path)

    def _write(self, path: Path) -> None:
        assert self._known is not None
        self._at, new = time.monotonic(), path.with_name(f"{path.name}.{os.getpid()}")
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(orjson.dumps(self._known._asdict()))
                stream.flush()
                os.fsync(stream.fileno())  # a power cut must not leave an empty file under its name
            new.replace(path)
        except OSError as error:
            if str(error) != self._failure:  # once per cause, not once a second
                logger.error("the anchor %s cannot be written, losses may go unnoticed: %s", path, error)
            self._failure = str(error)
        else:
            self._written = self._known
            if self._failure is not None:
                logger.warning("the anchor %s is written again", path)
            self._failure = None
