"""Which classes a policy file may name: those of headstart's own rooms, and what the reader hands over by itself."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable
from types import FunctionType

from headstart.errors import PolicyFileError

# The rooms that policies are made of. Importing a module of theirs does nothing but define.
_ROOMS = (
    "oracles",
    "evaluators",
    "warmstart",
    "judgement",
    "experiments",
    "priors",
    "estimates",
    "forest",
    "kernels",
    "logs",
    "parts",
)
_PATH = re.compile(rf"headstart\.({'|'.join(_ROOMS)})(\.[a-z_][a-z0-9_]*)+\.[A-Za-z_][A-Za-z0-9_]*")


def path_of(thing: type | FunctionType) -> str:
    """Where a class or a function stands: module and name."""
    return f"{thing.__module__}.{thing.__qualname__}"


class KnownClasses:
    """The classes and functions that may be named, by their paths."""

    def __init__(self, more: Iterable[type] = ()) -> None:
        self._more = {path_of(each): each for each in more}

    def can_be_named(self, thing: type | FunctionType) -> bool:
        """Whether a reader will find this again under its path."""
        path = path_of(thing)
        return path in self._more or (_PATH.fullmatch(path) is not None and _look_up(path) is thing)

    def find_class(self, path: str) -> type:
        """The class of this path."""
        found = self._more.get(path) or self._find(path)
        if not isinstance(found, type) or issubclass(found, BaseException):
            raise PolicyFileError(f"names {path!r}, which is no class that a policy is made of")
        return found

    def find_function(self, path: str) -> Callable[..., object]:
        """The kernel of this path."""
        found = self._find(path)
        if not isinstance(found, FunctionType):
            raise PolicyFileError(f"names {path!r}, which is no function that a policy is made of")
        return found

    def _find(self, path: str) -> object:
        found = _look_up(path) if isinstance(path, str) and _PATH.fullmatch(path) else None
        if found is None:
            raise PolicyFileError(
                f"names {path!r}, which is no part of headstart; if it is yours, give load(..., parts=[...])"
            )
        return found


def _look_up(path: str) -> object:
    """What stands under a path of a room, and is at home there; None if nothing is."""
    module, _, name = path.rpartition(".")
    try:
        found: object = vars(importlib.import_module(module)).get(name)
    except ImportError:
        return None
    return found if getattr(found, "__module__", None) == module else None
