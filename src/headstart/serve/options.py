"""The [server] table: where the service listens and what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

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
    def read(cls, table: Mapping[str, Any]) -> Self:
        """From the configuration; an error names its key."""
        known = [each.name for each in fields(cls)]
        for name in table:
            if name not in known:
                raise OptionError(f"server has no setting {name!r}; known: {', '.join(known)}")
        given = dict(table)
        if not isinstance(given.get("host", ""), str):
            raise OptionError(f"server.host must be text, got {given['host']!r}")
        for name, low, high in (("port", 0, 65535), ("body_limit", 100, 10**9)):
            if name in given:
                if not isinstance(given[name], int):
                    raise OptionError(f"server.{name} must be a whole number, got {given[name]!r}")
                check_number(f"server.{name}", given[name], low, high)
        if given.get("rate_limit") is not None:
            given["rate_limit"] = check_number("server.rate_limit", given["rate_limit"], 0.001, 1e9)
        return cls(**given)
