"""Compiled code that nobody uses any more is removed: each edit and each version leaves its own behind.

The rule: a composition's folder that no process has used for 30 days is removed. A process that uses one says so by
the folder's time, at most once a day; the first process of a day that asks for compiled code sweeps. Removing is safe
beside other processes: one that uses a folder has just given it today's time, one that compiles holds its lock, and
one that finds nothing compiles.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from headstart.kernels.locking import try_to_lock

_DAY = 86_400.0  # seconds
_UNUSED = 30 * _DAY
_STAMP = "swept"  # a file beside the folders: when they were looked through


def mark_used(folder: Path) -> None:
    """This process uses the code in a folder."""
    try:
        if _age(folder) > _DAY:
            os.utime(folder)
    except OSError:  # a cache that can be read and not written to, which nobody sweeps either
        pass


def sweep(home: Path) -> int:
    """Remove what has not been used for 30 days, if nobody has looked for a day; returns how many folders went."""
    stamp = home / _STAMP
    try:
        if _age(stamp) <= _DAY:
            return 0
    except OSError:  # nobody ever did
        pass
    try:
        stamp.touch()
        return sum(_remove_if_unused(Path(entry.path)) for entry in os.scandir(home) if entry.is_dir())
    except OSError:
        return 0


def _remove_if_unused(folder: Path) -> bool:
    if _age(folder) <= _UNUSED:
        return False
    with try_to_lock(folder) as is_ours:
        if not is_ours:
            return False
        shutil.rmtree(folder, ignore_errors=True)  # another sweeper may be quicker
        return True


def _age(path: Path) -> float:
    """Seconds since a file or folder was last written to."""
    return time.time() - path.stat().st_mtime
