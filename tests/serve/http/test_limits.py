"""Hostile clients on raw sockets: what a connection may cost before anybody is asked for a key."""

import json
import re
import socket
import time
from contextlib import contextmanager

import psutil
import pytest

from headstart.serve.http.limits import MAX_HEAD, MAX_URL, LimitedProtocol
from tests.serve.in_process import served

GOOD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def address(tmp_path, monkeypatch):
    """A server with less patience than the real one: seconds in place of tens of them."""
    for name, seconds in (("head_seconds", 1.0), ("idle_seconds", 2.0), ("linger_seconds", 0.5)):
        monkeypatch.setattr(LimitedProtocol, name, seconds)
    server = {"connections": 20, "deadline": 1.0, "body_limit": 100_000}
    with served(tmp_path / "s.sqlite", server=server) as client:
        yield client.base_url.host, client.base_url.port


@contextmanager
def _connected(address):
    with socket.create_connection(address, timeout=15) as connection:
        yield connection


def _send(connection, pieces):
    """As much of it as the server takes."""
    sent = 0
    try:
        for piece in pieces:
            connection.sendall(piece)
            sent += len(piece)
    except OSError:
        pass
    return sent


def _read(connection):
    """Everything until the server ends the connection: (status, body) of the first answer."""
    told = b""
    try:
        while data := connection.recv(65536):
            told += data
    except ConnectionResetError:
        pass
    return _parse(told)


def _answer(connection):
    """(status, body) of one answer, which may come in pieces; the connection stays open."""
    told = b""
    while (found := re.search(rb"(?i)content-length: (\d+)\r\n(?:.*\r\n)*?\r\n", told)) is None or (
        len(told) < found.end() + int(found[1])
    ):
        data = connection.recv(65536)
        assert data, f"the server ended the connection after {told!r}"
        told += data
    return _parse(told)


def _is_cut(connection):
    """Whether its answer ends before its end."""
    try:
        while connection.recv(1 << 20):
            pass
    except ConnectionResetError:
        return True
    return False


def _parse(told):
    head, _, body = told.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def _error(connection):
    status, body = _read(connection)
    assert set(body["error"]) == {"code", "message"}
    return status, body["error"]["code"]


def _is_alive(address):
    with _connected(address) as connection:
        connection.sendall(GOOD)
        return connection.recv(65536).startswith(b"HTTP/1.1 200")


MEGABYTES = [b"a" * 2**20] * 303


@pytest.mark.parametrize(
    ("start", "pieces", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", MEGABYTES, 431),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n", [b"X: " + b"a" * 60 + b"\r\n"] * 200_000, 431),
        (b"GET /", MEGABYTES, 414),
        (b"", [b"\r\n" * 2**19] * 100, 431),
        (b"POST /v1/ads/decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\nX: ", MEGABYTES, 400),
    ],
    ids=["one header", "many headers", "url", "empty lines", "trailer"],
)  # fmt: skip
def test_a_head_without_end_is_cut_and_memory_stays_flat(address, start, pieces, status):
    before = psutil.Process().memory_info().rss
    with _connected(address) as connection:
        _send(connection, [start, *pieces])
        assert _error(connection)[0] == status
    assert psutil.Process().memory_info().rss - before < 40e6
    assert _is_alive(address)


def test_limits_are_exact_also_in_one_packet(address):
    def ask(path, header):
        with _connected(address) as connection:
            connection.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n" % (path, header))
            return _answer(connection)[0]

    assert ask(b"/health", b"a" * (MAX_HEAD - 100)) == 200
    assert ask(b"/health", b"a" * MAX_HEAD) == 431
    assert ask(b"/health?" + b"a" * (MAX_URL - 100), b"b") == 200
    assert ask(b"/health?" + b"a" * MAX_URL, b"b") == 414


def test_a_large_body_is_no_large_head(address):
    body = b'{"context": {"age": 1, "likes_videos": "yes"}, "event_id": "%s"}' % (b"x" * 50_000)
    with _connected(address) as connection:
        head = b"POST /v1/ads/decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert "event_id must be" in _answer(connection)[1]["error"]["message"]


def test_a_connection_that_says_nothing_ends(address):
    started = time.monotonic()
    with _connected(address) as connection:
        assert connection.recv(1) == b""
    assert time.monotonic() - started < 5.0


def test_a_head_that_trickles_ends(address):
    """Slowloris: a header a moment, for ever."""
    started = time.monotonic()
    with _connected(address) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        connection.settimeout(0.2)
        told = b""
        while not told and time.monotonic() - started < 10.0:
            connection.sendall(b"X: y\r\n")
            try:
                told = connection.recv(65536)
            except TimeoutError:
                continue
    assert _parse(told)[0] == 408
    assert time.monotonic() - started < 5.0


