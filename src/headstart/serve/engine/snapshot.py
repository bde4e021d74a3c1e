"""Snapshots: a fold's state as text and back. A cache of the events, so one that cannot be trusted is dropped.

    headstart-snapshot FORMAT VERSION CHECKSUM
    {...}

The first line says how it was written and by which headstart, and sums up the second, the state as `packing` has it.
"""

from __future__ import annotations

from hashlib import blake2b

from headstart import __version__
from headstart.parts import Saved
from headstart.serve.engine.packing import pack, unpack

FORMAT = 8
_MAGIC = "headstart-snapshot"


class UnreadableSnapshot(Exception):
    """A snapshot that is cut, empty, changed, or of another format or version."""


def write_snapshot(state: Saved) -> bytes:
    """A state of arrays and plain values as text. Equal states give equal bytes."""
    body = pack(state)
    return f"{_heading()} {_checksum(body)}\n".encode() + body


def read_snapshot(snapshot: str | bytes) -> Saved:
    """The state that `write_snapshot` wrote."""
    written = snapshot.encode() if isinstance(snapshot, str) else snapshot
    heading, _, body = written.partition(b"\n")
    if not is_of_this_version(snapshot):
        raise UnreadableSnapshot(f"it begins with {heading[:60]!r}, not with {_heading()!r}")
    if heading.decode(errors="replace") != f"{_heading()} {_checksum(body)}":
        raise UnreadableSnapshot("its checksum does not match")
    return unpack(body)


def is_of_this_version(snapshot: str | bytes) -> bool:
    """Whether this headstart would have written it so; what another one wrote is neither right nor wrong."""
    written = snapshot.encode() if isinstance(snapshot, str) else snapshot
    return written.startswith(_heading().encode() + b" ")


def _heading() -> str:
    return f"{_MAGIC} {FORMAT} {__version__}"


def _checksum(body: bytes) -> str:
    return blake2b(body, digest_size=16).hexdigest()
