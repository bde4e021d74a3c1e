"""Which parts a room holds, and what each must be given. A part declares it once, in its constructor.

By these names whoever builds a part knows what to hand over: `n_actions`, `n_features`, `log` (the log), `summary`
(what the log knows of each action), `policy` (what a guard watches) and `rng`. Any other parameter is a setting.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from headstart.checks import guess_name
from headstart.errors import OptionError
from headstart.parts.abilities import missing_method

_PLAIN = ("int", "float", "bool", "str")  # the annotations of settings that a configuration can hold


@dataclass(frozen=True)
class BuiltIn:
    """A part by its name: its class, and the parameters of its constructor."""

    make: type
    parameters: Mapping[str, inspect.Parameter]

    @classmethod
    def of(cls, make: type) -> BuiltIn:
        """Read what a class must be given."""
        return cls(make, inspect.signature(make).parameters)

    @property
    def name(self) -> str:
        """The class's name."""
        return self.make.__name__

    @property
    def needs(self) -> tuple[str, ...]:
        """The parameters that have no default."""
        return tuple(name for name, each in self.parameters.items() if each.default is inspect.Parameter.empty)

    def lacks(self, given: Collection[str]) -> tuple[str, ...]:
        """What it needs that is neither given nor a setting that can be written down."""
        return tuple(n for n in self.needs if n not in given and self.parameters[n].annotation not in _PLAIN)

    def build(self, given: Mapping[str, object], settings: Mapping[str, object]) -> object:
        """The part, made from what of `given` it takes and from settings, which are its own alone."""
        taken = {name: value for name, value in given.items() if name in self.parameters}
        for name in settings:
            if name not in self.parameters or name in taken:
                offered = [each for each in self.parameters if each not in taken]
                hint = guess_name(name, offered)
                raise OptionError(f"{self.name} has no setting {name!r}; {hint}known: {', '.join(offered) or 'none'}")
        try:
            return self.make(**taken, **settings)
        except TypeError as error:
            raise OptionError(f"{self.name}: {error}") from None


@cache
def find_parts(room: ModuleType, *methods: str) -> Mapping[str, BuiltIn]:
    """The parts of a room by name: its modules' public classes with these methods that can be made."""
    found = (BuiltIn.of(each) for each in _classes(room) if missing_method(each, *methods) is None)
    return {part.name: part for part in sorted(found, key=lambda part: part.name)}


def _classes(room: ModuleType) -> Iterator[type]:
    for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
        for name, each in vars(importlib.import_module(module.name)).items():
            is_its_own = inspect.isclass(each) and each.__module__ == module.name
            if is_its_own and not name.startswith("_") and not inspect.isabstract(each):
                yield each
