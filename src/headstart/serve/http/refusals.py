"""Failures, told twice: to the caller what to do, to the log what happened.

Paths, hosts and a driver's words stay with us. The log has a failure when it begins and, while it lasts, once in
`_QUIET_SECONDS` with the number of requests that met it: a full disk is one line, not one a request.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from typing import NamedTuple

from headstart.errors import HeadstartError
from headstart.serve.errors import (
    ConflictError,
    HistoryLost,
    PolicyFailed,
    StillOpening,
    StoreCorrupt,
    StoreUnavailable,
    TooSlow,
    UnknownDecision,
    UnknownExperiment,
)
from headstart.serve.http.wire import RequestError

logger = logging.getLogger("headstart.serve")
_QUIET_SECONDS = 10.0
_LISTING = re.compile(r"; (did you mean .*?\? )?known: ")  # how our errors list what there is
_FAILURES: tuple[tuple[type[HeadstartError], int, str, str], ...] = (
    (HistoryLost, 503, "history_lost",
     "the store lacks events that it once had: nothing is recorded until somebody has looked at it"),
    (TooSlow, 503, "too_slow",
     "no answer by the deadline: it may still be recorded, and asking again with the same event_id is safe"),
    (StoreUnavailable, 503, "store_unavailable",
     "the store cannot be written now: ask again with the same event_id, nothing can count twice"),
    (StoreCorrupt, 500, "store_corrupt", "the store contradicts itself: the service's log says where"),
    (PolicyFailed, 500, "policy_failed", "the policy failed and nothing was recorded: the service's log says why"),
)  # fmt: skip
_MISTAKES: tuple[tuple[type[HeadstartError], int, str], ...] = (
    (StillOpening, 503, "opening"),
    (UnknownExperiment, 404, "unknown_experiment"),
    (UnknownDecision, 404, "unknown_decision"),
    (ConflictError, 409, "conflict"),
    (HeadstartError, 422, "invalid"),
)


class _Told(NamedTuple):
    cause: str
    time: float
    since: int  # requests that met the same since then


class Refusals:
    """How what was raised is answered."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: dict[str, _Told] = {}

    def of(self, error: Exception, *, may_look: bool) -> RequestError:
        """The answer; the log has the cause. A caller who may not look is not told what else there is."""
        if isinstance(error, RequestError):
            if error.status == 503:
                self._tell(error.code, str(error))
            return error
        for failure, status, code, message in _FAILURES:
            if isinstance(error, failure):
                self._tell(code, str(error))
                return RequestError(status, code, message)
        for mistake, status, code in _MISTAKES:
            if isinstance(error, mistake):
                text = str(error)
                return RequestError(status, code, text if may_look else _LISTING.split(text)[0])
        logger.error("a request failed", exc_info=error)
        return RequestError(500, "internal", "the service failed: see its log")

    def _tell(self, code: str, cause: str) -> None:
        told, now = self._told.get(code), self._clock()
        if told is not None and told.cause == cause and now - told.time < _QUIET_SECONDS:
            self._told[code] = told._replace(since=told.since + 1)
            return
        more = f" (and {told.since:,} requests since the last word on it)" if told is not None and told.since else ""
        logger.error("requests are refused, %s: %s%s", code, cause, more)
        self._told[code] = _Told(cause, now, 0)
