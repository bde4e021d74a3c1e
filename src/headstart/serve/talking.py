"""How a caller talks to the service, without a network: what is asked, when it is asked again, what an answer means.

A conversation is a generator: it yields attempts and pauses, is sent what came of an attempt, and returns the answer.
`Client` and `AsyncClient` carry it out, each in its own way, and docs/protocol.md says it for clients in other
languages, with scenarios that every one of them runs.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from headstart.checks import check_number, check_whole
from headstart.serve.errors import ServiceError
from headstart.serve.units import Unit

if TYPE_CHECKING:
    from headstart.serve.config import Label
    from headstart.serve.engine.answers import DecisionAnswer, ReceiptAnswer

RETRIED = frozenset({429, 502, 503, 504})  # that may be asked again: nothing was decided, or the same will be
_FIRST_PAUSE = 0.05  # seconds, doubled each time
_FALLBACK = "fallback-"  # how the ids of decisions begin that the service knows nothing of
_REST = 1.0  # seconds after a fallback in which the service is not asked


class RequestFailed(ServiceError):
    """The service refused a request, or could not be reached."""

    def __init__(self, message: str, status: int | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code = status, code

    @property
    def is_away(self) -> bool:
        """Whether the service could not be asked, as opposed to one that refused."""
        return self.status is None or self.status in RETRIED or self.status >= 500


class Request(NamedTuple):
    """What is asked: a path below the service's address, and a body; without one it is a GET."""

    path: str
    body: Mapping[str, object] | None = None


class Attempt(NamedTuple):
    """To be sent, once, with so many seconds for an answer."""

    request: Request
    timeout: float


class Pause(NamedTuple):
    """To be waited for."""

    seconds: float


class Reply(NamedTuple):
    """What came back: a status and the body's JSON, None where there is none; or no status and why nothing came."""

    status: int | None
    body: Any = None  # JSON: what it holds, the path says
    fault: str = ""


Step: TypeAlias = Attempt | Pause
Conversation: TypeAlias = Generator[Step, Reply | None, Any]


class Manner(NamedTuple):
    """How patient a caller is."""

    timeout: float  # seconds for an attempt
    retries: int  # attempts after the first
    patience: float | None = None  # seconds for all attempts of a decision; None: as long as they take

    def check(self) -> Manner:
        """Itself, if it can be."""
        check_number("timeout", self.timeout, low=1e-3)
        check_whole("retries", self.retries, 0)
        if self.patience is not None:
            check_number("patience", self.patience, low=1e-3)
        return self


def converse(request: Request, manner: Manner, clock: Callable[[], float] = time.monotonic) -> Conversation:
    """Ask until there is an answer, a refusal, or no patience left."""
    end = None if manner.patience is None else clock() + manner.patience
    for attempt in range(manner.retries + 1):
        left = manner.timeout if end is None else min(manner.timeout, end - clock())
        reply = yield Attempt(request, max(left, 1e-3))
        assert reply is not None
        if reply.status is not None and 200 <= reply.status < 300:
            return reply.body
        pause = _FIRST_PAUSE * 2**attempt * random.uniform(0.5, 1.5)
        is_over = end is not None and clock() + pause >= end
        if attempt == manner.retries or is_over or not (reply.status is None or reply.status in RETRIED):
            raise _as_error(reply)
        yield Pause(pause)
    raise AssertionError("unreachable")


def _as_error(reply: Reply) -> RequestFailed:
    if reply.status is None:
        return RequestFailed(reply.fault)
    try:
        told = reply.body["error"]
        return RequestFailed(told["message"], reply.status, told["code"])
    except (KeyError, TypeError):
        return RequestFailed(f"the service answered {reply.status}", reply.status)


class Requests:
    """What is asked of one experiment."""

    def __init__(self, experiment: str) -> None:
        self._path = f"/v1/{experiment}"

    def decide(
        self,
        context: Mapping[str, object] | None,
        available: Sequence[Label] | None,
        event_id: str | None,
        unit: str | None,
    ) -> Request:
        """One decision; it has its id before it is sent, so that it can be asked for again."""
        return Request(f"{self._path}/decide", _decision(context, available, event_id, unit))

    def decide_many(self, contexts: Iterable[Mapping[str, object] | None]) -> Request:
        """One decision per context."""
        return Request(f"{self._path}/decide/batch", {"decisions": [_decision(each) for each in contexts]})

    def outcome(self, of: str | Unit, outcome: float | Mapping[str, float], report_id: str | None) -> Request:
        """What came of a decision."""
        return Request(f"{self._path}/outcome", _report(of, outcome, report_id))

    def outcome_many(self, outcomes: Mapping[str | Unit, Any]) -> Request:
        """What came of several."""
        told = [_report(of, value, None) for of, value in outcomes.items()]
        return Request(f"{self._path}/outcome/batch", {"outcomes": told})

    def state(self) -> Request:
        """What the experiment believes."""
        return Request(f"{self._path}/state")


def _decision(
    context: Mapping[str, object] | None,
    available: Sequence[Label] | None = None,
    event_id: str | None = None,
    unit: str | None = None,
) -> dict[str, object]:
    body: dict[str, object] = {"context": dict(context or {}), "event_id": event_id or uuid.uuid4().hex}
    if available is not None:
        body["available"] = list(available)
    if unit is not None:
        body["unit"] = unit
    return body


def _report(of: str | Unit, outcome: float | Mapping[str, float], report_id: str | None) -> dict[str, object]:
    which = {"unit": of.name} if isinstance(of, Unit) else {"event_id": of}
    if isinstance(outcome, Mapping):
        return {**which, "outcomes": dict(outcome), "report_id": report_id or uuid.uuid4().hex}
    return {**which, "outcome": outcome}


class Rest:
    """The second after a failure in which the service is not asked, so that an outage costs callers no waiting."""

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._clock, self._until = clock or time.monotonic, -float("inf")

    def begin(self) -> None:
        """It was away just now."""
        self._until = self._clock() + _REST

    @property
    def is_on(self) -> bool:
        """Whether it is not to be asked at present."""
        return self._clock() < self._until


class Fallback:
    """What is shown while the service is away: one action, counted.

    Its decisions have ids of their own, and outcomes of theirs are not sent: the service knows nothing of them.
    """

    def __init__(self, action: Label | None, clock: Callable[[], float] | None = None) -> None:
        self.count = 0
        self._action, self._rest = action, Rest(clock)

    def is_resting(self, available: Sequence[Label] | None) -> bool:
        """Whether the service is not to be asked at present."""
        return self._can_show(available) and self._rest.is_on

    def _can_show(self, available: Sequence[Label] | None) -> bool:
        return self._action is not None and (available is None or self._action in available)

    def answer(self, available: Sequence[Label] | None = None, error: RequestFailed | None = None) -> DecisionAnswer:
        """The fallback's decision; raises the error where nothing can be shown instead, or it was a refusal."""
        if error is not None and not (error.is_away and self._can_show(available)):
            raise error
        assert self._action is not None
        if error is not None:
            self._rest.begin()
        self.count += 1
        chances = {str(self._action): 1.0}
        event_id = _FALLBACK + uuid.uuid4().hex
        return {
            "event_id": event_id, "action": self._action, "propensity": 1.0, "probabilities": chances, "version": 0,
            "is_fallback": True,
        }  # fmt: skip

    @staticmethod
    def receipt(of: str | Unit) -> ReceiptAnswer | None:
        """What becomes of the outcome of a fallback's decision; None: it is the service's."""
        if isinstance(of, Unit) or not of.startswith(_FALLBACK):
            return None
        return {"event_id": of, "status": "fallback"}
