"""Classes of states are kept by their names, those of the program that runs as well.

numba keeps the types that code was compiled for beside the code. What stands in the program itself (`__main__`) it
would write down whole, and in the next process that is another class than the one of that name: the code would never
be found again, and a kept piece (pieces.py) would not fit. By its name it is the same class, and that its fields are
the same is in the name of the folder (composition.py).
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType

from numba.core import caching
from numba.core.serialize import NumbaPickler

_PROGRAM = "__main__"


def is_found_by_name(owner: type) -> bool:
    """False of a class within a function, and in a worker of one that stands in the program that began it."""
    return _look_up(owner.__module__, owner.__qualname__) is owner


def dump_by_name(found: object) -> bytes:
    """As `numba.core.serialize.dumps`, with classes of the program by name."""
    with io.BytesIO() as buffer:
        _ByName(buffer, protocol=4).dump(found)
        return buffer.getvalue()


@contextmanager
def named_classes() -> Iterator[None]:
    """What numba keeps meanwhile has classes by name, if it is the numba that we know."""
    before = vars(caching).get("dumps")
    if before is None:
        yield
        return
    caching.dumps = dump_by_name
    try:
        yield
    finally:
        caching.dumps = before


class _ByName(NumbaPickler):  # type: ignore[misc]
    def reducer_override(self, obj: object) -> object:
        if isinstance(obj, type) and obj.__module__ == _PROGRAM and find_class(obj.__qualname__) is obj:
            return find_class, (obj.__qualname__,)
        return super().reducer_override(obj)


def find_class(qualname: str) -> type:
    """The program's class of this name; where it has none, one that fits nothing."""
    found = _look_up(_PROGRAM, qualname)
    return found if isinstance(found, type) else _stand_in(qualname)


@cache
def _stand_in(qualname: str) -> type:
    return type(qualname, (tuple,), {"__module__": _PROGRAM, "__qualname__": qualname, "_fields": ()})


def _look_up(module: str, qualname: str) -> object:
    found: object = sys.modules.get(module)
    for name in qualname.split("."):
        found = vars(found).get(name) if isinstance(found, ModuleType | type) else None
    return found
