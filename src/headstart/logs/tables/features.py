"""The encoded contexts of a table, as lazy expressions: what `Encoding.encode` does to one user, in the database."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from headstart.logs.encoding import MISSING, OTHER, Encoding
from headstart.logs.tables.canonical import as_float_column, as_indicator
from headstart.logs.tables.columns import is_text
from headstart.logs.tables.gaps import gap_in

if TYPE_CHECKING:
    import ibis.expr.types as ir


def encode_features(rows: ir.Table, encoding: Encoding) -> list[ir.FloatingColumn]:
    """One expression per encoded column. A column without missing values is passed through as it is."""
    features: list[ir.FloatingColumn] = []
    for name in encoding.columns:
        if name in encoding.categories:
            features += [_is_category(rows, name, encoding, category) for category in encoding.categories[name]]
        else:
            features += _as_numbers(rows, name, encoding)
    return features


def _as_numbers(rows: ir.Table, name: str, encoding: Encoding) -> list[ir.FloatingColumn]:
    import ibis

    value = as_float_column(rows[name])
    if name not in encoding.indicated:
        return [value]
    is_gone = gap_in(name, rows[name].type())(rows)
    mean = ibis.literal(encoding.means[name]).cast("float64")
    return [ibis.cases((is_gone, mean), else_=value), as_indicator(is_gone)]


def _is_category(rows: ir.Table, name: str, encoding: Encoding, category: Hashable) -> ir.FloatingColumn:
    """1 in the rows of a category. What is missing is of the level "missing", what is rare of the level "other"."""
    column, known = rows[name], encoding.categories[name]
    kind = column.type()
    is_gone = gap_in(name, kind)(rows)
    if category == MISSING:
        return as_indicator(is_gone | (column == MISSING).fill_null(False) if is_text(kind) else is_gone)
    if category == OTHER:
        others = [each for each in known if each not in (MISSING, OTHER)]
        is_rare = ~column.isin(others) & ~is_gone
        return as_indicator((is_rare & (column != MISSING) if MISSING in known else is_rare).fill_null(False))
    is_it = column == category
    return as_indicator(is_it.fill_null(False) if MISSING in known else is_it)
