"""What a composition is made of, as a digest: machine code that was kept may be used while this stays the same.

numba freezes into a compiled function the code of every function that it calls and every global value that they
name, from whatever file. So that is what is digested: the walk goes from the outermost function to all that it names,
and from a verb to what it does to the states at hand. An edit of anything else leaves machine code as it is.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType

import numpy as np
from numba.core.dispatcher import Dispatcher

from headstart.kernels.dispatch import Function, has_implementation, implementation, is_verb, options_of

# What they do changes with numba's version, which is in the key, or with Python's, which is in numba's own.
_NOT_OURS = {*sys.stdlib_module_names, "numba", "numpy", "scipy"}
_NO_STATES = frozenset({np.ndarray, int, float, bool})  # what states are made of: a simulator asks by the thousand
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), range, np.generic, np.dtype)


class CannotTellError(Exception):
    """A kernel names a value whose change could not be told."""


def digest_composition(function: Function, states: Iterable[type]) -> str:
    """A digest of all that `function` is made of, when it works on these state classes."""
    classes = tuple(dict.fromkeys(states))
    digest = hashlib.sha256(_encode(classes))
    seen: set[Function] = set()
    walk = [function]
    while walk:
        reached = walk.pop()
        if reached in seen:
            continue
        seen.add(reached)
        if is_verb(reached):
            able = [state for state in classes if has_implementation(reached, state)]
            chosen = [implementation(reached, state) for state in able]
            digest.update(_encode([reached, options_of(reached, *able), *chosen]))
            walk.extend(chosen)
        else:
            text, called = _read(reached)
            digest.update(text)
            walk.extend(called)
    return digest.hexdigest()


def states_in(values: Iterable[object]) -> list[type]:
    """The NamedTuple classes found in these values, nested ones included, each as often as it stands."""
    found: list[type] = []
    for value in values:
        kind = type(value)
        if kind in _NO_STATES or not isinstance(value, tuple):
            continue
        if kind is not tuple:
            found.append(kind)
        found += states_in(value)
    return found


def have_files(*owners: Function) -> bool:
    """False if one of them was typed at a prompt: no other process would find it."""
    return all(os.path.isfile(vars(sys.modules[owner.__module__]).get("__file__") or "") for owner in owners)


def _is_state(owner: type) -> bool:
    return issubclass(owner, tuple) and owner is not tuple


def is_followed(module: str) -> bool:
    """Whether what is in a module is digested: not what is of numba, numpy, SciPy or Python itself."""
    return module.partition(".")[0] not in _NOT_OURS


@cache
def _read(function: Function) -> tuple[bytes, tuple[Function, ...]]:
    """A function's own code with the values that it names, and the functions among those."""
    assert isinstance(function, FunctionType)
    codes = list(_codes_in(function.__code__))
    named = list(_named_in(function, list(dict.fromkeys(name for code in codes for name in code.co_names))))
    parts = [(code.co_code, code.co_names, _encode_constants(code)) for code in codes]
    text = repr((parts, [(name, _encode(value)) for name, value in named]))
    called = (value for _, value in named if isinstance(value, FunctionType))
    return text.encode(), tuple(value for value in called if is_followed(value.__module__))


def _named_in(function: FunctionType, names: list[str]) -> Iterator[tuple[str, object]]:
    """What these names mean in a function, and its closure and default values."""
    values: list[tuple[str, object]] = [
        *zip(function.__code__.co_freevars, (cell.cell_contents for cell in function.__closure__ or ()), strict=True),
        ("defaults", function.__defaults__),
        *(function.__kwdefaults__ or {}).items(),
    ]
    values += [(name, function.__globals__[name]) for name in names if name in function.__globals__]
    followed: set[ModuleType] = set()
    for name, value in values:  # which grow: a module stands for what is named in it, and so do the modules in it
        if isinstance(value, ModuleType) and is_followed(value.__name__) and value not in followed:
            followed.add(value)
            values += [(attribute, vars(value)[attribute]) for attribute in names if attribute in vars(value)]
        if isinstance(value, Dispatcher):
            yield name, repr(sorted(value.targetoptions.items()))  # how it is compiled is part of what it does
            value = value.py_func
        yield name, value


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes_in(constant)


def _encode_constants(code: CodeType) -> list[bytes]:
    return [_encode(constant) for constant in code.co_consts if not isinstance(constant, CodeType)]


def _encode(value: object) -> bytes:
    """A value as bytes that differ when it does."""
    if isinstance(value, ModuleType):
        return value.__name__.encode()
    if isinstance(value, FunctionType):  # its own code is digested when the walk comes to it
        return f"{value.__module__}.{value.__qualname__}".encode()
    if isinstance(value, np.ndarray):
        return repr((value.dtype, value.shape)).encode() + value.tobytes()
    if isinstance(value, type) and _is_state(value):
        return repr((value.__module__, value.__qualname__, list(value.__annotations__))).encode()
    if isinstance(value, tuple | list):
        return b"(" + b",".join(map(_encode, value)) + b")"
    if isinstance(value, frozenset):
        return b",".join(sorted(map(_encode, value)))
    if isinstance(value, _PLAIN):
        return repr(value).encode()
    if isinstance(value, np.ufunc):
        return value.__name__.encode()
    if isinstance(value, type | BuiltinFunctionType) and not is_followed(value.__module__):
        return f"{value.__module__}.{value.__qualname__}".encode()
    raise CannotTellError(f"a kernel names {value!r}, whose change nothing would tell")
