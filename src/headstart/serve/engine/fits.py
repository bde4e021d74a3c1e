"""Fits: what a policy was before its first user, kept in the store, so that every process goes on from the same bits.

The last bits of a regression depend on the processor, on the threads that BLAS splits a sum among, and on the
versions of the libraries. So a fit is made once: the state of a policy that was just built from its log is recorded
with the warm start that calls for it, which names its hash, and whoever builds that policy takes this state up.

A state of more than 16 MB is that of an evaluator that holds rows of the log. Of such a state the largest arrays are
recorded by their hash alone, places and counts before numbers: they are rows that were sorted and counted, and
whoever builds them finds the same.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headstart.parts import OracleAbilities, Saved
from headstart.serve.engine.packing import pack, unpack
from headstart.serve.engine.served_policy import ServedPolicy
from headstart.serve.errors import StoreCorrupt

MOST_BYTES = 16 << 20  # of arrays that are recorded in full, before they are compressed
_COMPRESSION = 1  # numbers hardly get smaller by more, and that takes six times as long

_Array: TypeAlias = NDArray[np.generic]


class Fit(NamedTuple):
    """A recorded state, under the hash of its text."""

    hash: str
    body: str


def record_fit(policy: ServedPolicy, most_bytes: int = MOST_BYTES) -> Fit | None:
    """The state of a policy that has seen no user; None for one that cannot be saved, which is built as it comes."""
    state = OracleAbilities(policy.policy).try_get_state()
    if state is None:
        return None
    digests = {name: _digest(array) for name, array in _beyond(state, most_bytes)}
    kept = _changed(state, lambda name, value: None if name in digests else value)
    text = zlib.compress(pack({"state": kept, "digests": digests}), _COMPRESSION)
    body = base64.b64encode(text).decode()
    return Fit(_hash(body), body)


def take_up_fit(policy: ServedPolicy, hash: str, body: str | None) -> None:
    """Give a policy that was just built the recorded state; StoreCorrupt if it cannot be, which changes nothing."""
    if body is None:
        raise StoreCorrupt(f"the fit {hash} is not in the store")
    if _hash(body) != hash:
        raise StoreCorrupt(f"the fit {hash} was changed: its hash does not match")
    abilities = OracleAbilities(policy.policy)
    try:
        saved = unpack(zlib.decompress(base64.b64decode(body)))
        built = dict(_arrays(abilities.get_state()))
        for name, digest in saved["digests"].items():
            if name not in built or _digest(built[name]) != digest:
                raise ValueError(f"{name} has come out differently on this machine")
        whole = _changed(saved["state"], lambda name, value: built[name] if name in saved["digests"] else value)
        abilities.set_state(whole)
    except Exception as error:  # what a later version makes of it, or a library that fits otherwise
        raise StoreCorrupt(f"the fit {hash} does not belong to the policy that is built now: {error}") from error


def _beyond(state: Saved, most_bytes: int) -> list[tuple[str, _Array]]:
    """The largest arrays, without which the others are within the limit; numbers, which may be fitted, come last."""
    arrays = sorted(_arrays(state), key=lambda each: (each[1].dtype.kind == "f", -each[1].nbytes))
    left = sum(array.nbytes for _, array in arrays)
    beyond = []
    for name, array in arrays:
        if left <= most_bytes:
            break
        beyond.append((name, array))
        left -= array.nbytes
    return beyond


def _arrays(state: Saved, at: str = "") -> Iterator[tuple[str, _Array]]:
    for key, value in state.items():
        if isinstance(value, dict):
            yield from _arrays(value, f"{at}{key}/")
        elif isinstance(value, np.ndarray):
            yield f"{at}{key}", value


def _changed(state: Saved, change: Callable[[str, object], object], at: str = "") -> Saved:
    """The same state with other values in its places."""
    return {
        key: _changed(value, change, f"{at}{key}/") if isinstance(value, dict) else change(f"{at}{key}", value)
        for key, value in state.items()
    }


def _digest(array: _Array) -> str:
    heading = f"{array.dtype.str} {array.shape}".encode()
    return blake2b(heading + np.ascontiguousarray(array).tobytes(), digest_size=16).hexdigest()


def _hash(body: str) -> str:
    return blake2b(body.encode(), digest_size=16).hexdigest()
