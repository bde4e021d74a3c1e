"""A request's deadline: whatever it waits for, it is answered by then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import ParamSpec, TypeVar

import anyio.to_thread

from headstart.serve.http.wire import RequestError

P = ParamSpec("P")
Result = TypeVar("Result")


async def in_time(awaited: Awaitable[Result], seconds: float) -> Result:
    """What is awaited, or the refusal of a request that took too long."""
    try:
        async with asyncio.timeout(seconds):
            return await awaited
    except TimeoutError:
        raise too_slow(seconds) from None


async def in_thread(call: Callable[P, Result], *given: P.args, **options: P.kwargs) -> Result:
    """A call that waits for the store, beside the event loop. At a deadline it is left behind and ends by itself."""
    return await anyio.to_thread.run_sync(partial(call, *given, **options), abandon_on_cancel=True)


def too_slow(seconds: float) -> RequestError:
    """What was asked for may still be recorded: the event id makes asking again safe."""
    told = "it may still be recorded, and asking again with the same event_id is safe"
    return RequestError(503, "too_slow", f"no answer within {seconds:g} seconds: {told}")
