"""The HTTP skin: an ASGI app around an engine.

Decisions and outcomes, which come by the thousand, are answered here with nothing in between; everything else goes
through Starlette.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from headstart.errors import HeadstartError, OptionError
from headstart.serve.config import ServiceConfig
from headstart.serve.engine.engine import Engine
from headstart.serve.http.access import Caller, Door, read_keys
from headstart.serve.http.access_log import log_answer
from headstart.serve.http.deadlines import Deadlines, in_thread, too_slow
from headstart.serve.http.headers import read_headers
from headstart.serve.http.metrics import Metrics
from headstart.serve.http.posts import Fields, Post, Posts
from headstart.serve.http.refusals import Refusals
from headstart.serve.http.views import make_routes
from headstart.serve.http.wire import RequestError, as_error, as_json, read_object
from headstart.serve.options import ServerOptions
from headstart.serve.telling.overviews import Overviews

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

logger = logging.getLogger("headstart.serve")


class App:
    """An ASGI app. It owns the engine: the engine is closed when the app is."""

    def __init__(
        self,
        engine: Engine,
        options: ServerOptions | None = None,
        read_config: Callable[[], ServiceConfig] | None = None,
    ) -> None:
        self.engine, self._read_config = engine, read_config
        self.options = options or ServerOptions.read(engine.config.server)
        self.door = Door(read_keys(engine.config.keys), self.options)
        self.refusals, self.deadlines = Refusals(), Deadlines()
        self.overviews = Overviews(engine)
        self.metrics = Metrics(engine, self.overviews)
        self.posts = Posts(engine, self.refusals, lambda caller, n: self.door.charge(caller, n), self._count).verbs
        self._reload_post, self._reloading = Post("admin", self._reload), threading.Lock()
        self._rest = make_routes(self)

    def living(self) -> AbstractAsyncContextManager[object]:
        """What it does beside answering; at its end the engine is closed."""
        return self._rest.router.lifespan_context(self._rest)

    def reload(self, config: ServiceConfig) -> dict[str, str]:
        """Take up another configuration, but for where it listens and its store: what became of each experiment.

        An error leaves all as it is. Connections stay; requests that were let in by the old door are answered.
        """
        options = replace(ServerOptions.read(config.server), host=self.options.host, port=self.options.port)
        door = Door(read_keys(config.keys), options)
        told = self.engine.reload(config)
        self.door, self.options = door, options
        return told

    def reread(self) -> dict[str, str]:
        """Read the configuration again and take it up; what becomes of it is in the log too."""
        if self._read_config is None:
            raise OptionError("the service was not started from a file that could be read again")
        with self._reloading:
            try:
                told = self.reload(self._read_config())
            except HeadstartError as error:
                logger.error("the configuration was not taken up, all stays as it is: %s", error)
                raise
        logger.info("the configuration was taken up: %s", "; ".join(f"{name} {what}" for name, what in told.items()))
        return told

    async def _reload(self, caller: Caller, experiment: str, body: Fields) -> object:
        return {"experiments": await in_thread(self.reread)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request (or the server's start and stop)."""
        if self.options.access_log and scope["type"] == "http":
            await log_answer(self._answer, scope, receive, send)
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            version, _, rest = scope["path"].removeprefix("/").partition("/")
            experiment, _, verb = rest.partition("/")
            post = self._reload_post if rest == "reload" else self.posts.get(verb)
            if version == "v1" and post is not None:
                await self._answer_post(scope, receive, send, experiment, post)
                return
        await self._rest(scope, receive, send)

    async def _answer_post(self, scope: Scope, receive: Receive, send: Send, experiment: str, post: Post) -> None:
        seconds, body, may_look, code = self.options.deadline, None, False, None
        try:
            with self.deadlines.within(seconds):
                caller = self.admit(scope, post.scope, is_post=True)
                may_look = caller.may_look
                body = await self._read_body(receive)
                answer: object = await post.handle(caller, experiment, read_object(body))
            status = 200
        except Exception as error:
            if isinstance(error, TimeoutError):
                error = too_slow(seconds) if body is not None else _slow_body(seconds)
            refusal = self.refusals.of(error, may_look=may_look)
            status, answer, code = refusal.status, as_error(refusal), refusal.code
        self.metrics.count_answer(status)
        self._count(experiment, code)
        await send_json(send, status, as_json(answer))

    def _count(self, experiment: str, code: str | None = None) -> None:
        """A request of one of the experiments; names that nobody declared are not kept."""
        if experiment in self.overviews:
            self.overviews.callers.count(experiment, code)

    def admit(self, scope: Scope, needed: str, *, is_post: bool = False) -> Caller:
        """The caller, or the refusal of one without the right key, or from elsewhere, or who asks too often."""
        client, headers = scope.get("client"), read_headers(scope["headers"])
        address = scope["address"] = self.door.find_address(headers, client[0] if client else "")
        caller = scope["caller"] = self.door.admit(headers, address, needed, is_post=is_post)
        return caller

    async def _read_body(self, receive: Receive) -> bytes:
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


def _slow_body(seconds: float) -> RequestError:
    return RequestError(408, "slow_body", f"the body did not come within {seconds:g} seconds")


async def send_json(send: Send, status: int, body: bytes) -> None:
    """An answer in JSON."""
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b'Basic realm="headstart"'))
    elif status in (429, 503):
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
