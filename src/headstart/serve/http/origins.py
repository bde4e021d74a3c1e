"""Where a request may come from: which names are ours, which pages may post, whose word on addresses is believed.

A browser lets any page send requests to any host, loopback too, and tells in headers who asked. Three of them are
held against it: `Host`, which is another name when a page's own name was made to point here (DNS rebinding); `Origin`
and `Sec-Fetch-Site`, which name the page that posts; and the content type, which only our own pages may set to JSON
without asking first. Programs send no `Origin` and are not concerned.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

from headstart.serve.http.headers import Headers
from headstart.serve.http.wire import RequestError
from headstart.serve.options import Network, is_loopback

_MAX_KNOWN = 1000
_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:,\[\]]+)(?::\d+)?")
_OWN_SITES = (b"", b"same-origin", b"none")


class Hosts:
    """The names under which the service may be asked, where that is checked: loopback's and the configured ones."""

    def __init__(self, names: Sequence[str], *, is_checked: bool) -> None:
        self._names, self._is_checked = frozenset(names), is_checked
        self._known: set[bytes] = set()  # headers that were right before

    def check(self, host: bytes) -> None:
        """Refuse a request to a name that is not ours."""
        if self._is_checked and host not in self._known:
            name = _name_of(host)
            if not is_loopback(name) and name not in self._names:
                raise RequestError(
                    421, "wrong_host", "this service does not go by that name: add it to hosts = [...] in [server]"
                )
            if len(self._known) < _MAX_KNOWN:
                self._known.add(host)

    def check_post(self, headers: Headers) -> None:
        """Refuse what another site's page, or a form, has sent."""
        if headers.origin or headers.fetch_site:
            self._check_page(headers)
        if headers.content_type != b"application/json":
            kind = headers.content_type.partition(b";")[0].strip().lower()
            if kind != b"application/json":
                raise RequestError(415, "not_json", "the body must be JSON: send content-type: application/json")

    def _check_page(self, headers: Headers) -> None:
        _, _, authority = headers.origin.lower().partition(b"://")
        is_own = not headers.origin or authority == headers.host.lower() or _name_of(authority) in self._names
        if not is_own or headers.fetch_site.lower() not in _OWN_SITES:
            raise RequestError(403, "cross_site", "a page of another site may not ask for this")


def _name_of(authority: bytes) -> str:
    """Without its port, in lower case; of two names, or of none, none."""
    found = _AUTHORITY.fullmatch(authority.decode("latin-1").lower())
    return found[1] if found else ""


class Proxies:
    """The networks whose X-Forwarded-For is believed; of no other caller is it read."""

    def __init__(self, networks: Sequence[Network]) -> None:
        self._networks = tuple(networks)

    def find_caller(self, peer: str, forwarded_for: bytes) -> str:
        """The nearest address that is none of our proxies': what stands further left anybody may have written."""
        if not self._networks or not forwarded_for or not self._is_ours(peer):
            return peer
        caller = peer
        for hop in reversed(forwarded_for.decode("latin-1").split(",")):
            address = _as_address(hop.strip())
            if address is None:
                break
            caller = address
            if not self._is_ours(address):
                break
        return caller

    def _is_ours(self, address: str) -> bool:
        parsed = _parse(address)
        return parsed is not None and any(parsed in network for network in self._networks)


def home_of(address: str) -> str:
    """Whose an address is: of IPv6 everybody has 2^64, so there it is the network."""
    if ":" not in address:
        return address
    parsed = _parse(address)
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.IPv6Network((int(parsed) >> 64 << 64, 64)))
    return address if parsed is None else str(parsed)


def _as_address(hop: str) -> str | None:
    """An address as proxies write it, with a port or without."""
    if hop.startswith("["):
        hop = hop[1:].partition("]")[0]
    elif hop.count(":") == 1:
        hop = hop.partition(":")[0]
    parsed = _parse(hop)
    return None if parsed is None else str(parsed)


def _parse(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        return parsed.ipv4_mapped  # what a socket of both families calls an address of IPv4
    return parsed
