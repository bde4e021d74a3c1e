"""Encoding: how a user's columns become the numbers that oracles and evaluators take."""

from __future__ import annotations

import operator
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.arrays import Floats, Integers
from headstart.checks import check_context
from headstart.errors import ContextError, LogError, OptionError
from headstart.logs.frames import named_columns


@dataclass(frozen=True)
class Encoding:
    """Which columns there are, and the categories of those that are not numbers.

    A categorical column becomes one 0/1 column per category, `column=category`, and owns them: whoever names it
    means them all. A category never seen in the log is an error for one user: guessing would be silent.
    """

    columns: tuple[str, ...]
    categories: Mapping[str, tuple[Hashable, ...]]

    @classmethod
    def of_numbers(cls, names: Iterable[str]) -> Encoding:
        """The encoding of columns that are numbers, and so stay what they are."""
        return cls(tuple(names), {})

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the encoded columns."""
        return tuple(
            f"{column}={category}" if column in self.categories else column
            for column in self.columns
            for category in self.categories.get(column, (None,))
        )

    @cached_property
    def owners(self) -> tuple[str, ...]:
        """The column that each encoded one belongs to, in the order of `names`."""
        return tuple(column for column in self.columns for _ in self.categories.get(column, (None,)))

    def columns_of(self, decide_on: Sequence[str | int]) -> Integers:
        """The indices of the encoded columns that a choice of columns means, in its order.

        A choice is a list of names of columns (a categorical one means all its categories), names of encoded
        columns, and indices of encoded columns. A name that is both is the column's.
        """
        if isinstance(decide_on, str):
            raise OptionError(f"decide_on must be a list of columns, got {decide_on!r}: write [{decide_on!r}]")
        return np.array([j for column in decide_on for j in self._find(column)], dtype=np.int64)

    def _find(self, column: str | int) -> list[int]:
        if isinstance(column, str):
            found = self._named(column)
            if not found:
                known = ", ".join(self.columns)
                raise OptionError(f"decide_on names {column!r}, which is not a column of the log: {known}")
            return found
        try:
            index = -1 if isinstance(column, bool) else operator.index(column)
        except TypeError:
            raise OptionError(f"decide_on must hold names or indices of columns, got {column!r}") from None
        if not 0 <= index < len(self.names):
            raise OptionError(f"decide_on must name columns 0..{len(self.names) - 1}, got {column!r}")
        return [index]

    def _named(self, column: str) -> list[int]:
        names = self.owners if column in self.owners else self.names
        return [j for j, name in enumerate(names) if name == column]

    def without(self, names: Collection[str]) -> Encoding:
        """The encoding without the columns of these names; an encoded one takes its whole column with it."""
        gone = self._owners_of(names)
        return Encoding(
            tuple(column for column in self.columns if column not in gone),
            {column: known for column, known in self.categories.items() if column not in gone},
        )

    def kept_without(self, names: Collection[str]) -> Integers:
        """The indices of the encoded columns that `without(names)` leaves."""
        gone = self._owners_of(names)
        return np.array([j for j, owner in enumerate(self.owners) if owner not in gone], dtype=np.int64)

    def _owners_of(self, names: Collection[str]) -> set[str]:
        return {self.owners[j] for name in names for j in self._named(name)}

    def encode(self, user: Mapping[str, Any] | ArrayLike) -> Floats:
        """One user as a vector; a mapping by column names, or numbers already in order."""
        if not isinstance(user, Mapping):
            return check_context(user, len(self.names))
        unknown = [name for name in user if name not in self.columns]
        if unknown:
            raise ContextError(f"unknown context column {unknown[0]!r}; known: {', '.join(self.columns)}")
        values: list[float] = []
        for column in self.columns:
            if column not in user:
                raise ContextError(f"context column {column!r} is missing")
            value = user[column]
            if column in self.categories:
                known = self.categories[column]
                if value not in known:
                    raise ContextError(f"context column {column!r} has no category {value!r}; known: {known}")
                values.extend(float(value == category) for category in known)
            else:
                try:
                    values.append(float(value))
                except (TypeError, ValueError):
                    raise ContextError(f"context column {column!r} must be a number, got {value!r}") from None
        return check_context(values, len(values))


def encode_columns(contexts: Any, context_names: Sequence[str] | None, n_rows: int) -> tuple[Encoding, Floats]:
    """The encoding that a log's contexts call for, and the encoded matrix (n, d)."""
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
        names = tuple(context_names) if context_names else tuple(f"x{j}" for j in range(matrix.shape[1]))
        if len(names) != matrix.shape[1]:
            raise LogError(f"context_names has {len(names)} names for {matrix.shape[1]} columns")
        _check_differ(names)
        if matrix.dtype.kind in "fiu":
            return check_encoded(Encoding.of_numbers(names), matrix.astype(np.float64), n_rows)
        columns = {name: matrix[:, j] for j, name in enumerate(names)}
    parts: list[Floats] = []
    categories: dict[str, tuple[Hashable, ...]] = {}
    for name, column in columns.items():
        values = np.asarray(column)
        if values.ndim != 1 or values.size != n_rows:
            raise LogError(f"context column {name!r} must have {n_rows} rows, got shape {values.shape}")
        if values.dtype.kind in "fiu":
            parts.append(values.astype(np.float64).reshape(-1, 1))
        else:
            encoded, categories_or_none = _encode_column(name, values)
            parts.append(encoded)
            if categories_or_none is not None:
                categories[name] = categories_or_none
    matrix = np.hstack(parts) if parts else np.empty((n_rows, 0))
    return check_encoded(Encoding(tuple(columns), categories), matrix, n_rows)


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


def is_missing(value: Any) -> bool:
    """None, NaN, NaT, or pandas' NA, which will not say whether it equals itself."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return True


def _check_differ(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise LogError(f"context columns must have different names, got {name!r} twice")


def _encode_column(name: str, values: NDArray[Any]) -> tuple[Floats, tuple[Hashable, ...] | None]:
    items = values.tolist()
    for row, item in enumerate(items):
        if is_missing(item):
            raise LogError(f"context column {name!r} is missing in row {row}")
    if all(isinstance(item, Real) and not isinstance(item, bool) for item in items):  # numbers in a column of objects
        return np.array(items, dtype=np.float64).reshape(-1, 1), None
    try:
        known = tuple(sorted(set(items)))
    except TypeError:
        known = tuple(dict.fromkeys(items))
    place = {category: k for k, category in enumerate(known)}
    encoded = np.zeros((len(items), len(known)))
    encoded[np.arange(len(items)), [place[item] for item in items]] = 1.0
    return encoded, known
