"""Waiting for what other threads and processes do."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Until it is so, or fail."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"it did not happen within {seconds:g} s"
        time.sleep(0.02)
