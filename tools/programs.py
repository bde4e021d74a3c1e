"""Programs of tests and of the site: each in a process of its own, which begins with what all of them import.

A hundred interpreters would each import numba, pandas and the package again. These are forked from one that has; a
program that begins processes itself gets an interpreter of its own.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import traceback
import types
import warnings
from pathlib import Path
from typing import NamedTuple

_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(
    ["headstart.judgement.start.start", "headstart.simulation.simulate", "headstart.cli", "ibis", "sklearn.ensemble"]
)


class Told(NamedTuple):
    """How a program ended and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


def run_program(code: str, timeout: float = 300.0) -> Told:
    """A program in an empty folder, with warnings as errors."""
    if "joblib" in code:
        return _interpret(code, timeout)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as written:
        process = _PROCESSES.Process(target=_run, args=(code, folder, written))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
        told = (Path(written, name).read_text() for name in ("stdout", "stderr"))
        return Told(process.exitcode if process.exitcode is not None else -1, *told)


def _interpret(code: str, timeout: float) -> Told:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-W", "error", "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=timeout, check=False)
    return Told(done.returncode, done.stdout, done.stderr)


def _run(code: str, folder: str, written: str) -> None:
    os.chdir(folder)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(Path(written, name), os.O_WRONLY | os.O_CREAT), number)
    sys.argv = ["-c"]
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    warnings.resetwarnings()
    warnings.simplefilter("error")
    try:
        exec(compile(code, "<string>", "exec"), vars(main))
    except BaseException:
        traceback.print_exc()
        sys.exit(1)
