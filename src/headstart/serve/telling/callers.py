"""Callers who are refused: how many requests of the last hour, and why; counted in memory, in this process."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, TypedDict

from headstart.serve.telling.outcomes import tell_share

_MINUTES = 60
_FEWEST, _SHARE = 20, 0.01  # refusals, and of all requests, before somebody is to look at it
_NAMED = 3  # reasons that an alarm names


class Answered(NamedTuple):
    """One minute of an experiment."""

    minute: int
    n: int
    refused: Counter[str]  # by the error's code


class Refused(TypedDict):
    """Of the last hour."""

    requests: int
    refused: int
    by_code: dict[str, int]


class Callers:
    """Requests by experiment and minute; safe from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._minutes: dict[str, list[Answered]] = {}
        self.totals: dict[tuple[str, str], int] = {}  # refused ever, by experiment and code

    def count(self, experiment: str, code: str | None = None, n: int = 1) -> None:
        """Requests that were answered, or refused with this code."""
        minute = int(self._clock() // 60)
        with self._lock:
            kept = self._minutes.setdefault(experiment, [])
            if not kept or kept[-1].minute != minute:
                kept.append(Answered(minute, 0, Counter()))
                del kept[: -_MINUTES - 1]
            kept[-1] = kept[-1]._replace(n=kept[-1].n + n)
            if code is not None:
                kept[-1].refused[code] += n
                self.totals[experiment, code] = self.totals.get((experiment, code), 0) + n

    def of_late(self, experiment: str) -> Refused:
        """The last hour."""
        first = int(self._clock() // 60) - _MINUTES
        with self._lock:
            late = [each for each in self._minutes.get(experiment, []) if each.minute > first]
            codes = sum((each.refused for each in late), Counter())
        by_code = dict(codes.most_common())
        return {"requests": sum(each.n for each in late), "refused": sum(by_code.values()), "by_code": by_code}


def tell_refused(told: Refused) -> list[str]:
    """An alarm, where many are refused."""
    n, total = told["refused"], told["requests"]
    if n < _FEWEST or n < _SHARE * total:
        return []
    reasons = [f"{count:,} {code.replace('_', ' ')}" for code, count in list(told["by_code"].items())[:_NAMED]]
    return [
        f"{n:,} of {total:,} requests of the last hour were refused ({tell_share(n / total)}): {', '.join(reasons)}. "
        "Do callers send what the experiment expects?"
    ]
