"""Audits of the logs that experiments began with: on record, or made once each beside the requests that ask for them.

A warm start records its audit; only one of an earlier headstart has none. Either is of the log as it was read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple

from headstart.logs.log import Log
from headstart.serve.engine.judging import judge_log
from headstart.serve.store.events import Body


class Audited(NamedTuple):
    """What is to be said of a log."""

    decision: str | None  # None: there is none, or not yet
    verdict: str
    reasons: list[str]
    means: dict[str, float | None]  # by weighting, per action; empty: there are only the raw ones

    @classmethod
    def of(cls, found: Body) -> Audited:
        """From what is recorded of an audit."""
        verdict = found["verdict"]
        reasons = [f"{reason['text']}: {reason['advice']}" for reason in verdict["reasons"]]
        actions = (found.get("actions") or {}).get("actions", [])
        means = {str(action["name"]): action["mean"] for action in actions}
        return cls(verdict["decision"], verdict["summary"], reasons, means)


_PENDING = Audited(None, "The log is being audited: look again in a moment", [], {})


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
    try:
        future.set_result(Audited.of(judge_log(find_log())))
    except Exception as error:  # its file may be gone
        future.set_result(Audited(None, "The log could not be audited", [str(error)], {}))
