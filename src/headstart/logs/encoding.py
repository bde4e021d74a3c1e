"""Encoding: how a user's columns become the numbers that oracles and evaluators take."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats, Integers
from headstart.checks import check_context, guess_name
from headstart.errors import ContextError, OptionError

MISSING = "missing"  # the level of a category that is not known
MISSING_MARKS = ("", "NA", "N/A", "NULL", "null", "None", "nan", "NaN")  # texts that say so in a file
OTHER = "other"  # the level of a category that is rare in the log, or that it never showed
Surprise: TypeAlias = Literal["missing", "unseen"]


@dataclass(frozen=True)
class Encoding:
    """Which columns there are, the categories of those that are not numbers, and what stands for a missing value.

    A categorical column becomes one 0/1 column per category, `column=category`, and owns them: whoever names it
    means them all. A missing category is the level "missing" where the log had one; a category that the log never
    showed is the level "other" where there is one; otherwise all of the column's numbers are 0.

    A number that is missing, or infinite, is the column's mean in the log (0 where no mean is known); a column that
    had missing values in the log owns a second one, `column is missing`, which is 1 there.
    """

    columns: tuple[str, ...]
    categories: Mapping[str, tuple[Hashable, ...]]
    means: Mapping[str, float] = field(default_factory=dict, compare=False)  # encodings of one layout are equal
    indicated: tuple[str, ...] = ()  # the columns of numbers that say where they are missing

    @classmethod
    def of_numbers(cls, names: Iterable[str]) -> Encoding:
        """The encoding of columns that are numbers, and so stay what they are."""
        return cls(tuple(names), {})

    @cached_property
    def _parts(self) -> Mapping[str, tuple[str, ...]]:
        """What each column becomes."""
        return {column: self._encoded_names(column) for column in self.columns}

    def _encoded_names(self, column: str) -> tuple[str, ...]:
        if column in self.categories:
            return tuple(f"{column}={category}" for category in self.categories[column])
        return (column, f"{column} is missing") if column in self.indicated else (column,)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the encoded columns."""
        return tuple(name for column in self.columns for name in self._parts[column])

    @cached_property
    def owners(self) -> tuple[str, ...]:
        """The column that each encoded one belongs to, in the order of `names`."""
        return tuple(column for column in self.columns for _ in self._parts[column])

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Column of numbers -> the index of its encoded column: not of the categories, nor of what says "missing"."""
        first = {owner: j for j, owner in reversed(list(enumerate(self.owners)))}
        return {column: first[column] for column in self.columns if column not in self.categories}

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
                hint = guess_name(column, self.columns)
                raise OptionError(
                    f"decide_on names {column!r}, which is not a column of the log: {hint}{', '.join(self.columns)}"
                )
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

    def choose(self, columns: Sequence[str]) -> Encoding:
        """The encoding of these columns alone, in this order."""
        return Encoding(
            tuple(columns),
            {column: self.categories[column] for column in columns if column in self.categories},
            {column: self.means[column] for column in columns if column in self.means},
            tuple(column for column in columns if column in self.indicated),
        )

    def without(self, names: Collection[str]) -> Encoding:
        """The encoding without the columns of these names; an encoded one takes its whole column with it."""
        gone = self._owners_of(names)
        return self.choose([column for column in self.columns if column not in gone])

    def kept_without(self, names: Collection[str]) -> Integers:
        """The indices of the encoded columns that `without(names)` leaves."""
        gone = self._owners_of(names)
        return np.array([j for j, owner in enumerate(self.owners) if owner not in gone], dtype=np.int64)

    def _owners_of(self, names: Collection[str]) -> set[str]:
        return {self.owners[j] for name in names for j in self._named(name)}

    def encode(self, user: Mapping[str, Any] | ArrayLike) -> Floats:
        """One user as a vector; a mapping by column names, or numbers already in order.

        None and NaN are missing values, and are answered, and so are the texts that say so in a file ('', 'N/A')
        where they are no category of the log; so is a category that the log never showed. A column that is not given
        at all is an error, for a misspelt name must not pass for a missing value.
        """
        if not isinstance(user, Mapping):
            return check_context(user, len(self.names))
        self._check_columns(user)
        values: list[float] = []
        for column in self.columns:
            places = self._places.get(column)
            if places is None:
                number = as_number(column, user[column])
                values.append(self.means.get(column, 0.0) if number is None else number)
                if column in self.indicated:
                    values.append(float(number is None))
            else:
                ones = [0.0] * len(places)
                place = find_place(places, user[column])
                if place is not None:
                    ones[place] = 1.0
                values += ones
        return check_context(values, len(values))

    def surprises(self, user: Mapping[str, Any]) -> dict[str, Surprise]:
        """The columns of a user for which `encode` puts something else: "missing", or "unseen" categories."""
        self._check_columns(user)
        found: dict[str, Surprise] = {}
        for column in self.columns:
            places = self._places.get(column)
            if places is None:
                if as_number(column, user[column]) is None:
                    found[column] = "missing"
            else:
                surprise = find_surprise(places, user[column])
                if surprise is not None:
                    found[column] = surprise
        return found

    @cached_property
    def _places(self) -> Mapping[str, Mapping[Hashable, int]]:
        """Column -> category -> its place among the column's categories."""
        return {
            column: {category: place for place, category in enumerate(known)}
            for column, known in self.categories.items()
        }

    def _check_columns(self, user: Mapping[str, Any]) -> None:
        for name in user:
            if name not in self._parts:
                raise ContextError(f"unknown context column {name!r}; known: {', '.join(self.columns)}")
        for column in self.columns:
            if column not in user:
                raise ContextError(f"context column {column!r} is missing: None says that its value is not known")


