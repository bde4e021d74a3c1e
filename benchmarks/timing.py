"""Timing: the best of several goes, and tables of ratios."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence


def best_seconds(job: Callable[[], object], goes: int = 3) -> float:
    """The quickest of several goes: what the machine can do when nobody else is at it."""
    seconds = []
    for _ in range(goes):
        started = time.perf_counter()
        job()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table in Markdown, to be pasted into the README."""
    print(f"\n{title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")
