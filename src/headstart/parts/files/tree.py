"""Objects as a tree of plain values beside a list of arrays, and back. No code of the file's choosing runs.

An object is what its `__getstate__` says, as when it is copied. What stands in two places is written once: parts
share arrays. A NamedTuple goes by its fields, whose names are compared when it is read: a state of another layout is
refused. A dataclass goes by its fields too, of which those with a default may be missing.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections import deque
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from headstart.errors import CannotBeSaved, PolicyFileError
from headstart.kernels import Entry
from headstart.kernels.states import is_state
from headstart.parts.files.archive import is_plain
from headstart.parts.files.classes import KnownClasses, path_of
from headstart.parts.identity import IDENTITY

_Node = Any  # a JSON value
_KIND = "$"
_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
_DEEPEST = 200


class TreeWriter:
    """Turns objects into a tree; the arrays that it meets are in `arrays`."""

    def __init__(self, classes: KnownClasses) -> None:
        self.arrays: list[NDArray[np.generic]] = []
        self._classes = classes
        self._places: dict[int, _Node] = {}  # id of an object or array -> how to point at it
        self._kept: list[object] = []  # so that no id is used twice
        self._n_objects = 0

    def write(self, value: object, where: str) -> _Node:
        """The tree of a value; `where` it stands, for messages."""
        if value is None or isinstance(value, bool | str) or type(value) is int:
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {_KIND: "float", "is": repr(value)}
        if id(value) in self._places:
            return self._places[id(value)]
        for kind, write in _WRITERS:
            if isinstance(value, kind):
                return write(self, value, where)
        if isinstance(value, FunctionType) or callable(value) or isinstance(value, type):
            raise CannotBeSaved(f"{where} is {value!r}: a function cannot be written to a policy file")
        return self._write_object(value, where)

    def _point(self, value: object, node: _Node) -> None:
        self._places[id(value)] = node
        self._kept.append(value)

    def _write_array(self, value: NDArray[np.generic], where: str) -> _Node:
        if not is_plain(value.dtype):
            raise CannotBeSaved(f"{where} is an array of {value.dtype}, which cannot be written to a policy file")
        node = {_KIND: "array", "at": len(self.arrays), "can be written": bool(value.flags.writeable)}
        self.arrays.append(value)
        self._point(value, node)
        return node

    def _write_number(self, value: np.generic, where: str) -> _Node:
        if value.dtype.kind not in "biufU":
            raise CannotBeSaved(f"{where} is {value!r}, which cannot be written to a policy file")
        return {_KIND: "number", "type": value.dtype.str, "is": self.write(value.item(), where)}

    def _write_tuple(self, value: tuple[object, ...], where: str) -> _Node:
        if not is_state(value):
            return {_KIND: "tuple", "of": [self.write(each, f"{where}[{i}]") for i, each in enumerate(value)]}
        names: tuple[str, ...] = type(value)._fields  # type: ignore[attr-defined]
        fields = {name: self.write(each, f"{where}.{name}") for name, each in zip(names, value, strict=True)}
        return {_KIND: "named", "class": self._path(type(value), where), "of": fields}

    def _write_sequence(self, value: Any, where: str) -> _Node:
        kind = next(name for name, made in _SEQUENCES.items() if isinstance(value, made))
        items = sorted(value, key=repr) if kind in ("set", "frozenset") else value
        return {_KIND: kind, "of": [self.write(each, f"{where}[{i}]") for i, each in enumerate(items)]}

    def _write_mapping(self, value: Mapping[object, object], where: str) -> _Node:
        pairs = [[self.write(key, where), self.write(each, f"{where}[{key!r}]")] for key, each in value.items()]
        return {_KIND: "mapping", "of": pairs}

    def _write_generator(self, value: np.random.Generator, where: str) -> _Node:
        name = type(value.bit_generator).__name__
        if name not in _GENERATORS:
            raise CannotBeSaved(f"{where} draws from {name}; what can be saved: {', '.join(_GENERATORS)}")
        node = {_KIND: "generator", "of": self.write(dict(value.bit_generator.state), where), "at": self._n_objects}
        self._n_objects += 1
        self._point(value, {_KIND: "again", "at": node["at"]})
        return node

    def _write_entry(self, value: Entry[object], where: str) -> _Node:
        function, allocates, keeps_gil = cast(tuple[FunctionType, bool, bool], value.__reduce__()[1])
        return {_KIND: "entry", "of": path_of(function), "allocates": allocates, "keeps": keeps_gil}

    def _write_date(self, value: datetime.date, where: str) -> _Node:
        return {_KIND: type(value).__name__, "is": value.isoformat()}

    def _write_object(self, value: object, where: str) -> _Node:
        path = self._path(type(value), where)
        if dataclasses.is_dataclass(value):
            fields = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
            return {_KIND: "fields", "class": path, "of": self._write_fields(fields, where)}
        state = _state_of(value)
        if state is not None and not isinstance(state, dict):
            raise CannotBeSaved(f"{where}: {type(value).__name__} keeps what it knows in slots")
        at = self._n_objects
        self._n_objects += 1
        self._point(value, {_KIND: "again", "at": at})
        return {_KIND: "object", "class": path, "at": at, "of": self._write_fields(state or {}, where)}

    def _write_fields(self, fields: Mapping[str, object], where: str) -> dict[str, _Node]:
        return {name: self.write(each, f"{where}.{name}") for name, each in fields.items()}

    def _path(self, owner: type, where: str) -> str:
        if not self._classes.can_be_named(owner):
            raise CannotBeSaved(
                f"{where} is a {owner.__name__}, which is no part of headstart: it cannot be written to a policy "
                "file (one of your own can, if you give it: save(..., parts=[...]))"
            )
        return path_of(owner)


def _state_of(value: Any) -> object:
    """What an object is made of: `file_state`, where it is less than what a copy takes with it."""
    found = getattr(value, "file_state", value.__getstate__)()
    return {name: each for name, each in found.items() if name != IDENTITY} if isinstance(found, dict) else found


_SEQUENCES: dict[str, Any] = {"list": list, "set": set, "frozenset": frozenset, "deque": deque}
_WRITERS: tuple[tuple[Any, Callable[..., _Node]], ...] = (
    (np.ndarray, TreeWriter._write_array),
    (np.generic, TreeWriter._write_number),
    (tuple, TreeWriter._write_tuple),
    ((list, set, frozenset, deque), TreeWriter._write_sequence),
    (Mapping, TreeWriter._write_mapping),
    (np.random.Generator, TreeWriter._write_generator),
    (Entry, TreeWriter._write_entry),
    (datetime.date, TreeWriter._write_date),
)


class TreeReader:
    """Turns a tree back into objects. Whatever is not as a writer writes it is a PolicyFileError."""

    def __init__(self, classes: KnownClasses, arrays: list[NDArray[np.generic]]) -> None:
        self._classes, self._arrays = classes, arrays
        self._objects: dict[int, object] = {}
        self._depth = 0

    @property
    def objects(self) -> list[object]:
        """The objects that were read, those within others included."""
        return list(self._objects.values())

    def read(self, node: _Node) -> Any:
        """The value of a tree."""
        if not isinstance(node, dict):
            if isinstance(node, list):
                raise PolicyFileError("holds a list where no list can stand")
            return node
        self._depth += 1
        if self._depth > _DEEPEST:
            raise PolicyFileError(f"is nested more than {_DEEPEST} deep")
        try:
            value = _READERS[node[_KIND]](self, node)
        except PolicyFileError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
            raise PolicyFileError(f"is not as headstart writes it ({type(error).__name__}: {error})") from error
        self._depth -= 1
        return value

    def _read_all(self, nodes: Any) -> list[Any]:
        return [self.read(each) for each in nodes]

    def _read_array(self, node: _Node) -> NDArray[np.generic]:
        found = self._arrays[int(node["at"])]
        found.flags.writeable = node["can be written"] is True
        return found

    def _read_number(self, node: _Node) -> np.generic:
        kind = np.dtype(node["type"])
        if kind.kind not in "biufU":
            raise PolicyFileError(f"holds a number of {kind}")
        return cast(np.generic, kind.type(self.read(node["is"])))

    def _read_named(self, node: _Node) -> object:
        owner = self._classes.find_class(node["class"])
        names = getattr(owner, "_fields", None)
        if not issubclass(owner, tuple) or names is None:
            raise PolicyFileError(f"holds a {owner.__name__} as what it is not")
        if tuple(node["of"]) != names:
            raise PolicyFileError(
                f"is of another version: {owner.__name__} has the fields {', '.join(names)}, there they are "
                f"{', '.join(node['of'])}"
            )
        return tuple.__new__(owner, self._read_all(node["of"].values()))

    def _read_generator(self, node: _Node) -> np.random.Generator:
        state = self.read(node["of"])
        if state["bit_generator"] not in _GENERATORS:
            raise PolicyFileError(f"holds randomness of {state['bit_generator']!r}")
        bits = getattr(np.random, state["bit_generator"])()
        bits.state = state
        self._objects[node["at"]] = made = np.random.Generator(bits)
        return made

    def _read_entry(self, node: _Node) -> Entry[object]:
        function = self._classes.find_function(node["of"])
        return Entry(function, allocates=node["allocates"] is True, keeps_gil=node["keeps"] is True)

    def _read_fields(self, node: _Node) -> object:
        owner = self._classes.find_class(node["class"])
        if not dataclasses.is_dataclass(owner):
            raise PolicyFileError(f"holds a {owner.__name__} as what it is not")
        known = {each.name: each for each in dataclasses.fields(owner)}
        missing = known.keys() - node["of"].keys()
        if not node["of"].keys() <= known.keys() or not all(_may_be_missing(known[name]) for name in missing):
            raise PolicyFileError(f"is of another version: {owner.__name__} has other fields now")
        values = {name: self.read(each) for name, each in node["of"].items()}
        made: object = owner(**{name: each for name, each in values.items() if known[name].init})
        return made

    def _read_object(self, node: _Node) -> object:
        owner = self._classes.find_class(node["class"])
        if issubclass(owner, tuple) or dataclasses.is_dataclass(owner):
            raise PolicyFileError(f"holds a {owner.__name__} as what it is not")
        self._objects[node["at"]] = made = object.__new__(owner)
        vars(made).update({name: self.read(each) for name, each in node["of"].items()})
        return made


def _may_be_missing(field: dataclasses.Field[Any]) -> bool:
    """A file from before the field was: the default is what things were then."""
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


_READERS: dict[str, Callable[[TreeReader, _Node], Any]] = {
    "float": lambda reader, node: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[node["is"]],
    "array": TreeReader._read_array,
    "number": TreeReader._read_number,
    "tuple": lambda reader, node: tuple(reader._read_all(node["of"])),
    "list": lambda reader, node: reader._read_all(node["of"]),
    "set": lambda reader, node: set(reader._read_all(node["of"])),
    "frozenset": lambda reader, node: frozenset(reader._read_all(node["of"])),
    "deque": lambda reader, node: deque(reader._read_all(node["of"])),
    "mapping": lambda reader, node: {reader.read(key): reader.read(each) for key, each in node["of"]},
    "named": TreeReader._read_named,
    "generator": TreeReader._read_generator,
    "entry": TreeReader._read_entry,
    "date": lambda reader, node: datetime.date.fromisoformat(node["is"]),
    "datetime": lambda reader, node: datetime.datetime.fromisoformat(node["is"]),
    "fields": TreeReader._read_fields,
    "object": TreeReader._read_object,
    "again": lambda reader, node: reader._objects[node["at"]],
}