def as_number(column: str, value: Any) -> float | None:
    """A value as a finite number; None where it is missing or infinite."""
    try:
        number = float(value)
    except OverflowError:
        return None
    except (TypeError, ValueError):
        if is_missing(value) or _is_marked(value):
            return None
        raise ContextError(f"context column {column!r} must be a number, got {value!r}") from None
    return number if math.isfinite(number) else None


def find_place(places: Mapping[Hashable, int], value: Any) -> int | None:
    """The place of a category; of "missing" or "other" where the value is none of them and there is such a level."""
    if _is_among(places, value):
        return places[value]
    return places.get(MISSING if is_gap(value) or _is_marked(value) else OTHER)


def find_surprise(places: Mapping[Hashable, int], value: Any) -> Surprise | None:
    """What is strange about a value where a category should be; None: it is one of them."""
    if is_gap(value):
        return "missing"
    if _is_among(places, value):
        return None
    return "missing" if _is_marked(value) else "unseen"


def _is_among(places: Mapping[Hashable, int], value: Any) -> bool:
    try:
        return value in places
    except TypeError:  # a list, say: of no category
        return False


def as_levels(labels: Collection[Hashable], has_missing: bool, has_other: bool = False) -> tuple[Hashable, ...]:
    """The categories of a column in their order, and the levels for what is missing and for the rest."""
    try:
        known = sorted(labels)  # type: ignore[type-var]  # of one column: they compare, or they do not
    except TypeError:
        known = list(labels)
    more = [level for level, is_there in ((MISSING, has_missing), (OTHER, has_other)) if is_there]
    return (*known, *(level for level in more if level not in labels))


def is_missing(value: Any) -> bool:
    """None, NaN, NaT, or pandas' NA, which will not say whether it equals itself."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return True


def is_gap(value: Any) -> bool:
    """Whether a category is missing: also an empty text is no category."""
    return is_missing(value) or (isinstance(value, str) and value == "")


def _is_marked(value: Any) -> bool:
    """Whether a live value is a text that would have been read as missing from a file."""
    return isinstance(value, str) and value.strip() in MISSING_MARKS
