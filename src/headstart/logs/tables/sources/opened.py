"""What a source hands over: a lazy table, what it knows of its columns, and how to name a place in it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headstart.logs.tables.connection import DatabaseLimits
from headstart.logs.tables.expressions import ChanceOf, Predicate

if TYPE_CHECKING:
    import ibis.expr.types as ir


@dataclass(frozen=True)
class Opened:
    """A source, opened: nothing of it is in memory."""

    table: ir.Table
    format: str  # in words: "Parquet"
    place: str  # in words: "log.parquet", for messages
    roles: Mapping[str, str] = field(default_factory=dict)  # the columns this format always uses
    contexts: tuple[str, ...] | None = None  # the columns to decide on, unless the caller says otherwise
    labels: tuple[Hashable, ...] = ()  # actions that exist whether or not a row shows them
    chance_of: ChanceOf | None = None
    keeps: Predicate | None = None  # the rows that were asked for, if not all
    counts: Mapping[str, int] = field(default_factory=dict)  # rows or lines passed over, by rule
    notes: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    reopen: Callable[[Path], ir.Table] | None = None  # the table of one file, to find a place in it
    line_of: Callable[[Path, int], int | None] | None = None  # the line of a row, for text files
    line_column: str | None = None  # a column that has it, where the source wrote it down
    widen: Callable[[], Opened] | None = None  # the same with types taken from every row, not from the first ones
    explain: Callable[[Exception], Exception] | None = None  # a database's complaint, with the place in the file


@dataclass(frozen=True)
class Files:
    """Local files of one format, found from a path, a folder or a pattern."""

    paths: tuple[Path, ...]
    suffix: str  # of the first, lower case, without compression: ".csv"
    given: str  # what the caller wrote

    @property
    def place(self) -> str:
        return str(self.paths[0]) if len(self.paths) == 1 else f"{self.given} ({len(self.paths)} files)"


@dataclass(frozen=True)
class SourceKind:
    """A kind of source. Each file of this folder that has a SOURCES tuple is found by itself."""

    name: str  # what format= takes
    recognises: Callable[[object], bool]  # is this object, or are these Files, mine?
    open: Callable[[Any, DatabaseLimits], Opened]  # of what it recognises
    is_special: bool = False  # asked before those that would take any file with this suffix
    takes_files: bool = False  # a file of any name can be read as one


@dataclass(frozen=True)
class Shape:
    """A table with columns of a known layout, wherever it came from (SHAPES tuples are found like SOURCES)."""

    name: str
    recognises: Callable[[ir.Table], bool]  # by its columns
    arrange: Callable[[Opened], Opened]
