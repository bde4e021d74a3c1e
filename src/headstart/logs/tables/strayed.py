"""Strayed numbers: a column of numbers in which a few cells are words, so that the source takes it for text.

One "unknown" among 8,000 incomes must not lose the column, and with it the adjustment: the words count as missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headstart.logs.tables.canonical import as_float_column
from headstart.logs.tables.sources.opened import Opened

if TYPE_CHECKING:
    import ibis.expr.types as ir

_MOST_WORDS = 0.1  # of the values of a column of numbers
_FEWEST_VALUES = 50  # different ones: a text of fewer is as well a column of categories


def mend_numbers(opened: Opened, rows: ir.Table, columns: Sequence[str]) -> Opened | None:
    """The source with those of these columns of text as numbers that are, but for a few words; None: none is.

    One aggregate query over the columns of text, if there are any.
    """
    if not columns:
        return None
    asked: dict[str, ir.Scalar] = {}
    for j, name in enumerate(columns):
        text = rows[name].cast("string").strip()
        is_value = text.notnull() & (text != "")
        is_word = is_value & as_float_column(rows[name]).isnull()
        asked |= {f"n{j}": is_value.sum(), f"w{j}": is_word.sum(), f"d{j}": text.approx_nunique()}
        asked[f"e{j}"] = is_word.ifelse(text, None).max()
    found = rows.aggregate(**asked).to_pyarrow().to_pylist()[0]
    numbers, notes = {}, []
    for j, name in enumerate(columns):
        n, words, distinct = (int(found[f"{part}{j}"] or 0) for part in "nwd")
        if distinct > _FEWEST_VALUES and 0 < words <= _MOST_WORDS * n:
            numbers[name] = as_float_column(opened.table[name])
            such = found[f"e{j}"]
            notes.append(f"{name} is numbers but for {words:,} of {n:,} values, such as {such!r}: those are missing")
    return replace(opened, table=opened.table.mutate(**numbers), notes=(*opened.notes, *notes)) if numbers else None
