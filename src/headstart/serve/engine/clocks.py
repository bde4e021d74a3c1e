"""The clock against the events: their times never go back, so one from the future holds up all that wait for time."""

from __future__ import annotations

import logging

_TOLERANCE = 60.0  # seconds: clocks of several machines differ by less

logger = logging.getLogger("headstart.serve")


class ClockWatch:
    """How far the clock is behind an experiment's newest event; said once when it begins and once when it is over."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.behind = 0.0  # seconds; 0 within what clocks may differ by

    def look(self, newest: int, now: int) -> None:
        """Compare the newest event's time with the clock, both in microseconds."""
        behind, was = (newest - now) / 1e6, self.behind
        self.behind = behind if behind > _TOLERANCE else 0.0
        if self.behind and not was:
            logger.error(
                "experiment %r: the clock is %.0f s behind the newest event, so outcome windows stay open as long: "
                "set it right, or find out which machine's clock was ahead",
                self._name,
                self.behind,
            )
        elif was and not self.behind:
            logger.warning("experiment %r: the clock has caught up with the newest event", self._name)
