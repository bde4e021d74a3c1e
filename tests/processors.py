"""A piece of Python as another processor would run it: OpenBLAS chooses its kernels by what it is told it runs on."""

from __future__ import annotations

import os
import subprocess
import sys


def run_as_on(core: str | None, code: str, *arguments: str, **environment: str) -> str:
    """What the code prints in a process whose OpenBLAS believes in this core; None: the one that is there."""
    told = {} if core is None else {"OPENBLAS_CORETYPE": core}
    process = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **told, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout
