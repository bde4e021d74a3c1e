"""Where logs come from. One small file each: a module here with SOURCES or SHAPES is found by itself.

A *source* turns what the caller has (a path, a frame, a table) into a lazy Ibis table; a *shape* is a layout of
columns that is recognised in any of them (the Open Bandit Dataset, headstart's own decision log).
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import replace
from functools import cache

from headstart.errors import LogError
from headstart.extras import brought_by
from headstart.logs.tables.connection import DatabaseLimits, log_errors
from headstart.logs.tables.sources.databases import Database, find_database
from headstart.logs.tables.sources.nested import unnest
from headstart.logs.tables.sources.opened import Files, Opened, Shape, SourceKind
from headstart.logs.tables.sources.paths import find_files, is_path

SUFFIXES = (
    ".csv", ".tsv", ".parquet", ".pq", ".jsonl", ".ndjson", ".json", ".vw", ".dat", ".dsjson",
)  # fmt: skip


@cache
def all_sources() -> tuple[tuple[SourceKind, ...], tuple[Shape, ...]]:
    """Every kind of source and every shape, those that look closest first."""
    sources: list[SourceKind] = []
    shapes: list[Shape] = []
    for module in pkgutil.iter_modules(__path__):
        found = importlib.import_module(f"{__name__}.{module.name}")
        sources += vars(found).get("SOURCES", ())
        shapes += vars(found).get("SHAPES", ())
    return tuple(sorted(sources, key=lambda source: not source.is_special)), tuple(shapes)


def open_source(source: object, format: str | None, settings: DatabaseLimits, query: str | None = None) -> Opened:
    """The lazy table of whatever the caller has; with a `query`, of what a database answers to it."""
    sources, shapes = all_sources()
    known: dict[str, SourceKind | Shape] = {kind.name: kind for kind in sources}
    known |= {kind.name: kind for kind in shapes}
    if format is not None and format not in known:
        raise LogError(f"unknown format {format!r}; known: {', '.join(sorted(known))}")
    database = find_database(source, query)
    if database is not None:
        thing: object = database
    else:
        thing = find_files(source, SUFFIXES, format) if is_path(source) else source
    place = thing.place if isinstance(thing, Files | Database) else type(source).__name__
    chosen = known.get(format or "")
    with brought_by("logs"), log_errors(place):
        if isinstance(chosen, SourceKind):
            if chosen.takes_files != isinstance(thing, Files) and not chosen.recognises(thing):
                raise LogError(f"{place} cannot be read in the format {chosen.name!r}")
            opened = chosen.open(thing, settings)
        else:
            opened = _recognise(thing, place, sources).open(thing, settings)
        return lay_out(opened, chosen if isinstance(chosen, Shape) else None)


def lay_out(opened: Opened, shape: Shape | None = None) -> Opened:
    """The table in the layout that its columns show, or in the one that was asked for."""
    if shape is not None and not shape.recognises(opened.table):
        columns = ", ".join(opened.table.columns)
        raise LogError(f"{opened.place}: not in the format {shape.name!r}; columns: {columns}")
    shape = shape or next((known for known in all_sources()[1] if known.recognises(opened.table)), None)
    arrange = unnest if shape is None else shape.arrange
    widen, reopen = opened.widen, opened.reopen
    return replace(
        arrange(opened),
        widen=None if widen is None else lambda: lay_out(widen(), shape),
        reopen=None if reopen is None else lambda path: arrange(replace(opened, table=reopen(path))).table,
    )


def _recognise(thing: object, place: str, sources: tuple[SourceKind, ...]) -> SourceKind:
    for kind in sources:
        if kind.recognises(thing):
            return kind
    if isinstance(thing, Files):
        raise LogError(
            f"{place}: the format is not known by the name ({thing.suffix or 'no suffix'}); "
            f"give format=, one of {', '.join(sorted(kind.name for kind in sources if kind.takes_files))}"
        )
    raise LogError(
        f"a log cannot be read from {place}: give a path, a database's address, a pandas or polars frame, an Arrow "
        "table, a mapping of columns, an Ibis table or a Spark frame"
    )
