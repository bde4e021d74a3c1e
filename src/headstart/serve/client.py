"""A small client: decide and report outcomes over HTTP, with retries that cannot decide or count twice."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from headstart.errors import MissingExtraError
from headstart.serve.errors import ServiceError
from headstart.serve.units import Unit

if TYPE_CHECKING:
    from httpx import Response

    from headstart.serve.config import Label
    from headstart.serve.engine.answers import DecisionAnswer, ReceiptAnswer
    from headstart.serve.engine.state import State

_RETRIED = frozenset({429, 502, 503, 504})


class RequestFailed(ServiceError):
    """The service refused a request, or could not be reached."""

    def __init__(self, message: str, status: int | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code = status, code


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
    """

    def __init__(
        self,
        url: str,
        experiment: str,
        *,
        key: str | None = None,
        timeout: float = 2.0,
        retries: int = 4,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtraError("httpx", "serve") from None

        self._errors: tuple[type[Exception], ...] = (httpx.TransportError,)
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._http = httpx.Client(base_url=url, timeout=timeout, headers=headers)
        self._path, self._retries, self._sleep = f"/v1/{experiment}", retries, sleep

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
        answer: DecisionAnswer = self._send("/decide", _request(context, available, event_id, unit))
        return answer

    def outcome(
        self, event_id: str | Unit, outcome: float | Mapping[str, float], *, report_id: str | None = None
    ) -> ReceiptAnswer:
        """Report what came of a decision, or of a unit's newest one, `Unit("customer-7")`; safe to repeat.

        Outcomes with names are a mapping, `{"click": 1, "revenue": 12.5}`. Where reports add up, one that is sent
        again is known by its `report_id`; without one it is a new report. Of a unit that is decided for again in
        between, a repeated report counts for the newer decision.
        """
        receipt: ReceiptAnswer = self._send("/outcome", _report(event_id, outcome, report_id))
        return receipt

    def decide_many(self, contexts: Iterable[Mapping[str, object] | None]) -> list[DecisionAnswer]:
        """One decision per context, in one request and one commit."""
        body = {"decisions": [_request(context) for context in contexts]}
        decisions: list[DecisionAnswer] = self._send("/decide/batch", body)["decisions"]
        return decisions

    def outcome_many(self, outcomes: Mapping[str, float] | Mapping[str | Unit, Any]) -> list[ReceiptAnswer]:
        """Report several outcomes by event id or unit."""
        body = {"outcomes": [_report(of, value, None) for of, value in outcomes.items()]}
        receipts: list[ReceiptAnswer] = self._send("/outcome/batch", body)["outcomes"]
        return receipts

    def state(self) -> State:
        """What the experiment believes at present."""
        state: State = self._send("/state", None)
        return state

    def _send(self, path: str, body: Mapping[str, object] | None) -> Any:  # JSON: what it holds, the path says
        for attempt in range(self._retries + 1):
            is_last = attempt == self._retries
            try:
                if body is None:
                    response = self._http.get(self._path + path)
                else:
                    response = self._http.post(self._path + path, json=body)
            except self._errors as error:
                if is_last:
                    raise RequestFailed(f"no answer from {self._http.base_url}: {error}") from error
            else:
                if response.is_success:
                    return response.json()
                if is_last or response.status_code not in _RETRIED:
                    raise _as_error(response)
            self._sleep(0.05 * 2**attempt * random.uniform(0.5, 1.5))
        raise AssertionError("unreachable")

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
    try:
        import httpx
    except ImportError:
        raise MissingExtraError("httpx", "serve") from None

    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    try:
        response = httpx.post(f"{url.rstrip('/')}/v1/reload", json={}, headers=headers, timeout=timeout)
    except httpx.TransportError as error:
        raise RequestFailed(f"no answer from {url}: {error}") from error
    if not response.is_success:
        raise _as_error(response)
    told: dict[str, str] = response.json()["experiments"]
    return told


def _request(
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


def _as_error(response: Response) -> RequestFailed:
    try:
        told = response.json()["error"]
        return RequestFailed(told["message"], response.status_code, told["code"])
    except (ValueError, KeyError, TypeError):
        return RequestFailed(f"{response.status_code} from {response.url}", response.status_code)
