"""A cache that is damaged, full or somebody else's is as good as none: numba's own would end the program.

What cannot be read is removed and compiled; what cannot be written is used, and compiled again by the next process.
"""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import Any

logger = logging.getLogger("headstart.kernels")
_KEPT = (".nbi", ".nbc")  # numba's index, and code


def forgive(dispatcher: Any, folder: Path) -> None:
    """Let a dispatcher that keeps its code in this folder do without, where it must."""
    kept = vars(dispatcher).get("_cache")
    if kept is None:  # a numba that keeps code in another way
        return
    load, save = kept.load_overload, kept.save_overload

    def load_or_none(signature: Any, context: Any) -> Any:
        try:
            return load(signature, context)
        except Exception:  # whatever pickle makes of half a file
            _remove(folder)
            return None

    def save_if_possible(signature: Any, found: Any) -> None:
        try:
            save(signature, found)
        except OSError as error:
            _tell(folder.parent, error.strerror or str(error))

    kept.load_overload, kept.save_overload = load_or_none, save_if_possible


def _remove(folder: Path) -> None:
    for path in folder.iterdir():
        if path.suffix in _KEPT:
            try:
                path.unlink(missing_ok=True)
            except OSError:  # not ours: what is compiled will not be kept either
                continue


@cache
def _tell(home: Path, why: str) -> None:
    """Once in a process."""
    logger.warning("compiled code cannot be kept in %s (%s): every process compiles anew", home, why)
