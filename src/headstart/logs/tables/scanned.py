"""What a scan of a source leads to: all that a `LogTable` is made of."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

from headstart.logs.encoding import Encoding
from headstart.logs.reading import Reading

if TYPE_CHECKING:
    import ibis.expr.types as ir


class Scanned(NamedTuple):
    """A canonical table, and what its numbers mean."""

    table: ir.Table
    encoding: Encoding
    action_names: tuple[Hashable, ...]
    reading: Reading | None
