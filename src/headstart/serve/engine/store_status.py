"""StoreStatus: whether an experiment's store answers, each change said once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from headstart.errors import HeadstartError
from headstart.serve.errors import HistoryLost

_PROBE_SECONDS = 1.0  # between two tries of a store that failed
logger = logging.getLogger("headstart.serve")


class StoreStatus:
    """What one thread notes of the store and others look at. `ticks` gives seconds since anything."""

    def __init__(self, name: str, ticks: Callable[[], float]) -> None:
        self.error: str | None = None  # why the last turn failed; None after one that did not
        self.has_lost = False  # whether it failed because acknowledged events are not there
        self.committed: float | None = None  # when the last event was
        self._name, self._ticks = name, ticks
        self._busy_since: float | None = None
        self._tried = -1e9

    @contextmanager
    def busy(self) -> Iterator[float]:
        """While the store is asked; since when."""
        self._busy_since = since = self._ticks()
        try:
            yield since
        finally:
            self._busy_since = None

    def hangs(self, seconds: float) -> bool:
        """Whether what is asked of it now has taken longer than this."""
        since = self._busy_since
        return since is not None and self._ticks() - since > seconds

    def fail(self, error: HeadstartError) -> None:
        """It failed."""
        if self.error is None:
            self._tried = self._ticks()
            logger.error("experiment %r: the store fails: %s", self._name, error)
        self.error, self.has_lost = str(error), isinstance(error, HistoryLost)

    def succeed(self) -> None:
        """A write succeeded, so the next one may."""
        if self.error is not None:
            logger.warning("experiment %r: the store works again; it had failed: %s", self._name, self.error)
        self.error, self.has_lost = None, False

    def begin_probe(self) -> bool:
        """Whether a store that failed is to be tried again now."""
        if self.error is None or self._ticks() - self._tried < _PROBE_SECONDS:
            return False
        self._tried = self._ticks()
        return True
