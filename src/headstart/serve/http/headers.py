"""The headers that the service reads, found in one pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

_WANTED = {
    b"authorization": 0,
    b"content-type": 1,
    b"host": 2,
    b"origin": 3,
    b"sec-fetch-site": 4,
    b"x-forwarded-for": 5,
}


class Headers(NamedTuple):
    """What they hold; empty where there is none. Repeated ones are joined by commas, so two hosts are no host."""

    authorization: bytes
    content_type: bytes
    host: bytes
    origin: bytes
    fetch_site: bytes
    forwarded_for: bytes


def read_headers(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Of an ASGI scope, whose names are in lower case."""
    found = [b""] * len(_WANTED)
    for name, value in headers:
        place = _WANTED.get(name)
        if place is not None:
            found[place] = value if not found[place] else found[place] + b"," + value
    return Headers(*found)
