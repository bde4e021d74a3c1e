"""What only kernels call is optimised once, within the kernel that Python calls.

numba optimises a function with all that it calls and makes machine code of it, and then does the same to each of its
callers: what lies five calls deep is optimised six times, and five of the results are thrown away. Here a function
that Python cannot call is handed on to its callers as it is. The arithmetic that comes out is the same, for LLVM
keeps the order of floating-point operations; compiling takes half as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite.binding import parse_bitcode  # type: ignore[import-untyped]
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen, RuntimeLinker
from numba.core.environment import lookup_environment
from numba.core.registry import cpu_target

_CALLED_BY_PYTHON = "_ZN7cpython"  # how numba calls the function that takes Python's objects
_ENVIRONMENT = "_ZN08NumbaEnv"  # and what a function's globals and constants are found by
_HANDED_ON = "handed on"  # how such code is kept, beside numba's own "object" and "bitcode"
_KNOWN = ("finalize", "_finalize_dynamic_globals", "_get_module_for_linking", "_raise_if_finalized")


class _HandedOn(JITCodeLibrary):  # type: ignore[misc]
    """The code of one function, optimised only if Python calls it."""

    _is_handed_on = False

    def finalize(self) -> None:
        functions = (function.name for function in self._final_module.functions if not function.is_declaration)
        if any(name.startswith(_CALLED_BY_PYTHON) for name in functions):
            super().finalize()
            self._set_environments()
            return
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._hand_on()

    def _set_environments(self) -> None:
        """What was handed on has its constants, for `print` or `objmode`, from here on: it had no address before."""
        for value in self._final_module.global_variables:
            environment = lookup_environment(value.name) if value.name.startswith(_ENVIRONMENT) else None
            if environment is not None:
                self.codegen.set_env(value.name, environment)

    def _hand_on(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = self._is_handed_on = True

    def serialize_using_object_code(self) -> tuple[str, str, object]:
        """What is handed on has no object code: it is kept as it is, and read again (pieces.py)."""
        whole: tuple[str, str, object]
        if not self._is_handed_on:
            whole = super().serialize_using_object_code()
            return whole
        return self.name, _HANDED_ON, self._final_module.as_bitcode()

    @classmethod
    def _unserialize(cls, codegen: JITCPUCodegen, state: tuple[str, str, object]) -> _HandedOn:
        name, kind, data = state
        if kind != _HANDED_ON:
            read: _HandedOn = super()._unserialize(codegen, state)
            return read
        self = cls(codegen, name)
        self._final_module = parse_bitcode(data)
        self._hand_on()
        return self


def is_handing_on() -> bool:
    """Whether numba compiles within `optimised_once`, and works in the way that it knows."""
    return cpu_target.target_context.codegen()._library_class is _HandedOn


def can_be_kept(library: JITCodeLibrary) -> bool:
    """False for code that holds an address of this process, or of a function that calls itself: that is looked up."""
    names = (value.name for value in library._final_module.global_variables)
    return not library.has_dynamic_globals and not any(name.startswith(RuntimeLinker.PREFIX) for name in names)


@contextmanager
def optimised_once() -> Iterator[None]:
    """While numba compiles in here, under its lock; a numba that works in another way compiles as it always does."""
    codegen = cpu_target.target_context.codegen()
    is_known = type(codegen) is JITCPUCodegen and all(hasattr(JITCodeLibrary, name) for name in _KNOWN)
    if not is_known or codegen._library_class is _HandedOn:
        yield
        return
    before = codegen.set_env

    def set_env(name: str, environment: object) -> None:
        if codegen._engine.is_symbol_defined(name):  # what was handed on has no address of its own
            before(name, environment)

    codegen._library_class, codegen.set_env = _HandedOn, set_env
    try:
        yield
    finally:
        del codegen._library_class, codegen.set_env
