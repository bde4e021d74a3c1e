"""Who may do what, and how often: API keys with scopes, hashed at rest, and a token bucket each.

A key is `hs_<name>_<secret>`, sent as `Authorization: Bearer KEY`; a browser asks for it as HTTP Basic's password.
The configuration holds its name, the SHA-256 of the secret and its scopes; the secret has 256 random bits, so a plain
hash cannot be guessed back. Without keys in the configuration everyone may do everything: the default for a service
that listens on loopback.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from headstart.errors import OptionError

SCOPES = ("decide", "outcome", "read", "admin")
_NAME = re.compile(r"[a-z0-9-]{1,40}")
_KEY = re.compile(r"hs_([a-z0-9-]{1,40})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True)
class Key:
    """One caller: what stands in the configuration."""

    name: str
    sha256: str
    scopes: frozenset[str]


def draw_key(name: str, scopes: tuple[str, ...]) -> tuple[str, Key]:
    """A new secret, shown once, and what to keep of it."""
    check_scopes(name, scopes)
    if not _NAME.fullmatch(name):
        raise OptionError(f"a key's name must be 1 to 40 of a-z, 0-9 and -, got {name!r}")
    secret = secrets.token_urlsafe(32)
    return f"hs_{name}_{secret}", Key(name, _digest(secret), frozenset(scopes))


def read_keys(section: Mapping[str, object]) -> dict[str, Key]:
    """The configuration's [keys]: name = {sha256 = "...", scopes = [...]}."""
    keys = {}
    for name, entry in section.items():
        if not isinstance(entry, Mapping):
            raise OptionError(f"keys.{name} must be a table, got {entry!r}")
        unknown = set(entry) - {"sha256", "scopes"}
        if unknown:
            raise OptionError(f"keys.{name} has no setting {sorted(unknown)[0]!r}; known: sha256, scopes")
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


class Door:
    """Answers whether a request may pass: 200, or the status to refuse it with."""

    def __init__(
        self, keys: Mapping[str, Key], *, rate_limit: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._keys, self._rate, self._clock = dict(keys), rate_limit, clock
        self._known: dict[bytes, Key] = {}  # headers that were right before: hashing is for the first time
        self._buckets: dict[str, Bucket] = {}

    def check(self, authorization: bytes | None, scope: str, address: str) -> int:
        """200: pass. 401: no key or a wrong one. 403: a key without this scope. 429: too many requests."""
        who = address
        if self._keys:
            key = self._find(authorization)
            if key is None:
                return 401
            if scope not in key.scopes and "admin" not in key.scopes:
                return 403
            who = key.name
        if self._rate is not None and not self._bucket(who).take(self._clock()):
            return 429
        return 200

    def _find(self, authorization: bytes | None) -> Key | None:
        if authorization is None:
            return None
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

    def _bucket(self, who: str) -> Bucket:
        bucket = self._buckets.get(who)
        if bucket is None:
            if len(self._buckets) >= 10_000:  # addresses come and go; a full bucket remembers nothing
                self._buckets.clear()
            assert self._rate is not None
            bucket = self._buckets[who] = Bucket(self._rate, max(1.0, self._rate))
        return bucket


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


@dataclass
class Bucket:
    """A token bucket: `rate` a second, `size` at once."""

    rate: float
    size: float
    tokens: float = field(default=-1.0)
    last: float = 0.0

    def take(self, now: float) -> bool:
        """One token, if there is one."""
        if self.tokens < 0.0:
            self.tokens, self.last = self.size, now
        self.tokens = min(self.size, self.tokens + max(0.0, now - self.last) * self.rate)
        self.last = now
        if self.tokens < 1.0:
            return False
        self.tokens -= 1.0
        return True
