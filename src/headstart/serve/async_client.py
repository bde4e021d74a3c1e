"""The client for programs that wait without blocking."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from headstart.serve.client import as_reply, headers_of, import_httpx, manner_of, no_reply
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
    import httpx

    from headstart.serve.config import Label
    from headstart.serve.engine.answers import DecisionAnswer, ReceiptAnswer
    from headstart.serve.engine.state import State
    from headstart.serve.units import Unit


class AsyncClient:
    """`Client` with `await`: the same parameters, the same retries, the same fallback.

    Examples
    --------
    >>> async def show():  # doctest: +SKIP
    ...     async with AsyncClient("http://127.0.0.1:8000", "ads", fallback="image") as ads:
    ...         return await ads.decide({"age": 34, "likes_videos": "yes"})
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
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._http = import_httpx().AsyncClient(base_url=url, headers=headers_of(key), transport=transport)
        self._manner = manner_of(timeout, retries, fallback, patience)
        self._requests, self._fallback, self._sleep = Requests(experiment), Fallback(fallback), sleep

    @property
    def fallbacks(self) -> int:
        """Decisions that were the fallback's."""
        return self._fallback.count

    async def decide(
        self,
        context: Mapping[str, object] | None = None,
        *,
        available: Sequence[Label] | None = None,
        event_id: str | None = None,
        unit: str | None = None,
    ) -> DecisionAnswer:
        """{event_id, action, propensity, probabilities, version} for this user; a `unit` keeps its action."""
        if self._fallback.is_resting(available):
            return self._fallback.answer()
        try:
            answer: DecisionAnswer = await self._send(
                self._requests.decide(context, available, event_id, unit), self._manner
            )
        except RequestFailed as error:
            return self._fallback.answer(available, error)
        return answer

    async def outcome(
        self, event_id: str | Unit, outcome: float | Mapping[str, float], *, report_id: str | None = None
    ) -> ReceiptAnswer:
        """Report what came of a decision, or of a unit's newest one, as `Client.outcome` does; safe to repeat."""
        known = Fallback.receipt(event_id)
        receipt: ReceiptAnswer = known or await self._send(self._requests.outcome(event_id, outcome, report_id))
        return receipt

    async def decide_many(self, contexts: Iterable[Mapping[str, object] | None]) -> list[DecisionAnswer]:
        """One decision per context, in one request and one commit."""
        users = list(contexts)
        if self._fallback.is_resting(None):
            return [self._fallback.answer() for _ in users]
        try:
            answer = await self._send(self._requests.decide_many(users), self._manner)
        except RequestFailed as error:
            return [self._fallback.answer(None, error) for _ in users]
        decisions: list[DecisionAnswer] = answer["decisions"]
        return decisions

    async def outcome_many(self, outcomes: Mapping[str, float] | Mapping[str | Unit, Any]) -> list[ReceiptAnswer]:
        """Report several outcomes by event id or unit."""
        sent = {of: value for of, value in outcomes.items() if Fallback.receipt(of) is None}
        told = iter((await self._send(self._requests.outcome_many(sent)))["outcomes"]) if sent else iter(())
        return [Fallback.receipt(of) or next(told) for of in outcomes]

    async def state(self) -> State:
        """What the experiment believes at present."""
        state: State = await self._send(self._requests.state())
        return state

    async def _send(
        self, request: Request, manner: Manner | None = None
    ) -> Any:  # JSON: what it holds, the path says
        talk = converse(request, manner or self._manner._replace(patience=None))
        step = next(talk)
        try:
            while True:
                if isinstance(step, Pause):
                    await self._sleep(step.seconds)
                    step = next(talk)
                else:
                    step = talk.send(await self._try(step))
        except StopIteration as done:
            return done.value

    async def _try(self, attempt: Attempt) -> Reply:
        (path, body), timeout = attempt
        try:
            if body is None:
                return as_reply(await self._http.get(path, timeout=timeout))
            return as_reply(await self._http.post(path, json=body, timeout=timeout))
        except import_httpx().TransportError as error:
            return no_reply(self._http.base_url, error)

    async def close(self) -> None:
        """Let the connections go."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
