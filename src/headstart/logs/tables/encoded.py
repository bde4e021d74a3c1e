"""A portion of users as numbers: each row as `Encoding.encode` would have it, a column at a time."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from headstart.arrays import Floats
from headstart.errors import ContextError
from headstart.logs.encoding import Encoding, as_number, find_place, find_surprise

if TYPE_CHECKING:
    import pyarrow as pa

Surprises = Counter[tuple[str, str]]  # (column, "missing" or "unseen") -> rows


def encode_portion(encoding: Encoding, rows: pa.RecordBatch, place: str, first_row: int) -> tuple[Floats, Surprises]:
    """The matrix of these rows, (n, d), and how many values were missing or of a category that was never seen."""
    matrix = np.zeros((rows.num_rows, len(encoding.names)), order="F")
    found: Surprises = Counter()
    j = 0
    for column in encoding.columns:
        values = rows.column(column)
        where = f"{place}: context column {column!r}"
        if column in encoding.categories:
            j += _fill_categories(matrix, j, encoding, column, _check_flat(values, where), found)
            continue
        numbers = _as_numbers(values, where, first_row)
        is_known = np.isfinite(numbers)
        n_missing = int(numbers.size - np.count_nonzero(is_known))
        if n_missing:
            found[column, "missing"] += n_missing
            numbers = np.where(is_known, numbers, encoding.means.get(column, 0.0))
        matrix[:, j] = numbers
        j += 1
        if column in encoding.indicated:
            matrix[:, j] = ~is_known
            j += 1
    return np.ascontiguousarray(matrix), found


def _as_numbers(values: pa.Array, where: str, first_row: int) -> Floats:
    import pyarrow as pa

    kind = values.type
    if (
        pa.types.is_floating(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    ):
        numbers = values.cast(pa.float64(), safe=False)
        filled = numbers.fill_null(np.nan) if numbers.null_count else numbers
        return np.asarray(filled.to_numpy(zero_copy_only=False))
    out = np.empty(len(values))
    for row, value in enumerate(values.to_pylist()):
        try:
            number = as_number("", value)
        except ContextError:
            raise ContextError(f"{where} in row {first_row + row + 1:,} must be a number, got {value!r}") from None
        out[row] = np.nan if number is None else number
    return out


def _check_flat(values: pa.Array, where: str) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_nested(values.type):
        raise ContextError(f"{where} must hold one category a user, the column is {values.type}")
    return values


def _fill_categories(
    matrix: Floats, j: int, encoding: Encoding, column: str, values: pa.Array, found: Surprises
) -> int:
    import pyarrow as pa

    known = encoding.categories[column]
    places = {category: place for place, category in enumerate(known)}
    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    labels = [*coded.dictionary.to_pylist(), None]  # the last: what is null
    indices = coded.indices.fill_null(len(labels) - 1).to_numpy(zero_copy_only=False)
    counts = np.bincount(indices, minlength=len(labels))
    at = np.full(len(labels), -1)
    for i, label in enumerate(labels):
        if not counts[i]:
            continue
        place = find_place(places, label)
        at[i] = -1 if place is None else place
        surprise = find_surprise(places, label)
        if surprise is not None:
            found[column, surprise] += int(counts[i])
    chosen = at[indices]
    rows = np.flatnonzero(chosen >= 0)
    matrix[rows, j + chosen[rows]] = 1.0
    return len(known)
