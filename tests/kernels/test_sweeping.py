"""Compiled code that no process has used for 30 days is removed, and nothing else is."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest
from tools.programs import run_script

from headstart.kernels.sweeping import mark_used, sweep

DAY = 86_400.0
LOADS = """
import numpy as np
from headstart.kernels import compiled
from headstart.kernels.arrays import total
compiled(total)(np.ones(3))
dispatcher = compiled(total)
print(sum(dispatcher.stats.cache_misses.values()))
"""


def _keep(home: Path, name: str, days: float) -> Path:
    """A composition's folder that was last used so many days ago."""
    folder = home / name
    folder.mkdir()
    (folder / "lock").touch()
    (folder / "code.nbi").write_bytes(b"code")
    _age(folder, days)
    return folder


def _age(path: Path, days: float) -> None:
    os.utime(path, (time.time() - days * DAY,) * 2)


def test_what_nobody_used_for_30_days_goes_and_the_rest_stays(tmp_path: Path):
    old, young = _keep(tmp_path, "old", 31), _keep(tmp_path, "young", 29)
    assert sweep(tmp_path) == 1
    assert not old.exists()
    assert (young / "code.nbi").exists()


def test_a_use_gives_a_folder_another_30_days(tmp_path: Path):
    folder = _keep(tmp_path, "old", 31)
    mark_used(folder)
    assert sweep(tmp_path) == 0
    assert folder.exists()


def test_one_sweep_a_day(tmp_path: Path):
    assert sweep(tmp_path) == 0
    folder = _keep(tmp_path, "old", 31)
    assert sweep(tmp_path) == 0
    _age(tmp_path / "swept", 1.1)
    assert sweep(tmp_path) == 1
    assert not folder.exists()


def test_a_folder_that_somebody_compiles_into_is_left_alone(tmp_path: Path):
    folder = _keep(tmp_path, "old", 31)
    with open(folder / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert sweep(tmp_path) == 0
    _age(tmp_path / "swept", 1.1)
    assert sweep(tmp_path) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_cannot_be_written_to_is_left_as_it_is(tmp_path: Path):
    folder = _keep(tmp_path, "old", 31)
    tmp_path.chmod(0o500)
    try:
        assert sweep(tmp_path) == 0
        assert folder.exists()
    finally:
        tmp_path.chmod(0o700)


def test_a_process_says_what_it_uses_and_compiles_again_what_was_removed(tmp_path: Path):
    """What the second finds is 40 days old, and is used: young again. The third sweeps first, and compiles."""

    def misses() -> str:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        return run_script(script, environment=environment).strip()

    script = tmp_path / "loads.py"
    script.write_text(LOADS)
    home = tmp_path / "headstart" / "kernels"
    assert misses() == "1"
    (folder,) = (path for path in home.iterdir() if path.is_dir())
    _age(folder, 40)  # the day's sweep has been: it is still there
    assert misses() == "0"
    assert time.time() - folder.stat().st_mtime < DAY
    _age(folder, 40)
    _age(home / "swept", 1.1)
    assert misses() == "1"
