"""Audits of the logs that experiments began with: made once each, beside the requests that ask for them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple

from headstart.errors import HeadstartError
from headstart.logs.log import Log
from headstart.serve.telling.report import finite_or_none


class Audited(NamedTuple):
    """What is to be said of a log."""

    verdict: str
    reasons: list[str]
    means: list[float | None] | None  # by weighting; None: there are only the raw ones


_PENDING = Audited("The log is being audited: look again in a moment", [], None)


class Audits:
    """By what a log is to an experiment: its hash, and the actions and columns that it was taken up with."""

    def __init__(self) -> None:
        self._known: dict[object, Future[Audited]] = {}
        self._lock = threading.Lock()

    def find(self, key: object, find_log: Callable[[], Log], patience: float) -> Audited:
        """The audit, if it is done within so many seconds; it goes on in any case."""
        with self._lock:
            future = self._known.get(key)
            if future is None:
                future = self._known[key] = Future()
                threading.Thread(target=_audit, args=(future, find_log), name="headstart-audit", daemon=True).start()
        try:
            return future.result(patience)
        except TimeoutError:
            return _PENDING


def _audit(future: Future[Audited], find_log: Callable[[], Log]) -> None:
    """The verdict on the log, and the means that weighting finds in it instead of the raw ones."""
    from headstart.judgement.audit.audit import audit

    try:
        found = audit(find_log())
        reasons = [f"{reason.text}: {reason.advice}" for reason in found.verdict.reasons]
        means = [finite_or_none(action.mean) for action in found.actions.actions]
        future.set_result(Audited(found.verdict.summary, reasons, means))
    except HeadstartError as error:
        future.set_result(Audited("The log could not be audited", [str(error)], None))
    except Exception as error:
        future.set_result(Audited("The log could not be audited", [f"{type(error).__name__}: {error}"], None))
