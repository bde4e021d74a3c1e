"""Imported, it readies numba: what it learns before the first kernel of a process, and then keeps.

It takes a quarter of a second. Programs that are forked from a process that has imported this (programs.py) begin
with it.
"""

from numba.core.registry import cpu_target

from headstart.kernels import is_compiling
from headstart.kernels.importing import import_array_math

if is_compiling():
    import_array_math()
    cpu_target.target_context.refresh()
