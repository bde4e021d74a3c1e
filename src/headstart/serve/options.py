"""The [server] table: where the service listens and what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self

from headstart.checks import check_number
from headstart.errors import OptionError


@dataclass(frozen=True)
class ServerOptions:
    """Loopback by default: put a proxy in front, or give keys, before others can reach it."""

    host: str = "127.0.0.1"
    port: int = 8000
    body_limit: int = 256 * 1024  # bytes
    rate_limit: float | None = None  # requests a second per key (or address)

    @classmethod
    def read(cls, table: Mapping[str, object]) -> Self:
        """From the configuration; an error names its key."""
        known = [each.name for each in fields(cls)]
        for name in table:
            if name not in known:
                raise OptionError(f"server has no setting {name!r}; known: {', '.join(known)}")
        host, rate = table.get("host", cls.host), table.get("rate_limit")
        if not isinstance(host, str):
            raise OptionError(f"server.host must be text, got {host!r}")
        return cls(
            host,
            _check_whole("port", table.get("port", cls.port), 0, 65535),
            _check_whole("body_limit", table.get("body_limit", cls.body_limit), 100, 10**9),
            None if rate is None else check_number("server.rate_limit", rate, 0.001, 1e9),
        )


def _check_whole(name: str, value: object, low: int, high: int) -> int:
    if not isinstance(value, int):
        raise OptionError(f"server.{name} must be a whole number, got {value!r}")
    check_number(f"server.{name}", value, low, high)
    return value
