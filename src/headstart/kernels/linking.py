"""What only kernels call is optimised once, within the kernel that Python calls.

numba optimises a function with all that it calls and makes machine code of it, and then does the same to each of its
callers: what lies five calls deep is optimised six times, and five of the results are thrown away. Here a function
that Python cannot call is handed on to its callers as it is. The arithmetic that comes out is the same, for LLVM
keeps the order of floating-point operations; compiling takes half as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.registry import cpu_target

_CALLED_BY_PYTHON = "_ZN7cpython"  # how numba calls the function that takes Python's objects
_KNOWN = ("finalize", "_finalize_dynamic_globals", "_get_module_for_linking", "_raise_if_finalized")


class _HandedOn(JITCodeLibrary):  # type: ignore[misc]
    """The code of one function, optimised only if Python calls it."""

    def finalize(self) -> None:
        functions = (function.name for function in self._final_module.functions if not function.is_declaration)
        if any(name.startswith(_CALLED_BY_PYTHON) for name in functions):
            super().finalize()
            return
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


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
