"""Compiling: entry points, and where machine code is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from headstart.kernels import compile as compiling
from headstart.kernels import compiled, entry


class Inner(NamedTuple):
    values: np.ndarray


def _add(values, x):
    values[0] += x


def test_an_entry_is_the_compiled_function_for_these_types():
    values = np.zeros(1)
    point = entry(_add, values, 1.0, allocates=False)
    point(values, 2.0)
    compiled(_add)(values, 3.0)
    assert values[0] == 5.0


def test_numba_s_own_cache_setting_is_left_as_it_was():
    import numba

    before = numba.config.CACHE_DIR
    compiled(_add, Inner)
    assert before == numba.config.CACHE_DIR


def test_threads_that_compile_together_leave_numba_s_settings_as_they_were():
    """Each sets where code is kept: an unlocked one took another's for what had been there before."""
    import numba

    before = numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES
    kinds = [type(f"Of{i}", (Inner,), {"__module__": __name__, "__qualname__": f"Of{i}"}) for i in range(40)]
    globals().update({kind.__name__: kind for kind in kinds})
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda kind: compiled(_add, kind), kinds))
    finally:
        sys.setswitchinterval(switch)
    assert before == (numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES)


def test_a_state_class_of_an_interactive_session_can_be_compiled_for(tmp_path: Path):
    """__main__ has no file at a prompt: nothing to digest, so nothing is kept, and it works all the same."""
    code = (
        "import sys, numpy as np\nfrom typing import NamedTuple\nfrom headstart.kernels import compiled\n"
        "from headstart.kernels.arrays import total\n"
        "class Mine(NamedTuple):\n    values: np.ndarray\n"
        "print(compiled(total, Mine)(np.ones(3)))\n"
    )
    for arguments in (["-"], ["-c", code]):
        done = subprocess.run(
            [sys.executable, *arguments],
            input=code,
            capture_output=True,
            text=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        )
        assert done.stdout.strip() == "3.0", done.stderr
        assert not list(tmp_path.rglob("*.nbi"))


def test_another_way_of_compiling_has_another_cache_folder():
    """numba's own key does not know them, and would load the one for the other."""
    assert compiling._cache_folder(_add, (), "a") != compiling._cache_folder(_add, (), "b")
