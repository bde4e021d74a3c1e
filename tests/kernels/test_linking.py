"""Optimised once: what only kernels call is handed on, and everything else is as numba has it."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numba.core import event
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target

from headstart.kernels import compiled, is_compiling, kernel
from headstart.kernels.linking import optimised_once

pytestmark = pytest.mark.skipif(not is_compiling(), reason="there is nothing to link")


@numba.njit
def _power(x, n):
    return 1.0 if n == 0 else x * _power(x, n - 1)


@kernel
def _cube(x):
    return _power(x, 3)


@kernel
def _square(x):
    return max(x, 0.0) * x


@kernel
def _shifted(values, i):
    made = values + 1.0  # allocates
    return _square(made[i])


def _sum_of_squares(values):
    total = 0.0
    for i in range(values.size):
        total += _shifted(values, i)
    return total


def _sum_of_cubes(values):
    total = 0.0
    for i in range(values.size):
        total += _cube(values[i])
    return total


class _Nested(event.Listener):
    """The compiled results of what only kernels call, by their names."""

    def __init__(self):
        self.found = {}

    def on_start(self, event):
        pass

    def on_end(self, event):
        dispatcher = event.data["dispatcher"]
        self.found[dispatcher.py_func.__name__] = dispatcher


def test_a_kernel_of_kernels_does_what_it_does_interpreted():
    values = np.array([0.5, -3.0, 2.0])
    assert compiled(_sum_of_squares)(values) == _sum_of_squares(values) == 1.5**2 + 3.0**2


def test_only_what_python_calls_becomes_machine_code():
    @kernel
    def inner(x):
        return max(x, 0.0) * x

    @kernel
    def middle(x):
        return inner(x) + 1.0

    def outer(x):
        return middle(x) * 2.0

    heard = _Nested()
    with event.install_listener("numba:compile", heard), optimised_once():
        assert numba.njit(outer)(3.0) == 20.0
    made = {name: [each.library._compiled for each in heard.found[name].overloads.values()] for name in heard.found}
    assert {name: made[name] for name in ("outer", "middle", "inner")} == {
        "outer": [True],
        "middle": [False],
        "inner": [False],
    }


def test_what_calls_itself_may_be_called():
    with optimised_once():
        assert numba.njit(_sum_of_cubes)(np.array([1.0, 2.0])) == 9.0


def test_numba_is_left_as_it_was_and_may_use_what_was_handed_on():
    codegen = cpu_target.target_context.codegen()
    with optimised_once():
        with optimised_once():  # within each other, as one compilation may begin another
            assert codegen._library_class is not JITCodeLibrary
        assert codegen._library_class is not JITCodeLibrary
        numba.njit(lambda x: _square(x))(2.0)
    assert codegen._library_class is JITCodeLibrary
    assert vars(codegen).keys().isdisjoint({"set_env", "_library_class"})
    assert numba.njit(lambda x: _square(x) + max(x, 1.0))(3.0) == 12.0
