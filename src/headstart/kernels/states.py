"""What can be done to the state of any part, whatever it is of: copied, saved, loaded, given other randomness.

A state is a NamedTuple of arrays, numbers and such NamedTuples. What its fields are for is told by their types: an
array of unsigned words is a stream of randomness (`Words`), and a field declared as `Scratch` is room to work in,
which is not saved. No field's name means anything here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import SCRATCH
from headstart.errors import OptionError
from headstart.randomness import RNG, as_generator, as_words

S = TypeVar("S")
SavedArrays = Mapping[str, NDArray[np.generic]]  # by dotted names: tally.counts


def is_state(value: object) -> bool:
    """Whether a value is a NamedTuple, as states are."""
    return isinstance(value, tuple) and type(value) is not tuple


def copy_state(state: S) -> S:
    """A state with arrays of its own."""
    return _rebuild(
        state, "", lambda name, value, is_scratch: value.copy() if isinstance(value, np.ndarray) else value
    )


def save_state(state: object) -> dict[str, NDArray[np.generic]]:
    """All that a state knows, scratch left out, as arrays by dotted names."""
    return {name: np.array(value) for name, value, is_scratch in _leaves(state, "") if not is_scratch}


def load_state(present: S, saved: SavedArrays) -> S:
    """The state that `save_state` wrote, of the same class and sizes as the present one."""

    def take(name: str, value: object, is_scratch: bool) -> object:
        if is_scratch:
            return np.array(value)
        return _check_saved(name, np.asarray(value), saved)

    return _rebuild(present, "", take)


def reseed_state(state: S, rng: RNG) -> S:
    """A state with other randomness; what was learnt stays, in the same arrays."""
    generator = as_generator(rng)
    return _rebuild(state, "", lambda name, value, is_scratch: as_words(generator) if _is_words(value) else value)


def _check_saved(name: str, present: NDArray[np.generic], saved: SavedArrays) -> object:
    """The saved value of a field, of the present one's kind: an array, or a number for a number."""
    if name not in saved:
        raise OptionError(f"state needs {name} of shape {present.shape}, got nothing")
    value = np.asarray(saved[name])
    if value.shape != present.shape:
        raise OptionError(f"state needs {name} of shape {present.shape}, got shape {value.shape}")
    if not np.can_cast(value.dtype, present.dtype, "same_kind"):
        raise OptionError(f"state needs {name} of {present.dtype}, got {value.dtype}")
    return value.astype(present.dtype) if present.ndim else present.dtype.type(value).item()


def _rebuild(state: S, prefix: str, change: Callable[[str, object, bool], object]) -> S:
    """A state of the same classes whose leaves are changed: by name, value and whether they are scratch."""
    assert isinstance(state, tuple)
    values = [
        _rebuild(value, f"{prefix}{name}.", change) if is_state(value) else change(prefix + name, value, is_scratch)
        for name, value, is_scratch in _fields(state)
    ]
    return tuple.__new__(type(state), values)


def _leaves(state: object, prefix: str) -> Iterator[tuple[str, object, bool]]:
    for name, value, is_scratch in _fields(state):
        if is_state(value):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value, is_scratch


def _fields(state: object) -> Iterator[tuple[str, object, bool]]:
    assert isinstance(state, tuple)
    names: tuple[str, ...] = type(state)._fields  # type: ignore[attr-defined]
    scratch = _scratch_of(type(state))
    return ((name, value, name in scratch) for name, value in zip(names, state, strict=True))


@cache
def _scratch_of(owner: type) -> frozenset[str]:
    """The fields of a state's class that are declared as `Scratch`."""
    try:
        hints = get_type_hints(owner, include_extras=True)
    except NameError:  # a class within a function, whose annotations nobody can read: all is saved
        return frozenset()
    return frozenset(
        name for name, hint in hints.items() if get_origin(hint) is Annotated and SCRATCH in get_args(hint)
    )


def _is_words(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.uint64
