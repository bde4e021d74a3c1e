"""The cache of compiled code: a changed source is another folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from headstart.kernels import compile as compiling
from headstart.kernels import compiled, entry, states_in


@pytest.fixture
def fresh_caches():
    """The digests are remembered for the life of the process; a test that edits files forgets them."""

    def forget() -> None:
        compiling._cache_folder.cache_clear()
        compiling._source_digest.cache_clear()

    forget()
    yield forget
    forget()


def test_a_changed_source_gives_another_folder(tmp_path: Path, fresh_caches):
    source = tmp_path / "oracle.py"
    source.write_text("x = 1\n")
    before = compiling._cache_folder(frozenset([str(source)]), "")
    fresh_caches()
    assert compiling._cache_folder(frozenset([str(source)]), "") == before
    fresh_caches()
    source.write_text("x = 2\n")
    assert compiling._cache_folder(frozenset([str(source)]), "") != before
    assert before.is_dir()


def test_another_file_gives_another_folder(tmp_path: Path, fresh_caches):
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("x = 1\n")
    two.write_text("x = 2\n")
    folders = {compiling._cache_folder(frozenset(map(str, files)), "") for files in ([], [one], [two], [one, two])}
    assert len(folders) == 4


def test_a_changed_kernel_gives_another_folder(tmp_path: Path, fresh_caches, monkeypatch):
    """Every file of the kernels' room counts, whatever the composition."""
    monkeypatch.setattr(compiling, "_HERE", tmp_path)
    (tmp_path / "best.py").write_text("x = 1\n")
    before = compiling._cache_folder(frozenset(), "")
    fresh_caches()
    (tmp_path / "best.py").write_text("x = 2\n")
    assert compiling._cache_folder(frozenset(), "") != before


def test_the_user_s_cache_folder_is_used(tmp_path: Path):
    code = "from headstart.kernels.compile import _cache_root; print(_cache_root())"
    for name, expected in (("NUMBA_CACHE_DIR", tmp_path), ("XDG_CACHE_HOME", tmp_path)):
        environment = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**environment, name: str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == str(expected / "headstart" / "kernels")


class Inner(NamedTuple):
    values: np.ndarray


class Outer(NamedTuple):
    inner: Inner
    other: Inner


def test_states_are_found_where_they_nest():
    inner = Inner(np.zeros(1))
    assert list(states_in([1, Outer(inner, inner), (inner, 2.0)])) == [Outer, Inner, Inner, Inner]


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
    assert compiling._cache_folder(frozenset(), "a") != compiling._cache_folder(frozenset(), "b")
