"""Tables of a configuration: what stands in them is checked where it is read, and an error names its key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeGuard

from headstart.checks import guess_name
from headstart.errors import OptionError

Table: TypeAlias = Mapping[str, object]
_WHOLE = 1 << 63


def check_table(at: str, value: object) -> Table:
    """A table, whatever it holds."""
    if not isinstance(value, Mapping):
        raise OptionError(f"{at} must be a table, got {value!r}")
    return value


def check_keys(at: str, table: Table, known: Sequence[str]) -> None:
    """No setting besides the known ones."""
    for key in table:
        if key not in known:
            raise OptionError(f"{at} has no setting {key!r}; {guess_name(key, known)}known: {', '.join(known)}")


def check_wholes(at: str, value: object) -> None:
    """No whole number, however deep, that JSON's readers and the store would not take: TOML knows no limit."""
    if isinstance(value, int) and not -_WHOLE <= value < _WHOLE:
        raise OptionError(f"{at} must be below 2^63, got {value}")
    if isinstance(value, Mapping):
        for key, each in value.items():
            check_wholes(f"{at}.{key}" if at else key, each)
    elif is_list(value):
        for each in value:
            check_wholes(at, each)


def is_list(value: object) -> TypeGuard[Sequence[object]]:
    """Of what is still to be checked one by one."""
    return isinstance(value, Sequence) and not isinstance(value, str)
