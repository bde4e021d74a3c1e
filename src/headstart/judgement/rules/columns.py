"""Raw columns and the questions that a tree asks of them: of numbers by thresholds, of categories by lists."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.logs.encoding import MISSING, OTHER, Encoding


@dataclass(frozen=True)
class AtMost:
    """Whether a number is at most so large. A missing one, or one that is not finite, is `fill`: the log's mean."""

    column: str
    most: float
    fill: float


@dataclass(frozen=True)
class IsMissing:
    """Whether a number is missing, or not finite."""

    column: str


@dataclass(frozen=True)
class IsAmong:
    """Whether a category is one of `levels`. "missing" and "other", where the log has such levels, mean a value that
    is missing, or that is none of `known`; otherwise those are among none."""

    column: str
    levels: tuple[Hashable, ...]
    known: tuple[Hashable, ...]  # all levels of the column

    @property
    def holds_missing(self) -> bool:
        """Whether a missing value answers yes."""
        return MISSING in self.levels

    @property
    def holds_unseen(self) -> bool:
        """Whether a value that is none of the levels answers yes."""
        return OTHER in self.levels


Question = AtMost | IsMissing | IsAmong


def answer(question: Question, contexts: Floats, encoding: Encoding) -> Bools:
    """Yes or no for every row of encoded contexts, (n,)."""
    first = encoding.owners.index(question.column)
    if isinstance(question, AtMost):
        return np.asarray(contexts[:, first] <= question.most)
    if isinstance(question, IsMissing):
        return np.asarray(contexts[:, first + 1] > 0.5)
    places = [first + question.known.index(level) for level in question.levels]
    return np.asarray((contexts[:, places] > 0.5).any(axis=1))


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers; the mark of a missing one is a column of its own kind."""

    column: str
    values: Floats  # (n,)
    fill: float
    is_mark: bool  # the values say whether the number is missing: 1 or 0

    def ask(self, below: float, above: float) -> Question:
        """The question that parts these two neighbouring values."""
        if self.is_mark:
            return IsMissing(self.column)
        return AtMost(self.column, round_between(below, above), self.fill)


@dataclass(frozen=True, eq=False)
class Categories:
    """A column of categories: the place of each row's among the levels, their number for none of them."""

    column: str
    places: Integers  # (n,)
    levels: tuple[Hashable, ...]

    def ask(self, places: Integers) -> IsAmong:
        """Whether it is one of the levels at these places."""
        return IsAmong(self.column, tuple(self.levels[place] for place in sorted(places.tolist())), self.levels)


def raw_columns(contexts: Floats, encoding: Encoding, looked_at: Integers) -> list[Numbers | Categories]:
    """The raw columns behind those encoded ones that are looked at."""
    owners = dict.fromkeys(encoding.owners[j] for j in looked_at.tolist())
    found: list[Numbers | Categories] = []
    for column in owners:
        first = encoding.owners.index(column)
        if column in encoding.categories:
            levels = encoding.categories[column]
            ones = contexts[:, first : first + len(levels)] > 0.5
            places = np.where(ones.any(axis=1), ones.argmax(axis=1), len(levels))
            found.append(Categories(column, places, levels))
            continue
        fill = float(encoding.means.get(column, 0.0))
        found.append(Numbers(column, contexts[:, first], fill, is_mark=False))
        if column in encoding.indicated:
            found.append(Numbers(column, contexts[:, first + 1], fill, is_mark=True))
    return found


def round_between(below: float, above: float) -> float:
    """The number of fewest digits that is at least `below` and less than `above`."""
    middle = below + (above - below) / 2.0
    for digits in range(1, 18):
        rounded = float(f"{middle:.{digits}g}")
        if below <= rounded < above:
            return rounded
    return below
