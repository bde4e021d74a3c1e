"""Where compiled code is kept, and that processes which begin together compile once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tools.programs import run_script

PLACE = """
from headstart.kernels.keeping import find_code_folder
found = find_code_folder()
print(found.folder, bool(found.reason))
"""
COMPILES = """
import numba, time
from headstart.kernels import compiled
from headstart.kernels.arrays import total
import numpy as np
compiled(total)(np.ones(3))
dispatcher = compiled(total)
print(sum(dispatcher.stats.cache_misses.values()), sum(dispatcher.stats.cache_hits.values()))
"""


def _environment(**settings):
    kept = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "TMPDIR")}
    return {**kept, **settings}


def _run(folder, code, **settings):
    script = folder / "run.py"
    script.write_text(code)
    return run_script(script, environment=_environment(**settings)).strip()


@pytest.mark.parametrize("name", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME"])
def test_the_user_s_cache_folder_is_used(tmp_path: Path, name):
    assert _run(tmp_path, PLACE, **{name: str(tmp_path)}) == f"{tmp_path / 'headstart' / 'kernels'} False"


def test_a_home_that_cannot_be_written_to_has_one_folder_for_every_process(tmp_path: Path):
    (tmp_path / "file").write_text("")  # root may write anywhere: a home that is no folder stops it too
    settings = {"XDG_CACHE_HOME": str(tmp_path / "file"), "TMPDIR": str(tmp_path)}
    first, second = _run(tmp_path, PLACE, **settings), _run(tmp_path, PLACE, **settings)
    assert first == second == f"{tmp_path / f'headstart-kernels-{os.getuid()}'} True"
    assert (tmp_path / f"headstart-kernels-{os.getuid()}").stat().st_mode & 0o777 == 0o700


def test_a_filled_folder_that_can_only_be_read_is_read(tmp_path: Path):
    """An image that was warmed, on a file system that is read-only: it compiled anew at every start."""
    cache, elsewhere = tmp_path / "cache", tmp_path / "tmp"
    elsewhere.mkdir()
    settings = {"NUMBA_CACHE_DIR": str(cache), "TMPDIR": str(elsewhere), "NUMBA_DISABLE_JIT": "0"}
    assert _run(tmp_path, COMPILES, **settings) == "1 0"
    read_only = "import tempfile\ndef fail(*a, **b):\n    raise OSError(30, 'Read-only file system')\n"
    code = f"{read_only}tempfile.TemporaryFile = fail\n{COMPILES}"
    assert _run(tmp_path, code, **settings) == "0 1"
    private = elsewhere / f"headstart-kernels-{os.getuid()}"
    assert [path for path in private.rglob("*") if path.is_file()] == []
    for path in (cache / "headstart" / "kernels").iterdir():
        path.chmod(0o777)  # what others may have written is not run
    assert _run(tmp_path, code, **settings) == "1 0"


def test_what_is_compiled_is_told_before_and_after(tmp_path: Path):
    to_stdout = (
        "import logging, sys\nlogging.basicConfig(stream=sys.stdout, level=logging.INFO, format='%(message)s')\n"
    )
    settings = {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    before, after, counts = _run(tmp_path, to_stdout + COMPILES, **settings).splitlines()
    assert before == "compiling total of arrays: it takes seconds, once on a machine"
    assert after.startswith("compiled total of arrays in ")
    assert counts == "1 0"
    assert _run(tmp_path, to_stdout + COMPILES, **settings) == "0 1"


def test_a_user_without_a_home_has_a_folder_among_temporary_files(tmp_path: Path):
    """No HOME, and nobody of that number among the system's users."""
    lost = "import pathlib\ndef home():\n    raise RuntimeError('Could not determine home directory.')\n"
    found = _run(tmp_path, f"{lost}pathlib.Path.home = home\n{PLACE}", TMPDIR=str(tmp_path))
    assert found == f"{tmp_path / f'headstart-kernels-{os.getuid()}'} True"


def test_a_relative_folder_stays_where_it_was_when_the_process_goes_elsewhere(tmp_path: Path):
    code = f"import os\n{PLACE}os.chdir('/')\n{PLACE}"
    told = _run(tmp_path, code, NUMBA_CACHE_DIR="mine").split()
    assert told == [str(tmp_path / "mine" / "headstart" / "kernels"), "False"] * 2


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path):
    (tmp_path / "file").write_text("")
    theirs = tmp_path / f"headstart-kernels-{os.getuid()}"
    theirs.mkdir()
    theirs.chmod(0o777)
    found = _run(tmp_path, PLACE, XDG_CACHE_HOME=str(tmp_path / "file"), TMPDIR=str(tmp_path))
    assert not found.startswith(f"{theirs} ")
    assert found.startswith(str(tmp_path / "headstart-kernels-"))


def test_two_processes_on_a_cold_cache_compile_once(tmp_path: Path):
    children = [
        subprocess.Popen(
            [sys.executable, "-c", COMPILES], env=_environment(XDG_CACHE_HOME=str(tmp_path)), stdout=subprocess.PIPE
        )
        for _ in range(2)
    ]
    found = sorted(child.communicate()[0].decode().split() for child in children)
    assert found == [["0", "1"], ["1", "0"]]  # one missed and compiled, the other found what it kept


MINE = """
import sys, numpy as np
from pathlib import Path
import mine
from headstart.kernels import compiled
compiled(mine.add)(np.ones(3))
"""


def test_the_same_code_in_another_checkout_is_not_compiled_again(tmp_path: Path):
    """Nor in a file that was touched; edited code is another composition, and what was kept stays as it is."""
    cache, source = tmp_path / "cache", "def add(values):\n    return values.sum()\n"

    def run(checkout: str, text: str) -> dict[Path, bytes]:
        (tmp_path / checkout).mkdir(exist_ok=True)
        (tmp_path / checkout / "mine.py").write_text(text)
        path = os.pathsep.join([str(tmp_path / checkout), *sys.path])
        _run(tmp_path, MINE, XDG_CACHE_HOME=str(cache), PYTHONPATH=path)
        return {path: path.read_bytes() for path in cache.rglob("*.nb?")}

    kept = run("one", source)
    assert len(kept) == 2
    assert run("other", f"# moved down by a line\n{source}") == kept
    os.utime(tmp_path / "one" / "mine.py", (1.0, 1.0))
    assert run("one", source) == kept
    edited = run("one", source.replace("values.sum()", "values.sum() + 1.0"))
    assert len(edited) == 4
    assert kept.items() <= edited.items()
