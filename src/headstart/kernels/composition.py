"""What a composition is made of, as a digest: machine code that was kept may be used while this stays the same.

numba freezes into a compiled function the code of every function that it calls and every global value that they
name, from whatever file. So that is what is digested: the walk goes from the outermost function to all that it names,
and from a verb to what it does to the states at hand, those that are made on the way included. An edit of anything
else leaves machine code as it is. Where a change could not be told, nothing is kept.
"""

from __future__ import annotations

import dis
import hashlib
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numba.core.dispatcher import Dispatcher
from numba.core.typing.templates import builtin_registry

from headstart.kernels.dispatch import Function, has_implementation, implementation, is_verb, options_of
from headstart.kernels.naming import is_found_by_name

_LIBRARIES = {"numba", "numpy", "scipy"}  # what they do changes with numba's version, which is in the key
_LOADS = {"LOAD_GLOBAL", "LOAD_NAME"}  # of Python's instructions, those that look a name up in the module
_INSTALLED = {"site-packages", "dist-packages"}  # folders within Python's own of what is not Python's own
_NO_STATES = frozenset({np.ndarray, int, float, bool})  # what states are made of: a simulator asks by the thousand
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), range, np.generic, np.dtype)


class CannotTellError(Exception):
    """A kernel names a value whose change could not be told."""


def digest_composition(function: Function, states: Iterable[type]) -> str:
    """A digest of all that `function` is made of, when it works on these state classes."""
    classes = list(dict.fromkeys(states))
    n_known = -1
    while n_known < len(classes):  # a state that is made on the way brings what verbs do to it
        n_known = len(classes)
        digest = _walk(function, classes)
    return digest


def _walk(function: Function, classes: list[type]) -> str:
    """The digest for these classes; classes that are named on the way are added to them."""
    known = tuple(classes)
    digest = hashlib.sha256(_encode(known))
    seen: set[Function] = set()
    walk = [function]
    while walk:
        reached = walk.pop()
        if reached in seen:
            continue
        seen.add(reached)
        if is_verb(reached):
            able = [state for state in known if has_implementation(reached, state)]
            chosen = [implementation(reached, state) for state in able]
            digest.update(_encode([reached, options_of(reached, *able), *chosen]))
            walk.extend(chosen)
        else:
            read = _read(reached)
            digest.update(read.text)
            walk.extend(read.called)
            classes += [each for each in read.states if each not in classes]
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
    """False if one of them was typed at a prompt, or comes from a module that nobody can import by its name."""
    return all(os.path.isfile(_file_of(owner.__module__) or "") for owner in owners)


def _file_of(module: str | None) -> str | None:
    found = sys.modules.get(module or "")
    file = None if found is None else vars(found).get("__file__")
    return file if isinstance(file, str) else None


def _is_state(owner: type) -> bool:
    return issubclass(owner, tuple) and owner is not tuple


@cache
def is_followed(module: str | None) -> bool:
    """Whether what is in a module is digested: not what is of numba, numpy, SciPy or Python itself."""
    package = (module or "").partition(".")[0]
    if package not in sys.stdlib_module_names:
        return package not in _LIBRARIES
    file = _file_of(package)  # of one's own perhaps, with a name that Python has too
    within = Path(sysconfig.get_path("stdlib"))
    return file is not None and (not Path(file).is_relative_to(within) or not _INSTALLED.isdisjoint(Path(file).parts))


class _Read(NamedTuple):
    """A function's own code with the values that it names, the functions among those, and the classes of states."""

    text: bytes
    called: tuple[Function, ...]
    states: tuple[type, ...]


_first_read: dict[Function, bytes] = {}


def _read(function: Function) -> _Read:
    assert isinstance(function, FunctionType)
    code = _code_of(function.__code__)
    named = list(_named_in(function, code))
    text = repr((code.text, [(name, _encode(value)) for name, value in named])).encode()
    if _first_read.setdefault(function, text) != text:
        raise CannotTellError(f"what {function.__qualname__} names has changed, and may have been compiled before")
    called = (value for _, value in named if isinstance(value, FunctionType))
    states = (value if isinstance(value, type) else type(value) for _, value in named)
    return _Read(
        text,
        tuple(value for value in called if is_followed(value.__module__)),
        tuple(dict.fromkeys(each for each in states if _is_state(each))),
    )


