"""The types of lazy expressions, by what they stand for. They are for readers and checkers: Ibis is imported late."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import ibis.expr.datatypes as dt
    import ibis.expr.types as ir

Schema: TypeAlias = "Mapping[str, dt.DataType]"  # column -> its Ibis type
Predicate: TypeAlias = "Callable[[ir.Table], ir.BooleanColumn]"  # which rows of a table
ChanceOf: TypeAlias = "Callable[[ir.Table, Hashable], ir.Column | None]"  # the column of an action's probability
