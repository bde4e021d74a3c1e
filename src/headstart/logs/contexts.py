"""The contexts of a log in memory: columns of any kind as numbers, with what is missing filled in."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.arrays import Floats
from headstart.errors import ContextError, LogError
from headstart.logs.encoding import Encoding, as_levels, find_place, is_gap, is_missing
from headstart.logs.frames import named_columns
from headstart.logs.identifiers import MOST_CATEGORIES, is_identifier

_Values: TypeAlias = Floats | list[Hashable]  # a column of numbers, NaN where one is missing; or of categories


def encode_columns(contexts: Any, context_names: Sequence[str] | None, n_rows: int) -> tuple[Encoding, Floats]:
    """The encoding that a log's contexts call for, and the encoded matrix (n, d).

    Columns by name may have missing values, filled in as `Encoding` says; a plain matrix of numbers may not.
    """
    if contexts is None:
        return Encoding.of_numbers(()), np.empty((n_rows, 0))
    named = named_columns(contexts)
    if named is not None:
        _check_differ([name for name, _ in named])
        columns = dict(named)
    else:
        matrix = np.asarray(contexts)
        if matrix.ndim == 1:
            matrix = matrix.reshape(-1, 1)
        if matrix.ndim != 2:
            raise LogError(f"contexts must be a matrix of rows and columns, got shape {matrix.shape}")
        names = tuple(context_names) if context_names else number_columns(matrix.shape[1])
        if len(names) != matrix.shape[1]:
            raise LogError(f"context_names has {len(names)} names for {matrix.shape[1]} columns")
        _check_differ(names)
        if matrix.dtype.kind in "fiu":
            return _encode_matrix(names, matrix.astype(np.float64), n_rows)
        columns = {name: matrix[:, j] for j, name in enumerate(names)}
    values = {name: _as_values(name, column, n_rows) for name, column in columns.items()}
    encoding = _find_encoding(values)
    return encoding, _fill(encoding, values, n_rows)


@cache
@cache
def number_columns(n: int) -> tuple[str, ...]:
    """The names of columns that nobody named: x0, x1, ..."""
    return tuple(f"x{j}" for j in range(n))


def encode_rows(encoding: Encoding, columns: Mapping[str, ArrayLike], n_rows: int) -> Floats:
    """The columns of a population of users as numbers, (n, d), each user as `encoding.encode` would have it."""
    values: dict[str, _Values] = {}
    for name in encoding.columns:
        column = np.asarray(columns[name])
        if name in encoding.categories:
            values[name] = column.tolist()
            continue
        try:
            values[name] = _as_floats(column)
        except (TypeError, ValueError):
            raise ContextError(f"population column {name!r} must be numbers") from None
    return _fill(encoding, values, n_rows)


def check_encoded(encoding: Encoding, matrix: Floats, n_rows: int) -> tuple[Encoding, Floats]:
    """The encoding and its matrix, (n, d), which must be finite."""
    if matrix.shape[0] != n_rows:
        raise LogError(f"contexts and outcomes must have the same length, got {matrix.shape[0]} and {n_rows}")
    finite = np.isfinite(matrix)
    if not finite.all():
        row, column = (int(i) for i in np.argwhere(~finite)[0])
        name = encoding.names[column]
        raise LogError(f"context in row {row}, column {name!r} must be finite, got {matrix[row, column]}")
    return encoding, matrix


def _encode_matrix(names: tuple[str, ...], matrix: Floats, n_rows: int) -> tuple[Encoding, Floats]:
    check_encoded(Encoding.of_numbers(names), matrix, n_rows)
    return Encoding(names, {}, {name: _mean(matrix[:, j]) for j, name in enumerate(names)}), matrix


def _mean(known: Floats) -> float:
    """The mean; 0 where the sum is beyond every number."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(known.mean())
    return mean if np.isfinite(mean) else 0.0


def _check_differ(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise LogError(f"context columns must have different names, got {name!r} twice")


def _as_values(name: str, column: ArrayLike, n_rows: int) -> _Values:
    values = np.asarray(column)
    if values.ndim != 1 or values.size != n_rows:
        raise LogError(f"context column {name!r} must have {n_rows} rows, got shape {values.shape}")
    if values.dtype.kind not in "fiu":
        items: list[Hashable] = values.tolist()
        if not _are_numbers(items):
            return items
        values = _as_floats(values)
    numbers: NDArray[np.float64] = values.astype(np.float64)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _as_floats(values: NDArray[np.generic]) -> Floats:
    """Numbers, perhaps in a column of objects, with NaN for those that are missing."""
    if values.dtype.kind != "O":
        return values.astype(np.float64)
    return np.array([np.nan if is_missing(item) else item for item in values.tolist()], dtype=np.float64)


def _are_numbers(items: Sequence[object]) -> bool:
    """Numbers in a column of objects, missing values aside; a column of nothing at all is one of numbers too."""
    return all(is_missing(item) or (isinstance(item, Real) and not isinstance(item, bool)) for item in items)


def _find_encoding(columns: Mapping[str, _Values]) -> Encoding:
    categories: dict[str, tuple[Hashable, ...]] = {}
    means: dict[str, float] = {}
    indicated: list[str] = []
    for name, values in columns.items():
        if isinstance(values, list):
            labels = {item: None for item in values if not is_gap(item)}  # in the order of their first rows
            _check_categories(name, len(labels), len(values))
            categories[name] = as_levels(labels, has_missing=any(map(is_gap, values)))
            continue
        known = values[~np.isnan(values)]
        _check_numbers(name, known, values.size)
        means[name] = _mean(known)
        if known.size < values.size:
            indicated.append(name)
    return Encoding(tuple(columns), categories, means, tuple(indicated))


def _check_numbers(name: str, known: Floats, n_rows: int) -> None:
    if not known.size:
        raise LogError(f"context column {name!r} is missing in every row: leave it out")
    n_values = np.unique(known).size if is_identifier(name) else 0
    if n_values > MOST_CATEGORIES:
        raise LogError(
            f"context column {name!r} is an identifier by its name, with {n_values:,} values in {n_rows:,} rows: "
            "leave it out; if rows of one value are of one person, give it as units="
        )


def _check_categories(name: str, n_values: int, n_rows: int) -> None:
    if n_values > MOST_CATEGORIES:
        raise LogError(
            f"context column {name!r} has {n_values:,} categories in {n_rows:,} rows, more than {MOST_CATEGORIES}: "
            "group them, or leave it out; if rows of one value are of one person, give it as units="
        )


def _fill(encoding: Encoding, columns: Mapping[str, _Values], n_rows: int) -> Floats:
    matrix = np.zeros((n_rows, len(encoding.names)))
    j = 0
    for name in encoding.columns:
        values = columns[name]
        if len(values) != n_rows:
            raise LogError(f"context column {name!r} must have {n_rows} rows, got {len(values)}")
        if isinstance(values, list):
            j += _fill_categories(matrix, j, encoding.categories[name], values)
            continue
        is_known = np.isfinite(values)
        matrix[:, j] = np.where(is_known, values, encoding.means.get(name, 0.0))
        j += 1
        if name in encoding.indicated:
            matrix[:, j] = ~is_known
            j += 1
    return matrix


def _fill_categories(matrix: Floats, j: int, known: Sequence[Hashable], values: Sequence[Any]) -> int:
    places = {category: place for place, category in enumerate(known)}
    found = [find_place(places, value) for value in values]
    rows = np.array([row for row, place in enumerate(found) if place is not None], dtype=np.int64)
    matrix[rows, [j + place for place in found if place is not None]] = 1.0
    return len(known)