class _Code(NamedTuple):
    """What a function does, as text, the names in it, and those among them that are not of attributes."""

    text: str
    names: list[str]
    values: list[str]


@cache
def _code_of(code: CodeType) -> _Code:
    codes = list(_codes_in(code))
    parts = [
        (each.co_code, each.co_names, each.co_varnames, each.co_argcount, each.co_kwonlyargcount, each.co_flags,
         each.co_exceptiontable, _encode_constants(each))
        for each in codes
    ]  # fmt: skip
    values = (each.argval for code in codes for each in dis.get_instructions(code) if each.opname in _LOADS)
    names = (name for each in codes for name in each.co_names)
    return _Code(repr(parts), list(dict.fromkeys(names)), list(dict.fromkeys(values)))


def _named_in(function: FunctionType, code: _Code) -> Iterator[tuple[str, object]]:
    """What these names mean in a function, its closure and default values, and what numba was told of those."""
    values: list[tuple[str, object]] = [
        *zip(function.__code__.co_freevars, (cell.cell_contents for cell in function.__closure__ or ()), strict=True),
        ("defaults", function.__defaults__),
        *(function.__kwdefaults__ or {}).items(),
    ]
    values += [(name, function.__globals__[name]) for name in code.values if name in function.__globals__]
    followed: set[ModuleType] = set()
    for name, value in values:  # which grow: a module stands for what is named in it, and so do the modules in it
        if isinstance(value, ModuleType) and is_followed(value.__name__) and value not in followed:
            followed.add(value)
            values += [(attribute, vars(value)[attribute]) for attribute in code.names if attribute in vars(value)]
        if isinstance(value, Dispatcher):
            yield name, _how_compiled(value)
            value = value.py_func
            if value is function:
                raise CannotTellError(f"{function.__qualname__} calls itself, and numba looks that up by an address")
        elif isinstance(value, FunctionType) and is_followed(value.__module__) and not is_verb(value):
            yield from _overloads_of(name, value)
        yield name, value


def _how_compiled(dispatcher: Any) -> str:
    """How numba compiles a function is part of what it does: its options, the types of `locals`, its signatures."""
    try:
        told = dispatcher.targetoptions, dispatcher._compiler.locals
        fixed = () if dispatcher._can_compile else [str(each.signature) for each in dispatcher.overloads.values()]
        return repr((*(sorted(each.items()) for each in told), fixed))
    except AttributeError as error:
        raise CannotTellError(f"this numba does not say how a function is compiled: {error}") from None


def _overloads_of(name: str, function: FunctionType) -> Iterator[tuple[str, object]]:
    """What `numba.extending` was told of a function: options, and what stands for it in compiled code."""
    for template in _templates(len(builtin_registry.globals)).get(id(function), ()):
        told = vars(template)
        yield name, repr(sorted((told.get("_jit_options") or {}).items()))
        stands_for = told.get("_overload_func")
        stands_for = stands_for.__func__ if isinstance(stands_for, staticmethod) else stands_for
        if isinstance(stands_for, FunctionType) and is_followed(stands_for.__module__):
            yield name, stands_for


@lru_cache(maxsize=1)
def _templates(n_registered: int) -> dict[int, list[type]]:
    """By the function that they are for; numba keeps these functions."""
    found: dict[int, list[type]] = {}
    for value, kind in builtin_registry.globals:
        if isinstance(value, FunctionType) and isinstance(kind, types.Function):
            found.setdefault(id(value), []).extend(kind.templates)
    return found


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
        return _encode_class(value)
    if isinstance(value, tuple) and _is_state(type(value)):
        return _encode_class(type(value)) + _encode(tuple(value))
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


def _encode_class(state: type) -> bytes:
    """A class of states: where it stands, and its fields in their order."""
    if not is_found_by_name(state):
        raise CannotTellError(f"{state.__qualname__} is not what {state.__module__} has under this name")
    fields = next((vars(base)["_fields"] for base in state.__mro__ if "_fields" in vars(base)), ())
    return repr((state.__module__, state.__qualname__, fields)).encode()
