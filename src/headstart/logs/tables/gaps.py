"""Contexts that are missing: where, how often, and what stands in their place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headstart.logs.tables.canonical import as_float_column, is_infinite, is_nan
from headstart.logs.tables.expressions import Predicate, Schema

if TYPE_CHECKING:
    import ibis.expr.datatypes as dt
    import ibis.expr.types as ir


@dataclass(frozen=True)
class Gaps:
    """What is missing in the contexts of a table, and the means of its columns of numbers."""

    missing: Mapping[str, int] = field(default_factory=dict)  # column -> rows, where there are any
    infinite: Mapping[str, int] = field(default_factory=dict)
    means: Mapping[str, float] = field(default_factory=dict)

    @property
    def rows(self) -> dict[str, int]:
        """Column -> rows in which it has no value."""
        names = dict.fromkeys((*self.missing, *self.infinite))
        return {name: self.missing.get(name, 0) + self.infinite.get(name, 0) for name in names}

    def counts(self) -> dict[str, int]:
        """Rule -> rows, for the reading."""
        found = {f"missing value in {name!r}, filled": n for name, n in self.missing.items()}
        return found | {f"infinite value in {name!r}, filled": n for name, n in self.infinite.items()}


def missing_in(name: str, kind: dt.DataType) -> Predicate:
    """Where a column has no value: null, NaN, an empty text."""
    if kind.is_floating():
        return lambda table: table[name].isnull() | is_nan(table[name])
    if kind.is_json():
        return lambda table: table[name].isnull() | (table[name].cast("string") == "null")
    if kind.is_string():
        return lambda table: table[name].isnull() | (table[name] == "")
    return lambda table: table[name].isnull()


def infinite_in(name: str) -> Predicate:
    """Where a number is beyond every other."""
    return lambda table: is_infinite(as_float_column(table[name])).fill_null(False)


def gap_in(name: str, kind: dt.DataType) -> Predicate:
    """Where a context cannot be used as it is: missing, or infinite."""
    is_gone = missing_in(name, kind)
    if not kind.is_floating():
        return is_gone
    is_beyond = infinite_in(name)
    return lambda table: is_gone(table) | is_beyond(table)


def ask_gaps(rows: ir.Table, schema: Schema, names: Sequence[str]) -> dict[str, ir.Scalar]:
    """The aggregates that `as_gaps` reads."""
    asked = {}
    for j, name in enumerate(names):
        asked[f"missing{j}"] = missing_in(name, schema[name])(rows).sum()
        if schema[name].is_floating():
            asked[f"infinite{j}"] = infinite_in(name)(rows).sum()
        if schema[name].is_numeric():
            asked[f"mean{j}"] = as_float_column(rows[name]).mean(where=~gap_in(name, schema[name])(rows))
    return asked


def as_gaps(found: Mapping[str, object], names: Sequence[str]) -> Gaps:
    """What a query with these aggregates answered."""

    def count(what: str) -> dict[str, int]:
        counts = {name: int(found.get(f"{what}{j}") or 0) for j, name in enumerate(names)}  # type: ignore[call-overload]
        return {name: n for name, n in counts.items() if n}

    means = {name: _as_mean(found[f"mean{j}"]) for j, name in enumerate(names) if f"mean{j}" in found}
    return Gaps(count("missing"), count("infinite"), means)


def find_gaps(rows: ir.Table, schema: Schema, names: Sequence[str]) -> Gaps:
    """What is missing in these contexts. One pass."""
    if not names:
        return Gaps()
    return as_gaps(rows.aggregate(**ask_gaps(rows, schema, names)).to_pyarrow().to_pylist()[0], names)


def _as_mean(found: object) -> float:
    """0 where the sum is beyond every number, as in memory; and where there is nothing to add up."""
    mean = float(found) if isinstance(found, int | float) else 0.0
    return mean if math.isfinite(mean) else 0.0
