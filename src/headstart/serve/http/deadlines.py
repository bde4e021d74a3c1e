"""A request's deadline: whatever it waits for, it is answered by then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeAlias, TypeVar

import anyio.to_thread

from headstart.serve.errors import TooSlow
from headstart.serve.http.wire import RequestError

P = ParamSpec("P")
Result = TypeVar("Result")
Request: TypeAlias = "asyncio.Task[object]"  # each is a task of its own

_GRAIN = 0.05  # seconds between two looks
_OVER = -1.0


class Deadlines:
    """The requests that are under way, and when each is over.

    One timer looks at all of them: `asyncio.timeout` would cost a request more than reading its JSON does.
    """

    def __init__(self) -> None:
        self._due: dict[Request, float] = {}
        self._is_looking = False

    def within(self, seconds: float) -> _Within:
        """A block that ends in TimeoutError if it takes longer; for the task that is running."""
        loop, request = asyncio.get_running_loop(), asyncio.current_task()
        assert request is not None
        self._due[request] = loop.time() + seconds
        if not self._is_looking:
            self._is_looking = True
            loop.call_later(_GRAIN, self._look, loop)
        return _Within(self._due, request)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for request, due in list(self._due.items()):
            if _OVER < due <= now:
                self._due[request] = _OVER
                request.cancel()
        self._is_looking = bool(self._due)
        if self._is_looking:
            loop.call_later(_GRAIN, self._look, loop)


class _Within:
    __slots__ = ("_due", "_request")

    def __init__(self, due: dict[Request, float], request: Request) -> None:
        self._due, self._request = due, request

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._due.pop(self._request) == _OVER:  # otherwise it is the server that ends
            self._request.uncancel()
            if kind is asyncio.CancelledError:
                raise TimeoutError from None


async def in_thread(call: Callable[P, Result], *given: P.args, **options: P.kwargs) -> Result:
    """A call that waits for the store, beside the event loop. At a deadline it is left behind and ends by itself."""
    return await anyio.to_thread.run_sync(partial(call, *given, **options), abandon_on_cancel=True)


def too_slow(seconds: float) -> RequestError:
    """What was asked for may still be recorded: the event id makes asking again safe."""
    return RequestError(503, "too_slow", str(TooSlow.after(seconds)))
