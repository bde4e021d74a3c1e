"""Pieces: the kernels within a kernel are kept too, and another that has some of them is put together from those.

numba keeps what Python calls. A loop over another oracle would be compiled from its beginning, with all that it has
in common with the last one: the world, the sums, the draws. Here every kernel that only kernels call is kept as it is
handed on to them (linking.py), in a folder named after all that it is made of (composition.py), as whole compositions
are. To read one takes milliseconds, to type and to lower it tenths of a second.
"""

from __future__ import annotations

import hashlib
import inspect
import itertools
import os
import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core import bytecode, compiler

from headstart.kernels.composition import CannotTellError, digest_composition, have_files, is_followed
from headstart.kernels.keeping import find_code_folder
from headstart.kernels.linking import can_be_kept, is_handing_on
from headstart.kernels.naming import dump_by_name
from headstart.kernels.sweeping import mark_used
from headstart.whole_files import write_whole

_FILE = "piece"
_COMPILES = ("typingctx", "targetctx", "func", "args", "return_type", "flags", "locals")
_TOLD_BY_NAME = (types.Array, types.Number, types.Boolean, types.NoneType, types.UnicodeType)  # a type is its text


@contextmanager
def kept_pieces() -> Iterator[None]:
    """While numba compiles in here, under its lock, what was kept is read, and what is compiled is kept.

    A numba that compiles in another way than the one we know keeps what Python calls, and no pieces.
    """
    before = compiler.compile_extra
    is_known = tuple(inspect.signature(before).parameters)[: len(_COMPILES)] == _COMPILES
    if not is_known or not is_handing_on() or before is _compile_or_read:
        yield
        return
    _name_apart()
    compiler.compile_extra = _compile_or_read
    try:
        yield
    finally:
        compiler.compile_extra = before


_compile = compiler.compile_extra


def _compile_or_read(
    typingctx: Any, targetctx: Any, func: Any, args: Any, return_type: Any, flags: Any, locals: Any, **others: Any
) -> Any:
    """`numba.core.compiler.compile_extra`, which every function goes through, on its way down and within others."""
    is_piece = flags.no_cpython_wrapper and return_type is None and not locals
    folder = _folder_of(func, tuple(args), flags, targetctx) if is_piece else None
    found = _read(folder, tuple(args), targetctx) if folder else None
    if found is None:
        found = _compile(typingctx, targetctx, func, args, return_type, flags, locals, **others)
        if folder is not None:
            _keep(folder, found)
    return found


@cache
def _name_apart() -> None:
    """Let this process number its functions from a place of its own.

    numba tells functions of one name and one type by a number that it counts up, and pieces from several processes
    meet in one module.
    """
    bytecode.FunctionIdentity._unique_ids = itertools.count(int.from_bytes(os.urandom(6), "big"))


def _folder_of(function: Any, args: tuple[Any, ...], flags: Any, targetctx: Any) -> Path | None:
    """Where a piece is kept; None if nothing would tell that a kept copy is stale."""
    try:
        states = list(_states_in(args))
        if not is_followed(function.__module__) or not have_files(function, *states):
            return None
        digest = digest_composition(function, states)
    except CannotTellError:
        return None
    how = f"{numba.__version__} {flags} {targetctx.codegen().magic_tuple()} {args}"
    return find_code_folder().place(hashlib.sha256(f"{_FILE} {how} {digest}".encode()).hexdigest()[:16])


def _states_in(args: Iterable[Any]) -> Iterator[type]:
    """The classes of states among the types of arguments."""
    for each in args:
        if isinstance(each, types.BaseTuple):
            if isinstance(each, types.BaseNamedTuple):
                yield each.instance_class
            yield from _states_in(each)
        elif not isinstance(each, _TOLD_BY_NAME):
            raise CannotTellError(f"a kernel is called with {each}, which its name does not tell")


def _read(folder: Path, args: tuple[Any, ...], targetctx: Any) -> Any:
    """A piece as if it had been compiled here; None if there is none that could be read and fits."""
    try:
        found = compiler.CompileResult._rebuild(targetctx, *pickle.loads((folder / _FILE).read_bytes()))
    except Exception:  # there is none, or something is wrong with it: it is compiled, and takes its place
        return None
    if tuple(found.signature.args) != args:  # of other classes of the same names
        return None
    found.library._reload_init.update(found.reload_init)
    targetctx.insert_user_function(found.entry_point, found.fndesc, [found.library])
    mark_used(folder)
    return found


def _keep(folder: Path, found: Any) -> None:
    if found.lifted or found.objectmode or not can_be_kept(found.library):
        return
    typed = found.fndesc.typemap, found.fndesc.calltypes
    try:
        piece = dump_by_name(found._reduce())
        folder.mkdir(parents=True, exist_ok=True)
        with write_whole(folder / _FILE) as file:
            file.write_bytes(piece)
    except (OSError, pickle.PicklingError):  # nothing can be written to, or something cannot be written down
        return
    finally:
        found.fndesc.typemap, found.fndesc.calltypes = typed  # which `_reduce` throws away
