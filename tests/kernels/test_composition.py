"""What a composition is made of: an edit of anything in it, in whatever file, is another digest and new code."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from tools.programs import run_script

import headstart as hs
from headstart.kernels import implements, play, states_in
from headstart.kernels.composition import CannotTellError, digest_composition
from headstart.oracles.compiled import _play

WIDTH = """
WIDTH = 1.0


def unused() -> float:
    return 0.0
"""
SCALE = """
from headstart.kernels import kernel
from project.width import WIDTH


@kernel
def scale(x: float) -> float:
    return WIDTH * x
"""
ORACLE = """
from typing import NamedTuple

from headstart.arrays import Bools, Floats
from headstart.kernels import implements, play
from project.scale import scale


class MyState(NamedTuple):
    means: Floats


@implements(play, MyState)
def _play(state: MyState, context: Floats, available: Bools) -> int:
    return int(scale(state.means[0]))
"""
ASK = """
import numpy as np
from headstart import kernels
from project.oracle import MyState

def ask(state, context, available):
    return kernels.play(state, context, available)

state, context, available = MyState(np.full(1, 7.0)), np.zeros(0), np.ones(1, dtype=np.bool_)
compiled = kernels.compiled(ask, MyState)
print(int(compiled(state, context, available)), ask(state, context, available), len(compiled.stats.cache_hits))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A user's oracle in three files: a state, a kernel that it calls and a constant that the kernel freezes."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name, text in (("__init__", ""), ("width", WIDTH), ("scale", SCALE), ("oracle", ORACLE)):
        (folder / f"{name}.py").write_text(text)
    (tmp_path / "ask.py").write_text(ASK)
    return folder


def _ask(project: Path) -> list[int]:
    """What the compiled oracle says, what the interpreted one says, and how much machine code was kept."""
    paths = os.pathsep.join([str(project.parent), str(Path(hs.__file__).parents[1])])
    environment = {
        **os.environ,
        "PYTHONPATH": paths,
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(project.parent / "cache"),
        "NUMBA_DISABLE_JIT": "0",  # there is no machine code to keep without it
    }
    return [int(word) for word in run_script(project.parent / "ask.py", environment=environment).split()]


def test_an_edited_constant_of_a_helper_module_is_new_code(project: Path):
    assert _ask(project) == [7, 7, 0]
    assert _ask(project) == [7, 7, 1]
    (project / "width.py").write_text(WIDTH.replace("1.0", "2.0"))
    assert _ask(project) == [14, 14, 0]


def test_a_constant_is_followed_through_modules_of_modules(project: Path):
    text = SCALE.replace("from project.width import WIDTH", "import project.width")
    (project / "scale.py").write_text(text.replace("return WIDTH", "return project.width.WIDTH"))
    assert _ask(project) == [7, 7, 0]
    assert _ask(project) == [7, 7, 1]
    (project / "width.py").write_text(WIDTH.replace("1.0", "2.0"))
    assert _ask(project) == [14, 14, 0]


def test_an_edit_of_what_is_not_in_the_composition_keeps_its_code(project: Path):
    assert _ask(project) == [7, 7, 0]
    (project / "width.py").write_text(WIDTH.replace("0.0", "3.0"))
    assert _ask(project) == [7, 7, 1]


def test_an_edited_constant_of_headstart_is_another_digest(monkeypatch: pytest.MonkeyPatch):
    """A kernel names numbers of other rooms too."""
    from headstart.kernels import composition, joint

    state = type(hs.LinThompson(2, 1, rng=1).kernel_state)
    from headstart.oracles.compiled import _probabilities

    before = digest_composition(_probabilities, [state])
    monkeypatch.setattr(composition, "_first_read", {})  # as another process
    monkeypatch.setattr(joint, "_TOLERANCE", 1e-3)
    assert digest_composition(_probabilities, [state]) != before
    monkeypatch.undo()
    assert digest_composition(_probabilities, [state]) == before


def test_another_way_of_compiling_a_verb_is_another_digest(monkeypatch: pytest.MonkeyPatch):
    from headstart.kernels import dispatch

    state = type(hs.UCB(2).kernel_state)
    before = digest_composition(_play, [state])
    monkeypatch.setitem(dispatch._OPTIONS, play, {False: {"forceinline": True}})
    assert digest_composition(_play, [state]) != before


def test_how_a_user_s_function_is_compiled_is_part_of_it():
    def calling(**options: object):
        inner = numba.njit(**options)(_double)

        def outer(x: float) -> float:
            return inner(x)

        return outer

    assert digest_composition(calling(), ()) == digest_composition(calling(), ())
    assert digest_composition(calling(), ()) != digest_composition(calling(fastmath=True), ())


def _double(x: float) -> float:
    return 2.0 * x


def test_an_implementation_that_allocates_is_another_digest(monkeypatch: pytest.MonkeyPatch):
    from headstart.kernels import dispatch
    from headstart.oracles.compiled import _probabilities

    state = type(hs.UCB(2).kernel_state)
    before = digest_composition(_probabilities, [state])
    monkeypatch.setattr(dispatch, "_ALLOCATES_NOT", set())
    assert digest_composition(_probabilities, [state]) != before


def test_each_state_has_its_own_digest():
    states = [type(oracle.kernel_state) for oracle in (hs.UCB(2), hs.ABTest(2, rng=1), hs.UCBNormal(2))]
    digests = {digest_composition(_play, chosen) for chosen in ([], states[:1], states[1:2], states[2:], states)}
    assert len(digests) == 5


class Strange(NamedTuple):
    values: np.ndarray


_SOMETHING = object()


def test_a_value_whose_change_nothing_would_tell_is_said():
    @implements(play, Strange)
    def _choose(state: Strange, context: np.ndarray, available: np.ndarray) -> int:
        return 0 if _SOMETHING is None else 1

    with pytest.raises(CannotTellError, match="object"):
        digest_composition(_play, [Strange])


class Inner(NamedTuple):
    values: np.ndarray


class Outer(NamedTuple):
    inner: Inner
    other: Inner


def test_states_are_found_where_they_nest():
    inner = Inner(np.zeros(1))
    assert list(states_in([1, Outer(inner, inner), (inner, 2.0)])) == [Outer, Inner, Inner, Inner]
