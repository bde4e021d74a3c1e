"""Pieces: what a process has compiled another does not compile again, in whatever kernel it stands."""

from __future__ import annotations

import os
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import compiler
from tools.programs import run_script

import headstart as hs
from headstart.kernels import is_compiling, pieces
from headstart.kernels.linking import optimised_once
from headstart.kernels.ridge import dot

INNER = """
import numba
from headstart.kernels import kernel

FACTOR = 3.0


@kernel
def square(x: float) -> float:
    return x * x


@kernel
def inner(x: float) -> float:
    return FACTOR * square(x)


@numba.njit
def power(x, n):
    return 1.0 if n == 0 else x * power(x, n - 1)


@kernel
def cube(x: float) -> float:
    return power(x, 3)


@kernel
def filled(x: float) -> float:
    made = x + 0.0 * x
    return inner(made) + 1.0
"""
OUTER = """
import sys
import numpy as np
from numba.core import compiler
from headstart import kernels
from headstart.kernels import compiled, pieces
from project.inner import cube, filled, inner

def first(values):
    return filled(values[0])

def second(values):
    total = 0.0
    for i in range(values.size):
        total += filled(values[i]) - inner(values[i])
    return total + inner(values[0])

def third(values):
    return cube(values[0])

def fourth(values):
    return cube(values[0]) + 1.0

seen, compile_here = [], pieces._compile

def count(typingctx, targetctx, func, *others, **named):
    seen.append(func.__name__)
    return compile_here(typingctx, targetctx, func, *others, **named)

pieces._compile = count
function = globals()[sys.argv[1]]
print(compiled(function)(np.array([2.0, 5.0])), function(np.array([2.0, 5.0])), *sorted(set(seen)))
"""
PROGRAM = """
import sys
from typing import NamedTuple
import numpy as np
from headstart.kernels import compiled, kernel, pieces


class Sums(NamedTuple):
    values: np.ndarray
    factor: float


def make_local():
    class Local(NamedTuple):
        values: np.ndarray
        factor: float

    return Local


@kernel
def total(state):
    found = 0.0
    for value in state.values:
        found += value
    return found


def scaled(state):
    return state.factor * total(state)


def halved(state):
    return 0.5 * total(state)


seen, compile_here = [], pieces._compile

def count(typingctx, targetctx, func, *others, **named):
    seen.append(func.__name__)
    return compile_here(typingctx, targetctx, func, *others, **named)

pieces._compile = count
kind = make_local() if "local" in sys.argv else Sums
print(compiled(globals()[sys.argv[1]], kind)(kind(np.array([2.0, 5.0]), 3.0)), *sorted(set(seen)))
"""
FIRST, SECOND = str(3.0 * 4 + 1), str(2.0 + 3.0 * 4)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "inner.py").write_text(INNER)
    (tmp_path / "outer.py").write_text(OUTER)
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def _run(project: Path, *which: str, script: str = "outer.py") -> list[str]:
    """What the compiled function says, what the interpreted one says, and the functions that were compiled for it."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(project), str(Path(hs.__file__).parents[1])]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(project / "cache"),
        "NUMBA_DISABLE_JIT": "0",
    }
    return run_script(project / script, *which, environment=environment).split()


def _pieces(project: Path) -> list[Path]:
    return sorted((project / "cache").rglob("piece"))


def test_another_kernel_is_put_together_from_the_pieces_of_the_first(project: Path):
    assert _run(project, "first") == [FIRST, FIRST, "filled", "first", "inner", "square"]
    assert len(_pieces(project)) == 3
    assert _run(project, "second") == [SECOND, SECOND, "second"]
    assert _run(project, "second") == [SECOND, SECOND]  # whole


def test_an_edit_is_new_code_for_all_that_is_made_of_it(project: Path):
    _run(project, "first")
    (project / "project" / "inner.py").write_text(INNER.replace("3.0", "4.0"))
    told = _run(project, "second")
    assert told == [str(2.0 + 4.0 * 4)] * 2 + ["filled", "inner", "second"]  # not the square


def test_a_piece_that_cannot_be_read_is_compiled_and_takes_its_place(project: Path):
    _run(project, "first")
    for piece in _pieces(project):
        piece.write_bytes(piece.read_bytes()[:100])
    assert _run(project, "second") == [SECOND, SECOND, "filled", "inner", "second", "square"]
    assert all(piece.stat().st_size > 100 for piece in _pieces(project))


def test_what_calls_itself_is_no_piece(project: Path):
    """It looks itself up by an address."""
    assert _run(project, "third") == ["8.0", "8.0", "cube", "power", "third"]
    assert _pieces(project) == []
    assert _run(project, "fourth") == ["9.0", "9.0", "cube", "fourth", "power"]


def test_a_state_that_stands_in_the_program_itself_is_the_same_class_in_the_next_process(project: Path):
    """Written down whole it was another: a program with an oracle of its own ran once, and failed the next time."""
    assert _run(project, "scaled", script="program.py") == ["21.0", "scaled", "total"]
    assert _run(project, "scaled", script="program.py") == ["21.0"]
    assert _run(project, "halved", script="program.py") == ["3.5", "halved"]
    assert _run(project, "halved", script="program.py") == ["3.5"]


def test_a_state_that_has_no_name_in_its_module_is_compiled_for_and_nothing_is_kept(project: Path):
    for _ in range(2):
        assert _run(project, "scaled", "local", script="program.py") == ["21.0", "scaled", "total"]
    assert _pieces(project) == []


def test_a_piece_of_another_class_of_the_same_name_does_not_fit(project: Path):
    """As pieces were kept before: the class within them is not the one that is asked for."""
    _run(project, "scaled", script="program.py")
    (piece,) = _pieces(project)
    by_name = piece.read_bytes()
    assert b"find_class" in by_name
    piece.write_bytes(by_name.replace(b"\x8c\x04Sums", b"\x8c\x04Null"))
    assert _run(project, "halved", script="program.py") == ["3.5", "halved", "total"]
    assert piece.read_bytes() != by_name.replace(b"\x8c\x04Sums", b"\x8c\x04Null")


@pytest.mark.skipif(not is_compiling(), reason="there is nothing to keep")
def test_where_nothing_can_be_written_all_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(pieces, "_folder_of", lambda *_: tmp_path / "file" / "folder")
    with optimised_once(), pieces.kept_pieces():
        assert numba.njit(lambda x: dot(x, x))(np.ones(4)) == 4.0


@pytest.mark.skipif(not is_compiling(), reason="there is nothing to keep")
def test_numba_is_left_as_it_was():
    before = compiler.compile_extra
    with optimised_once(), pieces.kept_pieces(), pieces.kept_pieces():
        assert compiler.compile_extra is not before
    with pieces.kept_pieces():  # what is not handed on is not kept in pieces
        assert compiler.compile_extra is before
    assert compiler.compile_extra is before


@pytest.mark.skipif(not is_compiling(), reason="there is nothing to keep")
def test_a_numba_that_compiles_in_another_way_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    def compile_otherwise(function: object) -> None:
        pass

    monkeypatch.setattr(compiler, "compile_extra", compile_otherwise)
    with optimised_once(), pieces.kept_pieces():
        assert compiler.compile_extra is compile_otherwise
