"""Compiling kernels: how plain functions become machine code, and where that code is kept.

A kernel is a plain Python function over arrays, scalars and NamedTuples of arrays. It validates nothing
and raises nothing. Marked with `kernel` it may be called by other kernels; it stays an ordinary function
for the interpreter, which is what the tests compare with.

Compiled code is cached on disk. numba looks only at the file of the outermost function to tell whether a
cached copy is stale, and ours are composed from several files, so each composition is cached in a folder
named by a digest of all that it is made of (composition.py), and found by that alone (locating.py): the same code in
another checkout, or installed again, is not compiled again.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast

import numba
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import register_jitable

from headstart.kernels.composition import CannotTellError, digest_composition, have_files, states_in
from headstart.kernels.dispatch import OPTIONS, F, Function
from headstart.kernels.forgiving import forgive
from headstart.kernels.importing import import_array_math
from headstart.kernels.keeping import find_code_folder
from headstart.kernels.linking import optimised_once
from headstart.kernels.locating import KNOWS_LOCATORS, located_by_content
from headstart.kernels.locking import only_one_compiles
from headstart.kernels.naming import named_classes
from headstart.kernels.pieces import kept_pieces
from headstart.kernels.sweeping import mark_used

logger = logging.getLogger("headstart.kernels")
P = ParamSpec("P")
T = TypeVar("T")


def kernel(function: F) -> F:
    """Mark a function as callable from compiled code; called from Python it runs interpreted."""
    marked: F = register_jitable(**OPTIONS)(function)
    return marked


def is_compiling() -> bool:
    """False when NUMBA_DISABLE_JIT turns every kernel into its interpreted self."""
    return not numba.config.DISABLE_JIT


class _Compiles(Protocol):
    def __call__(
        self, function: Callable[P, T], *states: type, allocates: bool = True, keeps_gil: bool = False
    ) -> Callable[P, T]: ...


def _compile(
    function: Callable[P, T], *states: type, allocates: bool = True, keeps_gil: bool = False
) -> Callable[P, T]:
    """`function` compiled for arguments that hold these state classes, cached on disk.

    With `allocates=False` nothing in it is reference-counted: quicker, and it cannot make arrays. With
    `keeps_gil=True` other Python threads wait while it runs: right for what takes microseconds, where letting go of
    the lock and getting it back costs more than the work, and a second busy thread would hold it for milliseconds.
    """
    if is_compiling():
        import_array_math()
    flags = {"_nrt": allocates, "nogil": not keeps_gil}
    folder = _cache_folder(function, states, str({**flags, **OPTIONS})) if have_files(function, *states) else None
    # A new dispatcher each time: one function serves many compositions, each with its own cache.
    dispatcher: Callable[P, T]
    if folder is None:
        dispatcher = numba.njit(**flags, **OPTIONS)(function)
    else:
        with global_compiler_lock, _kept_in(folder):  # which is a setting of all threads
            dispatcher = numba.njit(cache=True, **flags, **OPTIONS)(function)
        forgive(dispatcher, folder)
    what = f"{function.__qualname__} of {', '.join(dict.fromkeys(state.__name__ for state in states)) or 'arrays'}"
    _compile_once(dispatcher, folder, what)
    return dispatcher


@contextmanager
def _kept_in(folder: Path) -> Iterator[None]:
    """What is made meanwhile is kept in this folder, and found there from any checkout of the same code."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        with located_by_content():
            yield
    finally:
        numba.config.CACHE_DIR = before


def _compile_once(dispatcher: Any, folder: Path | None, what: str) -> None:
    """Let one process at a time compile what is kept in a folder: those that wait find it on the disk."""
    if not is_compiling():
        return
    compile_here = dispatcher.compile

    def compile_alone(types: object) -> object:
        began, n_read = time.perf_counter(), dispatcher.stats.cache_hits.total()
        alone = only_one_compiles(folder) if folder is not None else nullcontext()
        if not (dispatcher.overloads or (folder is not None and any(folder.glob("*.nbi")))):
            logger.info("compiling %s: it takes seconds, once on a machine", what)
        with global_compiler_lock, alone, optimised_once(), kept_pieces(), named_classes():
            n_compiled = len(dispatcher.overloads)
            point = compile_here(types)
        if len(dispatcher.overloads) > n_compiled and dispatcher.stats.cache_hits.total() == n_read:
            logger.info("compiled %s in %.1f s", what, time.perf_counter() - began)
        return point

    dispatcher.compile = compile_alone


compiled = cast(_Compiles, cache(_compile))


def call(function: Callable[..., T], *arguments: object, allocates: bool = False) -> T:
    """What `function` gives for these arguments, compiled for the states in them."""
    return compiled(function, *states_in(arguments), allocates=allocates)(*arguments)


def entry(
    function: Callable[..., T], *arguments: object, allocates: bool = True, keeps_gil: bool = True
) -> Callable[..., T]:
    """The compiled entry point for arguments of exactly these types.

    Calling it skips numba's look-up of the arguments' types, which for a NamedTuple of three arrays
    costs a microsecond, twice what the call itself does. The caller vouches for the types.
    """
    dispatcher = compiled(function, *states_in(arguments), allocates=allocates, keeps_gil=keeps_gil)
    if not is_compiling():
        return dispatcher
    types = tuple(numba.typeof(argument) for argument in arguments)
    point: Callable[..., T] = dispatcher.compile(types)  # type: ignore[attr-defined]
    return point


class Entry(Generic[T]):
    """A kernel bound to the types of the arguments it is first called with; later calls must have the same."""

    def __init__(self, function: Callable[..., T], *, allocates: bool = True, keeps_gil: bool = True) -> None:
        self._function, self._allocates, self._keeps_gil = function, allocates, keeps_gil
        self._point: Callable[..., T] | None = None

    def __call__(self, *arguments: object) -> T:
        if self._point is None:
            self._point = entry(self._function, *arguments, allocates=self._allocates, keeps_gil=self._keeps_gil)
        return self._point(*arguments)

    def __reduce__(self) -> tuple[object, ...]:  # machine code is not copied or pickled: it is bound again
        return _new_entry, (self._function, self._allocates, self._keeps_gil)


def _new_entry(function: Callable[..., T], allocates: bool, keeps_gil: bool) -> Entry[T]:
    return Entry(function, allocates=allocates, keeps_gil=keeps_gil)


def _cache_folder(function: Function, states: tuple[type, ...], flags: str) -> Path | None:
    """Where a composition is kept; None if nothing would tell that a kept copy is stale."""
    try:
        digest = digest_composition(function, states)
    except CannotTellError:
        return None
    stamp = "" if KNOWS_LOCATORS else _stamp(function)
    whole = hashlib.sha256(f"{numba.__version__}{flags}{digest}{stamp}".encode())
    folder = find_code_folder().place(whole.hexdigest()[:16])
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # it could be written to when this process began
        return None
    mark_used(folder)
    return folder


def _stamp(function: Function) -> str:
    """The time and size of a function's file, which a numba without locators looks at: where they change it begins
    the folder anew, under the eyes of processes that still run the file of before."""
    file = os.stat(vars(sys.modules[function.__module__])["__file__"])
    return f"{file.st_mtime_ns}{file.st_size}"
