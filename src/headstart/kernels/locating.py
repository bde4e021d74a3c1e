"""How numba finds kept code: by the folder that is named after all that the code is made of, and by nothing else.

numba's own locators look at the path and the time of a function's file, so that the same code in another checkout, or
installed again, would be compiled again.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

import numba

KNOWS_LOCATORS = "CACHE_LOCATOR_CLASSES" in vars(numba.config)  # newer versions of numba do


class ByContent:
    """A locator of numba's (`numba.core.caching._CacheLocator`): the folder that `numba.config.CACHE_DIR` names."""

    def __init__(self, folder: str, file: str) -> None:
        self._folder = folder
        self._py_file = file  # numba names it when it warns that something cannot be kept

    @classmethod
    def from_function(cls, function: Callable[..., object], file: str) -> Self:
        """For whatever function: the folder is a composition's own."""
        return cls(numba.config.CACHE_DIR, file)

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


@contextmanager
def located_by_content() -> Iterator[None]:
    """What is compiled meanwhile is kept and found by `ByContent`; by numba's own locators where it has no choice."""
    if not KNOWS_LOCATORS:
        yield
        return
    before = numba.config.CACHE_LOCATOR_CLASSES
    numba.config.CACHE_LOCATOR_CLASSES = f"{ByContent.__module__}.{ByContent.__qualname__}"
    try:
        yield
    finally:
        numba.config.CACHE_LOCATOR_CLASSES = before
