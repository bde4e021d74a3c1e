"""The access log: who asked for what and was answered how, if the configuration wants it."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger(__name__)
logger.setLevel(logging.INFO)  # who asks for it wants it at any --log-level
_MAX_PATH = 500


async def log_answer(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request and write its line. The query is left out: it may hold what is nobody's business."""
    started, status, size = time.perf_counter(), 0, 0

    async def count(message: Message) -> None:
        nonlocal status, size
        status = message.get("status", status)
        size += len(message.get("body", b""))
        await send(message)

    try:
        await app(scope, receive, count)
    finally:
        caller = scope.get("caller")
        answer = {
            "key": caller.name if caller else None,
            "address": scope.get("address"),
            "method": scope["method"],
            "path": scope["path"][:_MAX_PATH],
            "status": status,
            "milliseconds": round(1e3 * (time.perf_counter() - started), 3),
            "bytes": size,
        }
        logger.info("answer", extra={"answer": answer})
