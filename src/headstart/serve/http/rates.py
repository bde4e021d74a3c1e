"""How often a caller may ask: a token bucket each."""

from __future__ import annotations

import time
from collections.abc import Callable

_MAX_CALLERS = 10_000


class Rates:
    """A bucket for every caller, by name; those who were away longest are forgotten first."""

    def __init__(self, rate: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._buckets: dict[str, Bucket] = {}

    def take(self, who: str) -> bool:
        """Whether this caller may ask once more."""
        return self._rate is None or self._bucket(who, self._rate).take(self._clock())

    def charge(self, who: str, n: int) -> bool:
        """Charge a caller who was let in for n more; no if earlier ones have used up everything."""
        return self._rate is None or self._bucket(who, self._rate).charge(n)

    def _bucket(self, who: str, rate: float) -> Bucket:
        bucket = self._buckets.pop(who, None) or Bucket(rate, max(1.0, rate))
        self._buckets[who] = bucket  # at the end: the first is the one that was away longest
        if len(self._buckets) > _MAX_CALLERS:
            del self._buckets[next(iter(self._buckets))]
        return bucket


class Bucket:
    """A token bucket: `rate` a second, `size` at once. A batch may leave it in debt, which time pays back."""

    __slots__ = ("_last", "_tokens", "rate", "size")

    def __init__(self, rate: float, size: float) -> None:
        self.rate, self.size = rate, size
        self._tokens, self._last = size, -float("inf")

    def take(self, now: float) -> bool:
        """One token, if there is one."""
        if now > self._last:
            self._tokens = min(self.size, self._tokens + (now - self._last) * self.rate)
            self._last = now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def charge(self, n: int) -> bool:
        """n more tokens, also those of the future: a batch is never larger than what can be paid, only dearer."""
        if self._tokens < 0.0:
            return False
        self._tokens -= n
        return True
