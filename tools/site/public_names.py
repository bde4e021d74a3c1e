"""The reference of the library: a page for each public name, from its docstring."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import NamedTuple

import headstart as hs


class Shelf(NamedTuple):
    """Names that belong together."""

    title: str
    words: str
    rooms: tuple[str, ...]  # by the module that a name comes from


SHELVES = (
    Shelf(
        "The jobs", "One call each.", ("judgement", "parts.explanation", "parts.files", "parts.tables", "simulation")
    ),
    Shelf("Logs", "Where a log comes from, and what it is.", ("logs",)),
    Shelf("Warm starts", "An oracle joined to an evaluator, and what guards it.", ("warmstart", "parts")),
    Shelf("Oracles", "They choose and learn.", ("oracles",)),
    Shelf("Evaluators", "They answer what would have happened, from the log.", ("evaluators",)),
    Shelf("Estimates and forests", "What evaluators are made of, for use on its own.", ("estimates", "forest")),
    Shelf("Modules", "Further names, by subject.", ()),
)


class PublicName(NamedTuple):
    """A name of `headstart.__all__`, and its page."""

    name: str
    thing: object
    page: str

    @property
    def room(self) -> str:
        """The module that it comes from, below headstart."""
        return getattr(self.thing, "__module__", "").removeprefix("headstart.")

    @property
    def line(self) -> str:
        """What it is, in one sentence."""
        return (inspect.getdoc(self.thing) or "").partition("\n\n")[0].replace("\n", " ")


def list_names() -> list[PublicName]:
    """All public names; a function's page is told apart from that of the class it makes."""
    return [
        PublicName(name, getattr(hs, name), f"{name}-function" if inspect.isfunction(getattr(hs, name)) else name)
        for name in hs.__all__
    ]


def write_names() -> Iterator[tuple[str, str]]:
    """(file, text) of the index and of every page, below reference/api."""
    names = list_names()
    lines = ["# The library", "", "Everything that `import headstart as hs` gives.", ""]
    for shelf in SHELVES:
        members = [each for each in names if _shelf_of(each) == shelf]
        lines += [f"## {shelf.title}", "", shelf.words, "", "| name | what it is |", "|---|---|"]
        lines += [f"| [`{each.name}`]({each.page}.md) | {each.line.replace('|', ' ')} |" for each in members]
        lines += ["", "```{toctree}", ":hidden:", "", *(each.page for each in members), "```", ""]
    yield "index.md", "\n".join(lines)
    for each in names:
        yield f"{each.page}.md", _write_page(each)


def _shelf_of(each: PublicName) -> Shelf:
    if isinstance(each.thing, ModuleType):
        return SHELVES[-1]
    fitting = [
        (len(room), shelf) for shelf in SHELVES for room in shelf.rooms if f"{each.room}.".startswith(f"{room}.")
    ]
    return max(fitting, key=lambda pair: pair[0])[1]


def _write_page(each: PublicName) -> str:
    if isinstance(each.thing, ModuleType):
        how = [f".. automodule:: headstart.{each.name}", "   :no-index:"]
        public = [name for name in getattr(each.thing, "__all__", ()) if callable(getattr(each.thing, name))]
        for name in public or _own_functions(each.thing):
            if name in hs.__all__:
                continue  # it has a page of its own
            is_class = inspect.isclass(getattr(each.thing, name))
            how += ["", f".. auto{'class' if is_class else 'function'}:: headstart.{each.name}.{name}"]
            how += ["   :members:"] if is_class else []
    elif inspect.isclass(each.thing):
        how = [".. currentmodule:: headstart", "", f".. autoclass:: {each.name}", "   :members:"]
    else:
        how = [".. currentmodule:: headstart", "", f".. autofunction:: {each.name}"]
    title = f"{each.name}()" if inspect.isfunction(each.thing) else each.name
    return "\n".join([f"# {title}", "", "```{eval-rst}", *how, "```", ""])


def _own_functions(module: ModuleType) -> list[str]:
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and callable(thing) and getattr(thing, "__module__", "") == module.__name__
    ]
