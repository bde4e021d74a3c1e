"""Who may do what: API keys with scopes, hashed at rest, and the door that asks for them.

A key is `hs_<name>_<secret>`, sent as `Authorization: Bearer KEY`; a browser asks for it as HTTP Basic's password.
The configuration holds its name, the SHA-256 of the secret and its scopes; the secret has 256 random bits, so a plain
hash cannot be guessed back. Without keys in the configuration everyone may do everything, and the service listens on
loopback alone.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from headstart.errors import OptionError
from headstart.serve.http.headers import Headers
from headstart.serve.http.origins import Hosts, Proxies, home_of
from headstart.serve.http.rates import Rates
from headstart.serve.http.wire import RequestError
from headstart.serve.options import ServerOptions
from headstart.serve.tables import check_keys

SCOPES = ("decide", "outcome", "read", "admin")
ANONYMOUS = "anonymous"  # no key is called so: the configuration's are checked
_NAME = re.compile(r"[a-z0-9-]{1,40}")
_KEY = re.compile(r"hs_([a-z0-9-]{1,40})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True)
class Key:
    """One caller: what stands in the configuration."""

    name: str
    sha256: str
    scopes: frozenset[str]

    def may(self, scope: str) -> bool:
        """Whether it opens this scope; admin opens all."""
        return scope in self.scopes or "admin" in self.scopes


def draw_key(name: str, scopes: tuple[str, ...]) -> tuple[str, Key]:
    """A new secret, shown once, and what to keep of it."""
    check_scopes(name, scopes)
    if not _NAME.fullmatch(name) or name == ANONYMOUS:
        raise OptionError(f"a key's name must be 1 to 40 of a-z, 0-9 and - (and not {ANONYMOUS}), got {name!r}")
    secret = secrets.token_urlsafe(32)
    return f"hs_{name}_{secret}", Key(name, _digest(secret), frozenset(scopes))


def read_keys(section: Mapping[str, object]) -> dict[str, Key]:
    """The configuration's [keys]: name = {sha256 = "...", scopes = [...]}."""
    keys = {}
    for name, entry in section.items():
        if name == ANONYMOUS:
            raise OptionError(f"keys.{name}: callers without a key are called so, give this one another name")
        if not isinstance(entry, Mapping):
            raise OptionError(f"keys.{name} must be a table, got {entry!r}")
        check_keys(f"keys.{name}", entry, ("sha256", "scopes"))
        digest, scopes = entry.get("sha256"), entry.get("scopes", ())
        if not isinstance(digest, str) or not re.fullmatch(r"[0-9a-f]{64}", digest):
            raise OptionError(f"keys.{name}.sha256 must be 64 hexadecimal digits: make one with headstart keys new")
        if not isinstance(scopes, list | tuple) or not scopes:
            raise OptionError(f"keys.{name}.scopes must be a list of {', '.join(SCOPES)}")
        check_scopes(name, tuple(scopes))
        keys[name] = Key(name, digest, frozenset(scopes))
    return keys


def check_scopes(name: str, scopes: tuple[str, ...]) -> None:
    """Raise for a scope that does not exist."""
    for scope in scopes:
        if scope not in SCOPES:
            raise OptionError(f"keys.{name}.scopes has no {scope!r}; known: {', '.join(SCOPES)}")


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class Caller(NamedTuple):
    """Who asks."""

    name: str  # of the key; "anonymous" where there are no keys
    address: str
    may_look: bool  # whether errors may tell what else there is

    @property
    def pays(self) -> str:
        """Whose rate counts: the key's, or the address's."""
        return home_of(self.address) if self.name == ANONYMOUS else self.name


class Door:
    """Lets a request in, or raises what it is refused with. Its parts never change: new keys are a new door."""

    def __init__(
        self,
        keys: Mapping[str, Key],
        options: ServerOptions | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        options = options or ServerOptions()
        options.check_reach(has_keys=bool(keys))
        self._keys = dict(keys)
        self._known: dict[bytes, Key] = {}  # headers that were right before: hashing is for the first time
        self._hosts = Hosts(options.hosts, is_checked=not keys or bool(options.hosts))
        self._proxies = Proxies(options.proxies)
        self._rates = Rates(options.rate_limit, clock)

    def find_address(self, headers: Headers, peer: str) -> str:
        """Where a request comes from, as far as that can be believed."""
        return self._proxies.find_caller(peer, headers.forwarded_for)

    def admit(self, headers: Headers, address: str, needed: str, *, is_post: bool = False) -> Caller:
        """The caller, if it may do what needs this scope."""
        self._hosts.check(headers.host)
        if is_post:
            self._hosts.check_post(headers)
        if not self._keys:
            self._take(home_of(address))
            return Caller(ANONYMOUS, address, may_look=True)
        key = self._find(headers.authorization)
        if key is None:
            self._take(home_of(address))  # guesses are not free
            raise RequestError(401, "no_key", "an API key is needed: Authorization: Bearer KEY")
        self._take(key.name)
        if not key.may(needed):
            raise RequestError(403, "wrong_scope", "this key may not do that")
        return Caller(key.name, address, may_look=key.may("read"))

    def charge(self, caller: Caller, n: int) -> None:
        """The rest of a batch, whose first was paid at the door."""
        if not self._rates.charge(caller.pays, n):
            raise _too_often()

    def _take(self, who: str) -> None:
        if not self._rates.take(who):
            raise _too_often()

    def _find(self, authorization: bytes) -> Key | None:
        known = self._known.get(authorization)
        if known is not None:
            return known
        match = _KEY.fullmatch(_secret_of(authorization))
        key = self._keys.get(match[1]) if match else None
        if key is None or match is None or not hmac.compare_digest(key.sha256, _digest(match[2])):
            return None
        if len(self._known) < 1000:
            self._known[authorization] = key
        return key


def _too_often() -> RequestError:
    return RequestError(429, "too_many_requests", "too many requests: wait a second")


def _secret_of(authorization: bytes) -> str:
    scheme, _, given = authorization.decode("latin-1").partition(" ")
    if scheme.lower() == "bearer":
        return given.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(given.strip(), validate=True).decode("latin-1").partition(":")[2]
        except ValueError:
            return ""
    return ""
