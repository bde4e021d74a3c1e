"""Snapshots: a fold's state as text and back. A cache of the events, so one that cannot be trusted is dropped.

    headstart-snapshot FORMAT VERSION CHECKSUM
    {...}

The first line says how it was written and by which headstart, and sums up the second, which holds arrays and plain
values, nothing that could run. Mappings keep their order: that of an experiment's contexts is that of its columns.
"""

from __future__ import annotations

import base64
import math
from hashlib import blake2b
from io import BytesIO
from typing import Any

import numpy as np
import orjson
from numpy.lib import format as npy

from headstart import __version__
from headstart.errors import OptionError
from headstart.parts import Saved

FORMAT = 3
_MAGIC = "headstart-snapshot"


class UnreadableSnapshot(Exception):
    """A snapshot that is cut, empty, changed, or of another format or version."""


def write_snapshot(state: Saved) -> bytes:
    """A state of arrays and plain values as text. Equal states give equal bytes."""
    body = orjson.dumps(_pack(state))
    return f"{_heading()} {_checksum(body)}\n".encode() + body


def read_snapshot(snapshot: str | bytes) -> Saved:
    """The state that `write_snapshot` wrote."""
    written = snapshot.encode() if isinstance(snapshot, str) else snapshot
    heading, _, body = written.partition(b"\n")
    if not is_of_this_version(snapshot):
        raise UnreadableSnapshot(f"it begins with {heading[:60]!r}, not with {_heading()!r}")
    if heading.decode(errors="replace") != f"{_heading()} {_checksum(body)}":
        raise UnreadableSnapshot("its checksum does not match")
    state: Saved = _unpack(orjson.loads(body))
    return state


def is_of_this_version(snapshot: str | bytes) -> bool:
    """Whether this headstart would have written it so; what another one wrote is neither right nor wrong."""
    written = snapshot.encode() if isinstance(snapshot, str) else snapshot
    return written.startswith(_heading().encode() + b" ")


def _heading() -> str:
    return f"{_MAGIC} {FORMAT} {__version__}"


def _checksum(body: bytes) -> str:
    return blake2b(body, digest_size=16).hexdigest()


def _pack(value: object) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        written = BytesIO()  # numpy's own format: it knows every dtype, of structured arrays too
        npy.write_array(written, np.asarray(value, order="C"), allow_pickle=False)
        return {"array": base64.b64encode(written.getvalue()).decode()}
    if isinstance(value, dict):
        return {"table": {str(key): _pack(each) for key, each in value.items()}}
    if isinstance(value, list | tuple):
        return {"list": [_pack(each) for each in value]}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"whole": str(value)}  # a generator's state has 128 bits
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}  # JSON has no infinity: it would come back as nothing
    if value is None or isinstance(value, str | float | bool):
        return value
    raise OptionError(f"a policy's state must be arrays and plain values, got {type(value).__name__}")


def _unpack(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return npy.read_array(BytesIO(base64.b64decode(value["array"])), allow_pickle=False)
    if "table" in value:
        return {key: _unpack(each) for key, each in value["table"].items()}
    if "list" in value:
        return [_unpack(each) for each in value["list"]]
    return float(value["float"]) if "float" in value else int(value["whole"])
