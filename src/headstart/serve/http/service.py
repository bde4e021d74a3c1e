"""The service from its first second on: it listens, says that it is opening, and hands over to the app."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from headstart.errors import HeadstartError, OptionError
from headstart.serve.engine.starting import StartState
from headstart.serve.http.app import App, send_json
from headstart.serve.http.deadlines import in_thread
from headstart.serve.http.wire import RequestError, as_error, as_json
from headstart.serve.options import ServerOptions

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

logger = logging.getLogger("headstart.serve")
_BACKLOG = 2048  # connections that the system accepts before we do
_OPENING = RequestError(503, "opening", "the service is opening its store: try again in a moment")


class Service:
    """An ASGI app before there is one: `make_app` opens the store, which may take a while.

    `on_open` is told the port when every experiment was opened, or is broken. A start that fails is in `failure`.
    """

    def __init__(self, options: ServerOptions, make_app: Callable[[], App], on_open: Callable[[int], None]) -> None:
        self.failure: Exception | None = None
        self._options, self._make_app, self._on_open = options, make_app, on_open
        self._app: App | None = None
        self._opening: asyncio.Task[None] | None = None
        self._is_ending = False
        self._stack = AsyncExitStack()

    @property
    def options(self) -> ServerOptions:
        """As they are now: a reload may change them."""
        return self._options if self._app is None else self._app.options

    def starts(self) -> dict[str, StartState | None]:
        """How each experiment that is open started."""
        return {} if self._app is None else self._app.engine.starts()

    def begin(self, port: int) -> None:
        """Open the store beside the event loop; called when it listens."""
        logger.info("listening on port %d, opening the store", port)
        self._opening = asyncio.get_running_loop().create_task(self._open(port))

    async def _open(self, port: int) -> None:
        try:
            app = await in_thread(self._make_app)
            await self._stack.enter_async_context(app.living())
            self._app = app
            await in_thread(app.engine.wait_until_open)
            if not self._is_ending:
                self._on_open(port)
        except Exception as error:
            if not self._is_ending:
                self.failure = error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request (or the server's start and stop)."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app is not None:
            await self._app(scope, receive, send)
        elif scope["path"] == "/health":
            await send_json(send, 200, as_json({"status": "alive"}))
        elif scope["path"] == "/ready":
            await send_json(send, 503, as_json({"is_ready": False, "why": "opening"}))
        else:
            await send_json(send, 503, as_json(as_error(_OPENING)))

    async def _live(self, receive: Receive, send: Send) -> None:
        """uvicorn's protocol of start and stop."""
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._is_ending = True
        if self._opening is not None:
            if self._app is not None:
                self._app.engine.stop_opening()
            await self._opening
        await self._stack.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    def reload(self) -> None:
        """Take up the configuration's file again, for a signal: what becomes of it is in the log."""
        if self._app is None:
            logger.error("the configuration was not taken up: the service is still opening its store")
            return
        try:
            self._app.reread()
        except HeadstartError:
            pass  # the log has it
        except Exception:
            logger.exception("the configuration was not taken up")


def listen(options: ServerOptions) -> socket.socket:
    """The socket that the service listens on, before anything is opened."""
    host, port = options.host, options.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise OptionError(
            f"{host}:{port} cannot be listened on: {error.strerror or error}. End what uses it, or choose another "
            "by server.port or --port"
        ) from None
