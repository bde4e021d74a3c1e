"""Native libraries on one thread: the BLAS and OpenMP beneath numpy, SciPy and scikit-learn."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Literal

from threadpoolctl import ThreadpoolController


@contextmanager
def one_native_thread(kind: Literal["blas"] | None = None) -> Iterator[None]:
    """Of the libraries that are loaded, or of those of a kind. The limit is the whole process's."""
    with _find_libraries(len(sys.modules)).limit(limits=1, user_api=kind):
        yield


@lru_cache(maxsize=1)
def _find_libraries(n_modules: int) -> ThreadpoolController:
    """Looking for them takes 10 ms, 200 times what setting a limit does: it is done anew after an import."""
    return ThreadpoolController()
