"""Columns that name somebody or something: by what they are called, and how many labels a column may have."""

from __future__ import annotations

import re

MOST_CATEGORIES = 200  # of one column: each becomes a column of numbers
_IDENTIFIER = re.compile(
    r"(.*_)?(id|ids|uid|uuid|guid)"
    r"|(user|session|customer|visitor|member|account|person|patient|device|cookie|household|client|order|event|request)"
    r"(id|number)|index|unnamed_.*|column0*|"
)


def plain_name(name: str) -> str:
    """A column's name as names are compared: `User ID`, `userId` and `user_id` are one."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"\W+", "_", parted.casefold())


def is_identifier(name: str) -> bool:
    """Whether a column names rows or people, by what it is called: `session_id`, `uuid`, `userId`."""
    return _IDENTIFIER.fullmatch(plain_name(name)) is not None
