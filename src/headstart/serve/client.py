"""A small client: decide and report outcomes over HTTP, with retries that cannot decide or count twice."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from headstart.extras import brought_by
from headstart.serve.errors import UnknownDecision
from headstart.serve.talking import (
    Attempt,
    Fallback,
    Manner,
    Pause,
    Reply,
    Request,
    RequestFailed,
    Requests,
    converse,
)

if TYPE_CHECKING:
    from types import ModuleType

    import httpx

    from headstart.serve.config import Label
    from headstart.serve.engine.answers import DecisionAnswer, ReceiptAnswer
    from headstart.serve.engine.state import State
    from headstart.serve.telling.one_decision import OneDecision
    from headstart.serve.units import Unit

__all__ = ["Client", "RequestFailed", "reload_service"]


class Client:
    """Talks to one experiment of a decision service.

    Retries are safe: `decide` sends an event id of its own making, and the service answers the same id with the same
    decision; an outcome is counted once whatever the number of deliveries.

    Parameters
    ----------
    url
        Where the service is, as printed by `headstart serve`.
    experiment
        Its name in the configuration.
    key
        An API key, if the service asks for one.
    timeout, retries
        Seconds per attempt, and attempts after the first. Waits grow from 50 ms, doubled each time, with jitter.
    fallback
        The action that `decide` answers with while the service is away (no answer, or 429 or 5xx to the last). It is
        marked `is_fallback` and counted in `fallbacks`, and no outcome of it is sent. None: RequestFailed is raised.
    patience
        Seconds for all attempts of a decision together; 1 with a fallback, else as long as the attempts take.

    Examples
    --------
    >>> with Client("http://127.0.0.1:8000", "ads", fallback="image") as ads:  # doctest: +SKIP
    ...     decision = ads.decide({"age": 34, "likes_videos": "yes"})
    ...     ads.outcome(decision["event_id"], 1.0)
    """

    def __init__(
        self,
        url: str,
        experiment: str,
        *,
        key: str | None = None,
        timeout: float = 2.0,
        retries: int = 4,
        fallback: Label | None = None,
        patience: float | None = None,
        sleep: Callable[[float], None] = time.sleep,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = import_httpx().Client(base_url=url, headers=headers_of(key), transport=transport)
        self._manner = manner_of(timeout, retries, fallback, patience)
        self._requests, self._fallback, self._sleep = Requests(experiment), Fallback(fallback), sleep

    @property
    def fallbacks(self) -> int:
        """Decisions that were the fallback's."""
        return self._fallback.count

    def decide(
        self,
        context: Mapping[str, object] | None = None,
        *,
        available: Sequence[Label] | None = None,
        event_id: str | None = None,
        unit: str | None = None,
    ) -> DecisionAnswer:
        """{event_id, action, propensity, probabilities, version} for this user.

        A `unit` (a person, a device) that comes back keeps its action; `follows` then says since which decision.
        """
        if self._fallback.is_resting(available):
            return self._fallback.answer()
        try:
            answer: DecisionAnswer = self._send(
                self._requests.decide(context, available, event_id, unit), self._manner
            )
        except RequestFailed as error:
            return self._fallback.answer(available, error)
        return answer

    def outcome(
        self, event_id: str | Unit, outcome: float | Mapping[str, float], *, report_id: str | None = None
    ) -> ReceiptAnswer:
        """Report what came of a decision, or of a unit's newest one, `Unit("customer-7")`; safe to repeat.

        Outcomes with names are a mapping, `{"click": 1, "revenue": 12.5}`. Where reports add up, one that is sent
        again is known by its `report_id`; without one it is a new report. Of a unit that is decided for again in
        between, a repeated report counts for the newer decision.
        """
        known = Fallback.receipt(event_id)
        receipt: ReceiptAnswer = known or self._send(self._requests.outcome(event_id, outcome, report_id))
        return receipt

    def decide_many(self, contexts: Iterable[Mapping[str, object] | None]) -> list[DecisionAnswer]:
        """One decision per context, in one request and one commit."""
        users = list(contexts)
        if self._fallback.is_resting(None):
            return [self._fallback.answer() for _ in users]
        try:
            decisions: list[DecisionAnswer] = self._send(self._requests.decide_many(users), self._manner)["decisions"]
        except RequestFailed as error:
            return [self._fallback.answer(None, error) for _ in users]
        return decisions

    def outcome_many(self, outcomes: Mapping[str, float] | Mapping[str | Unit, Any]) -> list[ReceiptAnswer]:
        """Report several outcomes by event id or unit."""
        sent = {of: value for of, value in outcomes.items() if Fallback.receipt(of) is None}
        told = iter(self._send(self._requests.outcome_many(sent))["outcomes"]) if sent else iter(())
        return [Fallback.receipt(of) or next(told) for of in outcomes]

    def state(self) -> State:
        """What the experiment believes at present."""
        state: State = self._send(self._requests.state())
        return state

    def _send(self, request: Request, manner: Manner | None = None) -> Any:  # JSON: what it holds, the path says
        return _carry_out(self._http, request, manner or self._manner._replace(patience=None), self._sleep)

    def close(self) -> None:
        """Let the connections go."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def reload_service(url: str, *, key: str | None = None, timeout: float = 60.0) -> dict[str, str]:
    """Have a service read its configuration again; what became of each experiment."""
    with import_httpx().Client(base_url=url.rstrip("/"), headers=headers_of(key)) as http:
        told: dict[str, str] = _carry_out(http, Request("/v1/reload", {}), Manner(timeout, 0), time.sleep)[
            "experiments"
        ]
    return told


def ask_about_decision(
    url: str, event_id: str, *, experiment: str | None = None, key: str | None = None
) -> OneDecision:
    """Why a decision of a running service was made, as its page says it: of one experiment, or of any."""
    manner = Manner(10.0, 0)
    with import_httpx().Client(base_url=url.rstrip("/"), headers=headers_of(key)) as http:
        names = [experiment]
        if experiment is None:
            names = _carry_out(http, Request("/v1/experiments"), manner, time.sleep)["experiments"]
        for name in names:
            try:
                path = f"/v1/{name}/decisions/{quote(event_id, safe='')}"
                told: OneDecision = _carry_out(http, Request(path), manner, time.sleep)
            except RequestFailed as error:
                if error.code != "unknown_decision":
                    raise
                continue
            return told
    raise UnknownDecision(f"no decision {event_id!r:.80} in {', '.join(map(str, names))}")


def resume_guardrail(
    url: str, experiment: str, guardrail: str, reason: str = "", *, key: str | None = None, timeout: float = 60.0
) -> int:
    """Have a policy decide again after a guardrail has tripped; the event that says so, 0 if it had not."""
    request = Request(f"/v1/{experiment}/resume", {"guardrail": guardrail, "reason": reason})
    with import_httpx().Client(base_url=url.rstrip("/"), headers=headers_of(key)) as http:
        return int(_carry_out(http, request, Manner(timeout, 0), time.sleep)["sequence"])


def _carry_out(http: httpx.Client, request: Request, manner: Manner, sleep: Callable[[float], None]) -> Any:
    talk = converse(request, manner)
    step = next(talk)
    try:
        while True:
            if isinstance(step, Pause):
                sleep(step.seconds)
                step = next(talk)
            else:
                step = talk.send(_try(http, step))
    except StopIteration as done:
        return done.value


def _try(http: httpx.Client, attempt: Attempt) -> Reply:
    (path, body), timeout = attempt
    try:
        if body is None:
            return as_reply(http.get(path, timeout=timeout))
        return as_reply(http.post(path, json=body, timeout=timeout))
    except import_httpx().TransportError as error:
        return no_reply(http.base_url, error)


def import_httpx() -> ModuleType:
    """The library that carries requests, or what to install."""
    with brought_by("serve"):
        import httpx
    return httpx


def headers_of(key: str | None) -> dict[str, str]:
    """Of a caller with this API key."""
    return {} if key is None else {"Authorization": f"Bearer {key}"}


def manner_of(timeout: float, retries: int, fallback: Label | None, patience: float | None) -> Manner:
    """Who has something to fall back on waits a second in all."""
    return Manner(timeout, retries, 1.0 if patience is None and fallback is not None else patience).check()


def as_reply(response: httpx.Response) -> Reply:
    """A response's status and JSON."""
    try:
        return Reply(response.status_code, response.json())
    except ValueError:
        return Reply(response.status_code)


def no_reply(url: object, error: Exception) -> Reply:
    """Why nothing came."""
    said = re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or type(error).__name__
    return Reply(None, fault=f"no answer from {url}: {said}. Is the service running there?")
