"""Each thing that changes what a kernel does changes its digest: a pair of sources a case, of one module."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numba
import pytest

from headstart.kernels import compiled, is_compiling
from headstart.kernels.composition import CannotTellError, digest_composition, have_files, is_followed

pytestmark = pytest.mark.skipif(not is_compiling(), reason="interpreted, nothing is kept")
HEAD = """
from collections import namedtuple
from typing import NamedTuple
import numba
import numpy as np
from headstart.kernels import implements, kernel, play
STATES = ()
"""
OUTER = "def outer(x):\n    return share(a=x, b=2.0)\n"
VERB = """
class Inner(NamedTuple):
    value: float
@implements(play, Inner)
def play_inner(state, context, available):
    return 1
def outer(x):
    return play(Inner(x), x, x)
"""
STATE = "def outer(state):\n    return state.low\n"
CASES = {
    "fields of a namedtuple": (
        "S = namedtuple('S', 'low high')\nSTATES = (S,)\n" + STATE,
        "'low high'",
        "'high low'",
    ),
    "fields that a class inherits": (
        "class B(NamedTuple):\n    low: float\n    high: float\nclass S(B): pass\nSTATES = (S,)\n" + STATE,
        "    low: float\n    high: float\n",
        "    high: float\n    low: float\n",
    ),
    "the order of arguments": ("@kernel\ndef share(a, b):\n    return a / b\n" + OUTER, "(a, b)", "(b, a)"),
    "a default value": ("@kernel\ndef share(a, b, c=1.0):\n    return a / b\n" + OUTER, "c=1.0", "c=2.0"),
    "fields of a constant": (
        "class Opt(NamedTuple):\n    x: float\n    y: float\nOPT = Opt(1.0, 2.0)\ndef outer(z):\n    return OPT.x\n",
        "x: float\n    y: float",
        "y: float\n    x: float",
    ),
    "what a verb does to a state that is made on the way": (VERB, "return 1", "return 7"),
    "a signature": (
        "@numba.njit('float64(float64, float64)')\ndef share(a, b):\n    return a / b\n" + OUTER,
        "'float64(",
        "'float32(",
    ),
    "types of locals": (
        "@numba.njit(locals={'c': numba.float64})\ndef share(a, b):\n    c = a / b\n    return c\n" + OUTER,
        "'c': numba.float64",
        "'c': numba.float32",
    ),
    "options of a function that kernels may call": (
        "@numba.extending.register_jitable(fastmath=False)\ndef share(a, b):\n    return a / b\n" + OUTER,
        "fastmath=False",
        "fastmath=True",
    ),
    "what stands for a function in compiled code": (
        "import numba.extending\ndef share(a, b): return a\n@numba.extending.overload(share)\ndef ol(a, b):\n"
        "    def impl(a, b):\n        return 2.0 * a\n    return impl\n" + OUTER,
        "2.0 * a",
        "9.0 * a",
    ),
    "which error is caught": (
        "@kernel\ndef share(a, b):\n    try:\n        return a / b\n    except Exception:\n        return 1.0\n"
        + OUTER,
        "return 1.0",
        "return 2.0",
    ),
}
ALIKE = {
    "a value with the name of a field": (
        "low = 1.0\nclass S(NamedTuple):\n    low: float\nSTATES = (S,)\n" + STATE, "low = 1.0", "low = 2.0",
    ),
    "a generator with the name of a field": (
        "low = np.random.default_rng(1)\nclass S(NamedTuple):\n    low: float\nSTATES = (S,)\n" + STATE, "(1)", "(2)",
    ),
    "a function that is not called": ("def other(): return 1.0\ndef outer(x):\n    return x\n", "1.0", "2.0"),
}  # fmt: skip


def _load(folder: Path, source: str, name: str = "edited"):
    path = folder / f"{name}.py"
    path.write_text(HEAD + source)
    spec = spec_from_file_location(name, path)
    assert spec is not None
    module = sys.modules[name] = module_from_spec(spec)
    exec(compile(path.read_text(), str(path), "exec"), vars(module))
    return module


@pytest.fixture
def digest(tmp_path: Path):
    """The digest of a module's `outer`, as a process that has just imported it sees it."""

    def find(source: str) -> str:
        module = _load(tmp_path, source)
        return digest_composition(module.outer, module.STATES)

    yield find
    sys.modules.pop("edited", None)


@pytest.mark.parametrize("case", CASES)
def test_an_edit_is_told(case: str, digest):
    source, before, after = CASES[case]
    assert source.count(before) == 1
    assert digest(source) == digest(source)
    assert digest(source) != digest(source.replace(before, after))


@pytest.mark.parametrize("case", ALIKE)
def test_an_edit_of_something_else_is_none(case: str, digest):
    source, before, after = ALIKE[case]
    assert digest(source) == digest(source.replace(before, after))


def test_a_value_that_has_changed_since_a_kernel_was_compiled_with_it_keeps_nothing(tmp_path: Path):
    """numba may have frozen either of them."""
    module = _load(tmp_path, "SCALE = 1.0\ndef outer(x):\n    return SCALE * x\n")
    digest_composition(module.outer, ())
    module.SCALE = 5.0
    with pytest.raises(CannotTellError, match="has changed"):
        digest_composition(module.outer, ())


def test_what_calls_itself_by_numba_is_not_kept(digest):
    """By an address of this process: numba's own kept copy ends the next one."""
    with pytest.raises(CannotTellError, match="calls itself"):
        digest("@numba.njit\ndef share(a, b):\n    return 1.0 if a < 1.0 else share(a - 1.0, b)\n" + OUTER)


def test_a_class_that_its_module_has_under_another_name_is_not_kept(digest):
    with pytest.raises(CannotTellError, match="_Pair is not what edited has under this name"):
        digest("Pair = namedtuple('_Pair', 'a b')\ndef outer(x):\n    return Pair(x, x).a\n")


def test_a_file_of_one_s_own_with_the_name_of_one_of_python_s_is_followed(tmp_path: Path, monkeypatch):
    for name in ("math", "statistics", "json.decoder", "sys", "numba.core", "numpy"):
        assert not is_followed(name)
    assert is_followed(__name__)
    is_followed.cache_clear()
    monkeypatch.setitem(sys.modules, "statistics", _load(tmp_path, "", "statistics"))
    assert is_followed("statistics")
    is_followed.cache_clear()


def test_code_that_nobody_can_import_has_no_file():
    scope: dict[str, object] = {}
    exec("def typed(x):\n    return x", scope)
    scope["__name__"] = "not_imported"
    exec("def loaded(x):\n    return x", scope)
    assert not have_files(scope["typed"])
    assert not have_files(scope["loaded"])
    assert have_files(_load)


def test_what_prints_within_a_kernel_prints(tmp_path: Path, capfd):
    """A function that was handed on had no constants: it ended the program at the first call."""
    module = _load(
        tmp_path, "@kernel\ndef inner(x):\n    print('x is', x)\n    return x\ndef outer(x):\n    return inner(x)\n"
    )
    assert compiled(module.outer)(1.0) == 1.0
    assert capfd.readouterr().out == "x is 1.0\n"


def test_a_large_constant_is_used_and_numba_says_that_it_is_not_kept(tmp_path: Path):
    module = _load(tmp_path, "TABLE = np.arange(400_000.0)\ndef outer(i):\n    return TABLE[i]\n")
    with pytest.warns(numba.NumbaWarning, match="Cannot cache"):
        assert compiled(module.outer)(7) == 7.0
