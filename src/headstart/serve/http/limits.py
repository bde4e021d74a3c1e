"""What a connection may cost before anybody is asked for a key: bytes of headers, time, and their number.

uvicorn's protocol (httptools) has no limit of its own on a request's head, answers what is not HTTP in plain text,
and lets a connection that trickles stay for ever. When a connection is over is a number here; the server looks at
all of them once a second, so a request pays for no timer.
"""

from __future__ import annotations

import asyncio
import math
import socket
import struct
from http import HTTPStatus
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from headstart.serve.http.app import App
from headstart.serve.http.service import Service
from headstart.serve.http.wire import RequestError, as_error, as_json

MAX_HEAD = 16 * 1024  # bytes of request line and headers
MAX_URL = 8 * 1024
MAX_FRAMING = 256 * 1024  # of a body in chunks: their sizes, and the headers that may follow the last
_SPARE = 100  # connections beyond the limit that are told so; the others are cut


class LimitedProtocol(HttpToolsProtocol):
    """One connection, with an end to everything."""

    head_seconds: ClassVar[float] = 10.0  # from the first byte of a request to the end of its headers
    idle_seconds: ClassVar[float] = 30.0  # between two requests, and without progress in an answer
    linger_seconds: ClassVar[float] = 2.0  # reading on after a refusal, so that the caller can read it

    _due = math.inf  # when it is over, by the loop's clock
    _received = 0  # bytes of this request, without its body
    _is_in_head = True
    _is_refused = False
    _refusal: RequestError | None = None  # what a callback of the parser has found
    url = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take it, if there are not too many."""
        super().connection_made(transport)
        self._wait(self.head_seconds)
        app = self.config.app
        assert isinstance(app, App | Service)
        beyond = len(self.connections) - app.options.connections
        if beyond > _SPARE:
            transport.abort()
        elif beyond > 0:
            self._refuse(RequestError(503, "too_many_connections", "too many connections: try again in a second"))

    def data_received(self, data: bytes) -> None:
        """Read on; what comes after a refusal is thrown away."""
        if self._is_refused:
            return
        self._received += len(data)
        super().data_received(data)
        if self._received > (MAX_HEAD if self._is_in_head else MAX_FRAMING) and not self._is_refused:
            self._refuse(self._too_large())

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        self._wait(self.head_seconds)

    def on_headers_complete(self) -> None:
        """A request is whole but for its body: from here on its own deadline holds."""
        if self._received > MAX_URL:  # worth counting: what was received may be a body's already
            size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
            if len(self.url) > MAX_URL or size > MAX_HEAD:
                self._refusal = self._too_large()
                raise self._refusal  # ends the parser, which leads to `send_400_response`
        self._is_in_head, self._due = False, math.inf
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body, which the app counts itself."""
        self._received -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The end of a request."""
        super().on_message_complete()
        self._is_in_head, self._received = True, 0
        if self.cycle.response_complete:
            self._wait(self.idle_seconds)

    def on_response_complete(self) -> None:
        """The end of an answer; one that came before the end of its request leaves little time for that."""
        super().on_response_complete()
        if self.cycle.response_complete:
            self._wait(self.idle_seconds if self._is_in_head else self.linger_seconds)

    def pause_writing(self) -> None:
        """The caller does not read its answer."""
        super().pause_writing()
        self._wait(self.idle_seconds)

    def resume_writing(self) -> None:
        """It does again."""
        super().resume_writing()
        self._due = math.inf
        if self.cycle.response_complete:  # and this was the rest
            self._wait(self.idle_seconds)

    def end_if_due(self, now: float) -> None:
        """Close the connection if its time is over."""
        if now < self._due:
            return
        if self.transport.is_closing() or self.flow.write_paused:
            self._cut()
        elif self._received and self._is_in_head and not self._is_refused:
            self._refuse(RequestError(408, "slow_request", f"no whole request within {self.head_seconds:g} seconds"))
        else:
            self.transport.close()
            self._wait(self.linger_seconds)

    def send_400_response(self, msg: str) -> None:
        """uvicorn's answer to what its parser cannot read, in our shape."""
        unreadable = RequestError(400, "not_http", "this is not a request of HTTP/1.1 with a known method")
        self._refuse(self._refusal or unreadable)

    def _cut(self) -> None:
        """End it now; the kernel forgets at once what the caller has not read, which may be megabytes."""
        opened: socket.socket = self.transport.get_extra_info("socket")
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _wait(self, seconds: float) -> None:
        self._due = self.loop.time() + seconds

    def _too_large(self) -> RequestError:
        if len(self.url) > MAX_URL:
            return RequestError(414, "url_too_long", f"a URL has at most {MAX_URL} bytes")
        if self._is_in_head:
            return RequestError(431, "headers_too_large", f"request line and headers have at most {MAX_HEAD} bytes")
        return RequestError(400, "not_http", f"chunks of a body come with at most {MAX_FRAMING} bytes of their own")

    def _refuse(self, error: RequestError) -> None:
        """Answer in the place of the app, and end the connection."""
        self._is_refused = True
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if is_answering and self.cycle.response_started:
            self._cut()
        elif is_answering and not self.cycle.more_body:  # what is wrong came after a good request, whose turn it is
            self.cycle.keep_alive = False
        else:
            self.transport.write(_write_answer(error))
            if is_answering:
                self.transport.close()  # the app is told that its caller went away
            else:
                self.transport.write_eof()
                self._wait(self.linger_seconds)


def _write_answer(error: RequestError) -> bytes:
    body = as_json(as_error(error))
    head = (
        f"HTTP/1.1 {error.status} {HTTPStatus(error.status).phrase}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n"
    )
    if error.status == 503:
        head += "retry-after: 1\r\n"
    return head.encode() + b"\r\n" + body