@pytest.mark.parametrize("piece", [b"", b"\r\n"], ids=["silent", "empty lines"])
def test_a_connection_between_requests_ends(address, piece):
    with _connected(address) as connection:
        connection.sendall(GOOD)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        connection.settimeout(0.3)
        started = time.monotonic()
        while time.monotonic() - started < 10.0:
            try:
                connection.sendall(piece)
                if connection.recv(65536) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
    assert time.monotonic() - started < 6.0


def test_a_body_that_trickles_ends(address):
    started = time.monotonic()
    with _connected(address) as connection:
        head = b"POST /v1/ads/decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        connection.sendall(head + b"Content-Length: 1000\r\n\r\n")
        connection.settimeout(0.1)
        told = b""
        while time.monotonic() - started < 10.0:
            try:
                connection.sendall(b" ")
                piece = connection.recv(65536)
                if not piece:
                    break
                told += piece
            except TimeoutError:
                continue
            except OSError:
                break
    assert _parse(told)[1]["error"]["code"] == "slow_body"
    assert time.monotonic() - started < 5.0


def test_the_body_of_a_refused_request_is_not_waited_for(tmp_path, address):
    """403 comes before the body; a caller that goes on sending it is cut off."""
    started = time.monotonic()
    with _connected(address) as connection:
        head = b"POST /v1/ads/decide HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n"
        connection.sendall(head + b"Content-Length: 100000000\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 403")
        while time.monotonic() - started < 10.0:
            try:
                connection.sendall(b" " * 100)
            except OSError:
                break
            time.sleep(0.05)
    assert time.monotonic() - started < 5.0


def test_too_many_connections_are_told_so(address):
    with _connected(address) as first:
        first.sendall(GOOD)
        assert first.recv(65536).startswith(b"HTTP/1.1 200")
        others = [socket.create_connection(address, timeout=5) for _ in range(25)]
        try:
            time.sleep(0.2)
            others[-1].sendall(GOOD)
            assert _error(others[-1]) == (503, "too_many_connections")
            first.sendall(GOOD)  # those who are in stay in
            assert first.recv(65536).startswith(b"HTTP/1.1 200")
        finally:
            for other in others:
                other.close()
    end = time.monotonic() + 5.0
    while not _is_alive(address):
        assert time.monotonic() < end, "no room again"


def test_an_answer_that_is_not_read_ends_and_is_not_kept(address):
    """The largest open answer, 4 MB, asked for by callers who do not read."""
    _is_alive(address)
    before = psutil.Process().memory_info().rss
    callers = []
    try:
        for _ in range(15):
            caller = socket.socket()
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            caller.connect(address)
            caller.sendall(b"GET /static/plotly.min.js HTTP/1.1\r\nHost: localhost\r\n\r\n")
            callers.append(caller)
        time.sleep(4.0)
        assert psutil.Process().memory_info().rss - before < 30e6
        for caller in callers:
            caller.settimeout(5)
            assert _is_cut(caller)
    finally:
        for caller in callers:
            caller.close()


@pytest.mark.parametrize(
    "request_line",
    [b"FOO / HTTP/1.1", b"GET / HTTP/9.9", b"GET /\xff HTTP/1.1", b"GET", b"\x16\x03\x01\x02",
     b"CONNECT a:1 HTTP/1.1", b"get / HTTP/1.1", b"GET  HTTP/1.1"],
)  # fmt: skip
def test_what_is_not_http_gets_the_one_shape_of_error(address, request_line):
    with _connected(address) as connection:
        connection.sendall(request_line + b"\r\nHost: localhost\r\n\r\n")
        assert _error(connection) == (400, "not_http")


@pytest.mark.parametrize("method", [b"DELETE", b"OPTIONS", b"PATCH", b"TRACE", b"PUT", b"SEARCH"])
def test_a_method_that_nothing_takes_does_too(address, method):
    for path in (b"/", b"/v1/ads/decide"):
        with _connected(address) as connection:
            connection.sendall(method + b" " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert _answer(connection)[1]["error"]["code"] == "wrong_method"


def test_garbage_after_a_good_request_does_not_take_its_answer(address):
    body = b'{"context": {"age": 1, "likes_videos": "yes"}}'
    with _connected(address) as connection:
        head = b"POST /v1/ads/decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body + b"garbage\r\n\r\n")
        status, decision = _read(connection)
    assert status == 200
    assert "propensity" in decision


def test_an_upgrade_is_not_offered(address):
    with _connected(address) as connection:
        connection.sendall(
            b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
