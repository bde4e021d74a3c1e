"""Columns by name: mappings, and the data frames of others, which have the same two things to offer."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike


@runtime_checkable
class Frame(Protocol):
    """What is asked of a pandas or polars frame."""

    @property
    def columns(self) -> Iterable[Hashable]: ...

    def __getitem__(self, name: Hashable, /) -> ArrayLike: ...


def named_columns(given: object) -> list[tuple[str, ArrayLike]] | None:
    """Names and columns, in their order; None for what has no names, such as a matrix."""
    if given is None or isinstance(given, np.ndarray):  # said first: to ask a protocol takes microseconds
        return None
    if isinstance(given, Mapping):
        return [(str(name), given[name]) for name in given]
    if isinstance(given, Frame):
        return [(str(name), given[name]) for name in given.columns]
    return None
