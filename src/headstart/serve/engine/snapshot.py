"""A policy's state as bytes and back, for snapshots: arrays and plain values, nothing that could run.

A state is laid over a policy that was built anew from the same configuration and log, so settings and the log's own
rows are not kept. What is kept are the arrays of the policy's `kernel_state`, or what its `get_state` gives; a warm
start whose parts differ is taken part by part. A policy that offers neither is not saved: its state is then folded
from the events each time.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from headstart.errors import OptionError
from headstart.warmstart.warmstart import WarmStart

# Room for intermediate results: what stands in it depends on who asked last.
_SCRATCH = frozenset({"scratch", "context", "seen"})


def save_policy(policy: Any) -> bytes | None:
    """The state, or None for a policy that cannot be saved. Equal states give equal bytes."""
    tree = _get(policy)
    return None if tree is None else orjson.dumps(_pack(tree))


def load_policy(policy: Any, saved: bytes) -> None:
    """Lay a saved state over a policy built from the same configuration and log."""
    _set(policy, _unpack(orjson.loads(saved)))


def _get(part: Any) -> Any:
    state = getattr(part, "kernel_state", None)
    if state is not None:
        return {path: array if used is None else array[:used] for path, array, used in _arrays(state)}
    if callable(getattr(part, "get_state", None)) and callable(getattr(part, "set_state", None)):
        return part.get_state()
    if isinstance(part, WarmStart):
        parts = {name: _get(each) for name, each in _parts(part).items()}
        if all(tree is not None for tree in parts.values()):
            return {**parts, "virtual_plays": part._virtual_plays, "is_due": part._is_due}
    return None


def _set(part: Any, tree: Any) -> None:
    if getattr(part, "kernel_state", None) is not None:
        online = [len(value) for path, value in tree.items() if path.endswith("online")]
        if online and hasattr(part, "reserve"):
            part.reserve(max(online))
        for path, array, _ in _arrays(part.kernel_state):
            value = tree[path]
            if path.endswith("online"):
                array[: len(value)] = value
            elif array.shape != value.shape:
                raise OptionError(f"a saved {path} has shape {value.shape}, the policy's has {array.shape}")
            else:
                array[...] = value
    elif callable(getattr(part, "set_state", None)):
        part.set_state(tree)
    else:
        for name, each in _parts(part).items():
            _set(each, tree[name])
        part._virtual_plays[...] = tree["virtual_plays"]
        part._is_due[...] = tree["is_due"]


def _parts(policy: WarmStart) -> dict[str, Any]:
    return {"oracle": policy.oracle, "evaluator": policy.evaluator, "contexts": policy._users}


def _arrays(state: Any, prefix: str = "") -> Iterator[tuple[str, NDArray[Any], int | None]]:
    """The arrays that a kernel may write, in a NamedTuple of arrays and NamedTuples; how much of each is used."""
    for name, value in state._asdict().items():
        if isinstance(value, np.ndarray):
            if value.flags.writeable and name not in _SCRATCH and not name.startswith("scratch_"):
                # Contexts of online users stand in an array with room to spare.
                yield prefix + name, value, int(state.n_online[0]) if name == "online" else None
        elif hasattr(value, "_asdict"):
            yield from _arrays(value, f"{prefix}{name}.")


def _pack(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
        return {"array": data, "kind": array.dtype.str, "shape": list(array.shape)}
    if isinstance(value, dict):
        return {"table": {str(key): _pack(each) for key, each in value.items()}}
    if isinstance(value, list | tuple):
        return {"list": [_pack(each) for each in value]}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"whole": str(value)}  # a generator's state has 128 bits
    if value is None or isinstance(value, str | float | bool):
        return value
    raise OptionError(f"a policy's state must be arrays and plain values, got {type(value).__name__}")


def _unpack(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        raw = np.frombuffer(base64.b64decode(value["array"]), dtype=np.dtype(value["kind"]))
        return raw.reshape(value["shape"]).copy()
    if "table" in value:
        return {key: _unpack(each) for key, each in value["table"].items()}
    if "list" in value:
        return [_unpack(each) for each in value["list"]]
    return int(value["whole"])
