"""Where compiled code is kept: a folder of the user's own, in it one for each composition.

What is kept here is run, so it lies only where nobody else may write.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

from headstart.kernels.sweeping import sweep

logger = logging.getLogger("headstart.kernels")


class CodeFolder(NamedTuple):
    """A folder for compiled code, and why it is not the usual one."""

    folder: Path
    reason: str = ""  # "": it is the usual one
    filled: Path | None = None  # the usual one, where it can only be read: an image's, or an administrator's

    def place(self, name: str) -> Path:
        """Where the composition or piece of this name is, or is to be kept."""
        there = self.filled and self.filled / name
        if there and _is_trusted(there) and any(path.stat().st_size for path in there.iterdir()):  # a lock is empty
            return there
        return self.folder / name


@cache
def find_code_folder() -> CodeFolder:
    """The user's cache folder; where that cannot be written to, one for this user among temporary files."""
    usual: Path | str = "the home folder"
    try:
        usual = _usual_folder()
        usual.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=usual):
            sweep(usual)
            return CodeFolder(usual)
    except (OSError, RuntimeError) as error:  # nobody says where this user's home is
        why = error.strerror if isinstance(error, OSError) else None
        filled = Path(usual) if _is_trusted(Path(usual)) else None
        found = CodeFolder(_private_folder(), f"{usual} cannot be written to ({why or error})", filled)
        used = "" if filled is None else "; what is there is used"
        logger.warning(
            "compiled code is kept in %s: %s%s; NUMBA_CACHE_DIR names another", found.folder, found.reason, used
        )
        return found


def _is_trusted(folder: Path) -> bool:
    """Whether it is there, of this user or the administrator, and nobody else may write into it."""
    return _belongs_to(folder, {0, _number_of_user()}, 0o022) and os.access(folder, os.R_OK | os.X_OK)


def _belongs_to(folder: Path, users: set[int | None], forbidden: int) -> bool:
    """Whether it is a folder of one of these users, and not one for what is forbidden to others."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    is_theirs = _number_of_user() is None or (found.st_uid in users and not found.st_mode & forbidden)
    return stat.S_ISDIR(found.st_mode) and is_theirs


def _number_of_user() -> int | None:
    return os.getuid() if sys.platform != "win32" else None


def _usual_folder() -> Path:
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    home = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home.absolute() / "headstart" / "kernels"  # wherever the process goes


def _private_folder() -> Path:
    """The same one in every process of this user; a new one where somebody else has that name."""
    number = _number_of_user()
    user = os.environ.get("USERNAME", "user") if number is None else number
    folder = Path(tempfile.gettempdir()) / f"headstart-kernels-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if _belongs_to(folder, {number}, 0o077):
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="headstart-kernels-"))
