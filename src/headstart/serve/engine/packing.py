"""A policy's state as text and back: arrays by their full type, plain values, nothing that could run.

Equal states give equal bytes. Mappings keep their order: that of an experiment's contexts is that of its columns.
"""

from __future__ import annotations

import base64
import math
from io import BytesIO
from typing import Any

import numpy as np
import orjson
from numpy.lib import format as npy

from headstart.errors import OptionError
from headstart.parts import Saved


def pack(state: Saved) -> bytes:
    """A state of arrays and plain values as text."""
    return orjson.dumps(_pack(state))


def unpack(packed: bytes) -> Saved:
    """The state that `pack` was given."""
    state: Saved = _unpack(orjson.loads(packed))
    return state


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
