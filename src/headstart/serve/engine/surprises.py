"""Surprises: live users with a column that is null, or has a category that was never declared. They are answered.

The decision's event keeps what came and names these columns, so what a policy makes of a user is a matter of events.
A number that is missing is seen as the middle of its column (of the log, of its range, or 0) and, where the log had
missing ones, as missing; a category that is missing or unknown as the log's level for such, or as none. A category
that was known when it came, and is no longer declared, is no surprise: such an outcome is not learnt by a policy that
has no column for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from headstart.errors import ContextError
from headstart.logs.encoding import Encoding, Surprise
from headstart.serve.columns import Category
from headstart.serve.engine.binding import Binding
from headstart.serve.engine.bounds import Bounds
from headstart.serve.store.events import Context, Value

NONE: Mapping[str, str] = {}

LONGEST_CATEGORY = 200  # characters of a category that nobody declared: events keep it
CATEGORY_PATTERN = r"^[^\x00-\x1f\x7f]*$"  # no control characters, as in the specification
LARGEST_WHOLE = 1 << 63


class Seen(NamedTuple):
    """A user's columns, checked, and which of them are surprising."""

    context: Context
    surprises: dict[str, Surprise]


def check_unseen(column: str, value: object, known: tuple[Category, ...]) -> Value:
    """A category that was never declared, of a type that a declared one has; refused if it cannot be recorded."""
    if type(value) in {type(category) for category in known}:
        if isinstance(value, str) and _can_be_kept(value):
            return value
        if isinstance(value, int) and -LARGEST_WHOLE <= value < LARGEST_WHOLE:
            return value
    raise ContextError(f"context column {column!r} has no category {value!r:.80}; known: {list(known)}")


def _can_be_kept(text: str) -> bool:
    """Whether an event can keep it: short, no control characters, and no half of a pair that JSON has no word for."""
    is_whole = not any("\ud800" <= letter <= "\udfff" for letter in text)
    return len(text) <= LONGEST_CATEGORY and is_whole and re.match(CATEGORY_PATTERN, text) is not None


def check_expected(encoding: Encoding, context: Mapping[str, object], surprises: Mapping[str, str]) -> None:
    """Every value is one that the columns have, but for those that were surprising when they came."""
    for column in encoding.columns:
        if column in surprises:
            continue
        known, value = encoding.categories.get(column), context.get(column)
        if value is None or (known is not None and value not in known):
            raise ContextError(f"context column {column!r} cannot be {value!r:.80}")


def take_middles(encoding: Encoding, bounds: Bounds, binding: Binding) -> Encoding:
    """The encoding in which a missing number is the mean of the log on record, the middle of its range, or 0."""
    middles: dict[str, float] = {}
    for column in encoding.numbers:
        low, high = bounds.columns.get(column, (0.0, 0.0))
        middles[column] = binding.centres.get(column, low + (high - low) / 2.0)
    return replace(encoding, means=middles)
