"""The HTTP skin: an ASGI app around an engine.

Decisions and outcomes, which come by the thousand, are answered here with nothing in between; everything else goes
through Starlette.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ParamSpec, TypeAlias

from headstart.errors import HeadstartError
from headstart.serve.engine.answers import as_decision_answer, as_receipt_answer
from headstart.serve.engine.engine import Engine
from headstart.serve.http.access import Door, read_keys
from headstart.serve.http.metrics import Metrics
from headstart.serve.http.views import make_routes
from headstart.serve.http.wire import (
    ErrorAnswer,
    RequestError,
    as_error,
    as_json,
    as_refusal,
    read_decide,
    read_many,
    read_object,
    read_outcome,
)
from headstart.serve.options import ServerOptions
from headstart.serve.telling.overview import Overview

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

P = ParamSpec("P")
Handler: TypeAlias = Callable[[str, dict[str, object]], Awaitable[object]]  # (experiment, body) -> what is answered

logger = logging.getLogger("headstart.serve")
REFUSED = {
    401: ("no_key", "an API key is needed: Authorization: Bearer KEY"),
    403: ("wrong_scope", "this key may not do that"),
    429: ("too_many_requests", "too many requests: wait a second"),
}


class App:
    """An ASGI app. It owns the engine: the engine is closed when the app is."""

    def __init__(self, engine: Engine, options: ServerOptions | None = None) -> None:
        self.engine = engine
        self.options = options or ServerOptions.read(engine.config.server)
        self.overviews = {name: Overview(engine, name) for name in engine.config.experiments}
        self.metrics = Metrics(engine, self.overviews)
        self.door = Door(read_keys(engine.config.keys), rate_limit=self.options.rate_limit)
        self._posts: dict[str, tuple[str, Handler]] = {
            "decide": ("decide", self._decide),
            "decide/batch": ("decide", self._decide_many),
            "outcome": ("outcome", self._outcome),
            "outcome/batch": ("outcome", self._outcome_many),
            "freeze": ("admin", self._freeze),
            "unfreeze": ("admin", self._unfreeze),
            "roll-back": ("admin", self._roll_back),
            "withdraw-log": ("admin", self._withdraw_log),
        }
        self._rest = make_routes(self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request (or the server's start and stop)."""
        if scope["type"] == "http" and scope["method"] == "POST":
            version, _, rest = scope["path"].removeprefix("/").partition("/")
            experiment, _, verb = rest.partition("/")
            found = self._posts.get(verb) if version == "v1" else None
            if found is not None:
                await self._post(scope, receive, send, experiment, *found)
                return
        await self._rest(scope, receive, send)

    async def _post(
        self, scope: Scope, receive: Receive, send: Send, experiment: str, needed: str, handler: Handler
    ) -> None:
        status = 200
        try:
            self.check(scope, needed)
            body = read_object(await self._read_body(scope, receive))
            answer: object = await handler(experiment, body)
        except RequestError as error:
            status, answer = error.status, as_error(error)
        except HeadstartError as error:
            refusal = as_refusal(error)
            status, answer = refusal.status, as_error(refusal)
        except Exception:
            logger.exception("request failed", extra={"path": scope["path"]})
            status, answer = 500, as_error(RequestError(500, "internal", "the service failed: see its log"))
        self.metrics.count_answer(status)
        await send_json(send, status, as_json(answer))

    def check(self, scope: Scope, needed: str) -> None:
        """Refuse a caller without the right key, or one who asks too often."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        authorization = next((value for name, value in headers if name == b"authorization"), None)
        client = scope.get("client")
        status = self.door.check(authorization, needed, client[0] if client else "")
        if status != 200:
            raise RequestError(status, *REFUSED[status])

    async def _read_body(self, scope: Scope, receive: Receive) -> bytes:
        limit = self.options.body_limit
        message = await receive()
        body: bytes = message.get("body", b"")
        if message.get("more_body"):
            parts, size = [body], len(body)
            while message.get("more_body") and size <= limit:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise RequestError(400, "disconnected", "the caller went away")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
            body = b"".join(parts)
        if len(body) > limit:
            raise RequestError(413, "too_large", f"the body must be at most {limit} bytes")
        return body

    async def _decide(self, experiment: str, body: dict[str, object]) -> object:
        decision = await self.engine.decide_async(experiment, **read_decide(body))
        return as_decision_answer(decision)

    async def _decide_many(self, experiment: str, body: dict[str, object]) -> object:
        asks = [read_decide(item, f"decisions[{i}].") for i, item in enumerate(read_many(body, "decisions"))]
        answers = await self.engine.decide_many_async(experiment, asks)
        return {
            "decisions": [_refused(a) if isinstance(a, HeadstartError) else as_decision_answer(a) for a in answers]
        }

    async def _outcome(self, experiment: str, body: dict[str, object]) -> object:
        return as_receipt_answer(await self.engine.outcome_async(experiment, *read_outcome(body)))

    async def _outcome_many(self, experiment: str, body: dict[str, object]) -> object:
        asks = [read_outcome(item, f"outcomes[{i}].") for i, item in enumerate(read_many(body, "outcomes"))]
        answers = await self.engine.outcome_many_async(experiment, asks)
        told = [_refused(a) if isinstance(a, HeadstartError) else as_receipt_answer(a) for a in answers]
        return {"outcomes": told}

    async def _freeze(self, experiment: str, body: dict[str, object]) -> object:
        return await _steer(self.engine.freeze, experiment, _read_reason(body))

    async def _unfreeze(self, experiment: str, body: dict[str, object]) -> object:
        return await _steer(self.engine.unfreeze, experiment, _read_reason(body))

    async def _withdraw_log(self, experiment: str, body: dict[str, object]) -> object:
        return await _steer(self.engine.withdraw_log, experiment, _read_reason(body))

    async def _roll_back(self, experiment: str, body: dict[str, object]) -> object:
        version = body.pop("version", None)
        if not isinstance(version, int) or isinstance(version, bool):
            raise RequestError(422, "invalid", "version must be the whole number of a version to go back to")
        return await _steer(self.engine.roll_back, experiment, version, _read_reason(body))


async def _steer(verb: Callable[P, int], *given: P.args, **options: P.kwargs) -> object:
    from starlette.concurrency import run_in_threadpool

    return {"sequence": await run_in_threadpool(verb, *given, **options)}


def _refused(error: HeadstartError) -> ErrorAnswer:
    return as_error(as_refusal(error))


def _read_reason(body: dict[str, object]) -> str:
    reason = body.pop("reason", "")
    if body:
        raise RequestError(422, "invalid", f"{next(iter(body))!r} is not a field here")
    if not isinstance(reason, str) or len(reason) > 1000:
        raise RequestError(422, "invalid", "reason must be text of at most 1000 characters")
    return reason


async def send_json(send: Send, status: int, body: bytes) -> None:
    """An answer in JSON."""
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b'Basic realm="headstart"'))
    elif status in (429, 503):
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
