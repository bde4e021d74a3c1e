"""The [server] table: where the service listens, whom it believes and what it takes."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self, TypeAlias

from headstart.checks import check_number
from headstart.errors import OptionError
from headstart.serve.tables import check_keys

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
_HOST = re.compile(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]")


@dataclass(frozen=True)
class ServerOptions:
    """Loopback by default: others may reach it only if there are keys."""

    host: str = "127.0.0.1"  # the address it listens at; any other than loopback needs [keys]
    port: int = 8000  # that it listens at; 0 takes a free one
    body_limit: int = 256 * 1024  # bytes of a request
    rate_limit: float | None = None  # decisions and outcomes a second per key (or address)
    connections: int = 1000  # open at once
    deadline: float = 5.0  # seconds until a request that has no answer gets 503
    hosts: tuple[str, ...] = ()  # names in the Host header, beside those of loopback
    proxies: tuple[Network, ...] = ()  # networks whose X-Forwarded-For is believed
    access_log: bool = False  # true writes a line of JSON for each answer

    @classmethod
    def read(cls, table: Mapping[str, object]) -> Self:
        """From the configuration; an error names its key."""
        known = [each.name for each in fields(cls)]
        check_keys("server", table, known)
        host, rate = table.get("host", cls.host), table.get("rate_limit")
        if not isinstance(host, str):
            raise OptionError(f"server.host must be text, got {host!r}")
        access_log = table.get("access_log", cls.access_log)
        if not isinstance(access_log, bool):
            raise OptionError(f"server.access_log must be true or false, got {access_log!r}")
        return cls(
            host=host,
            port=_check_whole("port", table.get("port", cls.port), 0, 65535),
            body_limit=_check_whole("body_limit", table.get("body_limit", cls.body_limit), 100, 10**9),
            rate_limit=None if rate is None else check_number("server.rate_limit", rate, 0.001, 1e9),
            connections=_check_whole("connections", table.get("connections", cls.connections), 1, 10**6),
            deadline=check_number("server.deadline", table.get("deadline", cls.deadline), 0.01, 3600.0),
            hosts=tuple(_check_host(each) for each in _check_texts("hosts", table.get("hosts", ()))),
            proxies=tuple(_check_network(each) for each in _check_texts("proxies", table.get("proxies", ()))),
            access_log=access_log,
        )

    def check_reach(self, *, has_keys: bool) -> None:
        """Without keys everybody who reaches the port may do everything, so nobody else may reach it."""
        if not has_keys and not is_loopback(self.host):
            raise OptionError(
                f"server.host is {self.host!r} and there are no [keys]: who reaches it could do everything. Make a "
                "key (headstart keys new NAME) and put its line into the configuration, or listen on 127.0.0.1"
            )


def is_loopback(host: str) -> bool:
    """Whether a name or an address means this machine alone."""
    bare = host.removeprefix("[").removesuffix("]").lower()
    if bare == "localhost":
        return True
    try:
        return ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return False


def _check_whole(name: str, value: object, low: int, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise OptionError(f"server.{name} must be a whole number, got {value!r}")
    check_number(f"server.{name}", value, low, high)
    return value


def _check_texts(name: str, value: object) -> list[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise OptionError(f"server.{name} must be a list of texts, got {value!r}")
    return list(value)


def _check_host(host: str) -> str:
    if not _HOST.fullmatch(host.lower()):
        raise OptionError(
            f"server.hosts must be names without scheme and port, such as ads.example.com, got {host!r}"
        )
    return host.lower()


def _check_network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise OptionError(f"server.proxies must be addresses or networks, such as 10.0.0.0/8: {error}") from None
