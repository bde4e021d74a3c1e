"""What can be done to the state of any part, whatever it is of: copied, saved, loaded, given other randomness.

A state is a NamedTuple of arrays, numbers and such NamedTuples. What its fields are for is told by their types: an
array of unsigned words is a stream of randomness (`Words`), a read-only array is what the part was made from, which
copies share, and a field declared as `Scratch` is room to work in. The last two are not saved. No field's name means
anything here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, TypeVar, cast, get_args, get_origin, get_type_hints

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
    """A state whose writable arrays are its own; read-only ones are shared."""
    values: list[object] = []  # not by `_rebuild`: a simulator copies states by the thousand
    for value in cast(tuple[object, ...], state):
        if isinstance(value, np.ndarray):
            values.append(value.copy() if value.flags.writeable else value)
        else:
            values.append(copy_state(value) if is_state(value) else value)
    return tuple.__new__(type(state), values)  # type: ignore[type-var]


def save_state(state: object) -> dict[str, NDArray[np.generic]]:
    """All that a state has learnt, as arrays by dotted names."""
    return {name: np.array(value) for name, value, is_learnt in _leaves(state, "") if is_learnt}


def load_state(present: S, saved: SavedArrays) -> S:
    """The state that `save_state` wrote, of the same class and sizes as the present one."""

    def take(name: str, value: object, is_learnt: bool) -> object:
        return _check_saved(name, np.asarray(value), saved) if is_learnt else _own(value)

    return _rebuild(present, "", take)


def reseed_state(state: S, rng: RNG) -> S:
    """A state with other randomness; what was learnt stays, in the same arrays."""
    generator = as_generator(rng)
    return _rebuild(state, "", lambda name, value, is_learnt: as_words(generator) if _is_words(value) else value)


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
    """A state of the same classes whose leaves are changed: by name, value and whether it is learnt."""
    assert isinstance(state, tuple)
    values = [
        _rebuild(value, f"{prefix}{name}.", change) if is_state(value) else change(prefix + name, value, is_learnt)
        for name, value, is_learnt in _fields(state)
    ]
    return tuple.__new__(type(state), values)


def _leaves(state: object, prefix: str) -> Iterator[tuple[str, object, bool]]:
    for name, value, is_learnt in _fields(state):
        if is_state(value):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value, is_learnt


def _fields(state: object) -> Iterator[tuple[str, object, bool]]:
    assert isinstance(state, tuple)
    names: tuple[str, ...] = type(state)._fields  # type: ignore[attr-defined]
    scratch = _scratch_of(type(state))
    return (
        (name, value, name not in scratch and _can_be_learnt(value)) for name, value in zip(names, state, strict=True)
    )


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


def _own(value: object) -> object:
    return value.copy() if isinstance(value, np.ndarray) and value.flags.writeable else value


def _can_be_learnt(value: object) -> bool:
    return value.flags.writeable if isinstance(value, np.ndarray) else isinstance(value, bool | int | float)


def _is_words(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.uint64
