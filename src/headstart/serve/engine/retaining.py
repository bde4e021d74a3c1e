"""Retaining: a thread that archives what is older than the store is to keep, now and then, beside the decisions.

Of several processes the one that looks after an experiment does it. A stretch is small, so that nobody waits long for
its turn; what fails is logged and tried again at the next time.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from headstart.errors import HeadstartError
from headstart.serve.engine.archiving import archive_events
from headstart.serve.engine.ledger import Ledger
from headstart.serve.retention import Retention

PERIOD = 3600.0  # seconds
_FIRST = 60.0  # seconds after the start: what is being opened comes first
_SLICE = 10_000  # events

logger = logging.getLogger("headstart.serve")


class Retainer:
    """`ledgers` tells which experiments there are; without a retention it does nothing."""

    def __init__(self, ledgers: Callable[[], Mapping[str, Ledger]], clock: Callable[[], float]) -> None:
        self._ledgers, self._clock = ledgers, clock
        self._retention: Retention | None = None
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, retention: Retention | None) -> None:
        """Keep so much from now on."""
        self._retention = retention
        if retention is not None and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="headstart-retainer", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        wait = _FIRST
        while not self._is_over.wait(wait):
            self.retain()
            wait = PERIOD

    def retain(self) -> dict[str, int]:
        """Archive now; how many events of each experiment."""
        retention, archived = self._retention, dict[str, int]()
        if retention is None:
            return archived
        before, folder = round((self._clock() - retention.keep * 86_400.0) * 1e6), Path(retention.archive)
        for name, ledger in self._ledgers().items():
            if not ledger.is_folder or ledger.broken is not None:
                continue
            try:
                files = archive_events(
                    ledger.store, name, before, folder, {"by": "headstart"},
                    sources=ledger.sources, clock=self._clock, slice_size=_SLICE,
                )  # fmt: skip
            except HeadstartError as error:
                logger.error("experiment %r: its old events could not be archived: %s", name, error)
                continue
            archived[name] = sum(file.through - file.after for file in files)
        return archived

    def close(self) -> None:
        """Begin no other; one that is being written ends with its turn."""
        self._is_over.set()
