"""The columns that users come with: numbers, perhaps of a declared range, and categories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from headstart.checks import check_number
from headstart.errors import OptionError
from headstart.estimates.outliers import Range
from headstart.serve.tables import check_keys, check_table, is_list

Category: TypeAlias = str | int | bool
Kind: TypeAlias = str | tuple[Category, ...]  # "number" or the categories


def read_columns(at: str, table: object) -> tuple[dict[str, Kind], dict[str, Range]]:
    """What each column is, and the ranges of the numbers that declare one."""
    kinds: dict[str, Kind] = {}
    ranges: dict[str, Range] = {}
    for column, declared in check_table(at, table).items():
        if declared == "number":
            kinds[column] = "number"
        elif isinstance(declared, Mapping):
            check_keys(f"{at}.{column}", declared, ("range",))
            kinds[column], ranges[column] = "number", read_range(f"{at}.{column}.range", declared.get("range"))
        else:
            kinds[column] = _read_categories(f"{at}.{column}", declared)
    return kinds, ranges


def _read_categories(at: str, declared: object) -> tuple[Category, ...]:
    categories = [each for each in declared if isinstance(each, str | int | bool)] if is_list(declared) else []
    if not is_list(declared) or not declared or len(categories) < len(declared):
        raise OptionError(
            f'{at} must be "number", {{ range = [low, high] }} or a list of categories, got {declared!r}'
        )
    if len({str(category) for category in categories}) < len(categories):
        raise OptionError(f"{at} must have different categories, got {categories}")
    return tuple(categories)


def read_range(at: str, declared: object) -> Range:
    """Two numbers, the lower one first."""
    if not is_list(declared) or len(declared) != 2:
        raise OptionError(f"{at} must be [low, high], got {declared!r}")
    low, high = (check_number(at, end) for end in declared)
    if not low < high:
        raise OptionError(f"{at} must be [low, high] with low below high, got {list(declared)}")
    return low, high
