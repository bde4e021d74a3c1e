"""A cache that is damaged or full is as good as none."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest
from tools.programs import run_script

import headstart as hs
from headstart.kernels import forgiving

PROGRAM = """
import logging
import numpy as np
from headstart.kernels import compiled
from headstart.kernels.arrays import total
logging.basicConfig(format="%(message)s")
dispatcher = compiled(total)
print(dispatcher(np.ones(3)), sum(dispatcher.stats.cache_hits.values()))
"""


@pytest.fixture
def run(tmp_path: Path):
    (tmp_path / "run.py").write_text(PROGRAM)
    paths = {"PYTHONPATH": str(Path(hs.__file__).parents[1]), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    environment = {**os.environ, **paths, "NUMBA_DISABLE_JIT": "0"}
    return lambda: run_script(tmp_path / "run.py", environment=environment).split()


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("left", [b"", b"half", os.urandom(3000)], ids=["nothing", "half", "noise"])
def test_a_damaged_file_is_compiled_and_takes_its_place(tmp_path: Path, run, suffix: str, left: bytes):
    assert run() == ["3.0", "0"]
    files = [path for path in (tmp_path / "cache").rglob(f"*{suffix}")]
    assert files
    for path in files:
        path.write_bytes(left)
    assert run() == ["3.0", "0"]
    assert run() == ["3.0", "1"]


class _Full:
    """numba's cache on a disk without room."""

    def load_overload(self, signature: object, context: object) -> None:
        return None

    def save_overload(self, signature: object, found: object) -> None:
        raise OSError(28, "No space left on device")


class _Dispatcher:
    def __init__(self) -> None:
        self._cache = _Full()


def test_a_full_disk_is_told_once_and_ends_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    forgiving._tell.cache_clear()
    with caplog.at_level(logging.WARNING, logger="headstart.kernels"):
        for _ in range(2):
            dispatcher = _Dispatcher()
            forgiving.forgive(dispatcher, tmp_path / "code")
            dispatcher._cache.save_overload(None, None)
    assert [each.getMessage() for each in caplog.records] == [
        f"compiled code cannot be kept in {tmp_path} (No space left on device): every process compiles anew"
    ]


def test_a_dispatcher_that_keeps_nothing_is_left_alone(tmp_path: Path):
    class Plain:
        pass

    forgiving.forgive(Plain(), tmp_path)
