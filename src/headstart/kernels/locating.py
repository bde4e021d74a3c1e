"""How numba finds kept code: by the folder that is named after all that the code is made of, and by nothing else.

numba's own locators look at the path and the time of a function's file, so that the same code in another checkout, or
installed again, would be compiled again.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Self

import numba

KNOWS_LOCATORS = hasattr(numba.config, "CACHE_LOCATOR_CLASSES")  # since numba 0.62


class ByContent:
    """A locator of numba's (`numba.core.caching._CacheLocator`): the folder that `numba.config.CACHE_DIR` names."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @classmethod
    def from_function(cls, function: Callable[..., object], file: str) -> Self:
        """For whatever function: the folder is a composition's own."""
        return cls(numba.config.CACHE_DIR)

    def ensure_cache_path(self) -> None:
        """The folder, which can be written to."""
        os.makedirs(self._folder, exist_ok=True)
        tempfile.TemporaryFile(dir=self._folder).close()

    def get_cache_path(self) -> str:
        """The folder."""
        return self._folder

    def get_source_stamp(self) -> str:
        """Nothing of the source makes what is in the folder stale: other code has another folder."""
        return ""

    def get_disambiguator(self) -> str:
        """A folder holds one function, on whatever line of its file."""
        return "code"
