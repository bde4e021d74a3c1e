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
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(
    [
        "headstart.judgement.start.start",
        "headstart.simulation.simulate",
        "headstart.cli",
        "ibis.backends.duckdb",
        "matplotlib.pyplot",
        "tools.ready_to_compile",
    ]
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


def run_script(script: Path, *arguments: str, environment: Mapping[str, str]) -> str:
    """What a script prints, in its folder and in this whole environment; that it failed is an error.

    numba has been imported, and asked nothing: no kernel has been compiled or loaded, and no folder for them found.
    Where numba was told to compile nothing before it was imported, the script has an interpreter of its own.
    """
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        command = [sys.executable, script.name, *arguments]
        done = subprocess.run(command, cwd=script.parent, env=environment, capture_output=True, text=True, check=True)
        return done.stdout
    with tempfile.TemporaryDirectory() as written:
        process = _PROCESSES.Process(target=_run_script, args=(script, arguments, dict(environment), written))
        process.start()
        process.join()
        told = Path(written, "stdout").read_text()
        assert process.exitcode == 0, Path(written, "stderr").read_text()
        return told


def _run_script(script: Path, arguments: tuple[str, ...], environment: dict[str, str], written: str) -> None:
    from numba.core import config

    os.environ.clear()
    os.environ.update(environment)
    config.reload_config()
    tempfile.tempdir = None
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    sys.path[:0] = [str(script.parent), *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    _execute(script.read_text(), str(script), arguments, str(script.parent), written)


def _interpret(code: str, timeout: float) -> Told:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-W", "error", "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=timeout, check=False)
    return Told(done.returncode, done.stdout, done.stderr)


def _run(code: str, folder: str, written: str) -> None:
    warnings.resetwarnings()
    warnings.simplefilter("error")
    _execute(code, "<string>", (), folder, written)


def _execute(code: str, name: str, arguments: tuple[str, ...], folder: str, written: str) -> None:
    os.chdir(folder)
    for number, stream in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(Path(written, stream), os.O_WRONLY | os.O_CREAT), number)
    sys.argv = ["-c" if name == "<string>" else name, *arguments]
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    if name != "<string>":
        main.__file__ = name
    try:
        exec(compile(code, name, "exec"), vars(main))
    except BaseException:
        traceback.print_exc()
        sys.exit(1)
