"""Which column plays which role: named by the caller, or recognised by a name in common use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headstart.checks import guess_name
from headstart.errors import LogError
from headstart.logs.identifiers import is_identifier, plain_name
from headstart.logs.tables.asked import ALIASES, REQUIRED, Asked
from headstart.logs.tables.expressions import Schema

if TYPE_CHECKING:
    import ibis.expr.datatypes as dt

IDENTIFIER_BY_NAME = "an identifier by its name"


@dataclass(frozen=True)
class Roles:
    """The column of each role, and the ones that decide and adjust."""

    columns: Mapping[str, str]  # role -> column; optional roles may be absent
    recognised: tuple[str, ...]  # roles that were found by name, not given
    contexts: tuple[str, ...]
    confounders: tuple[str, ...]
    left_out: Mapping[str, str]  # column -> why
    are_contexts_given: bool

    @property
    def action(self) -> str:
        return self.columns["action"]

    @property
    def outcome(self) -> str:
        return self.columns["outcome"]

    @property
    def propensity(self) -> str | None:
        return self.columns.get("propensity")

    @property
    def timestamp(self) -> str | None:
        return self.columns.get("timestamp")

    @property
    def id(self) -> str | None:
        return self.columns.get("id")

    @property
    def unit(self) -> str | None:
        return self.columns.get("unit")

    @property
    def adjusted(self) -> tuple[str, ...]:
        """All columns of the log's contexts: those to decide on, then those only to adjust for."""
        return (*self.contexts, *self.confounders)

    def is_asked_for(self, name: str) -> bool:
        """Whether the caller named this context, or it only was there."""
        return self.are_contexts_given or name in self.confounders

    def without(self, left_out: Mapping[str, str]) -> Roles:
        """The same roles with these contexts left out."""
        contexts = tuple(name for name in self.contexts if name not in left_out)
        return replace(self, contexts=contexts, left_out={**self.left_out, **left_out})

    def without_role(self, role: str) -> Roles:
        """The same without this role's column."""
        return replace(self, columns={other: name for other, name in self.columns.items() if other != role})

    def give_up(self, role: str, why: str, *, is_context: bool = False) -> Roles:
        """The same without a role that was only guessed; its column is left out, or a context like any other."""
        name = self.columns[role]
        rest = replace(self.without_role(role), recognised=tuple(each for each in self.recognised if each != role))
        if is_context and not self.are_contexts_given:
            return replace(rest, contexts=(*rest.contexts, name))
        return rest.without({name: why})


def find_roles(
    schema: Schema,
    asked: Asked,
    known: Mapping[str, str] | None = None,
    contexts: Sequence[str] | None = None,
) -> Roles:
    """The role of every column of a table.

    `known` and `contexts` are what the source itself says (a Vowpal Wabbit file knows its action); the caller's
    word goes before it, and a name in common use comes last. Two candidates for a role are never chosen between:
    for an action, an outcome or a propensity that is an error, a time, an id or a unit is then not used, and said.
    """
    names = list(schema)
    for name in (*asked.named(), *asked.where):
        check_column(name, names)
    columns, recognised, left_out = _name_roles(names, asked, known or {})
    spare = [name for name in names if name not in columns.values() and name not in left_out]
    chosen, reasons = _choose_contexts(spare, schema, asked, contexts)
    _check_contexts(chosen, asked.confounders, columns, schema)
    extra = tuple(name for name in asked.confounders if name not in chosen)
    return Roles(columns, recognised, tuple(chosen), extra, left_out | reasons, asked.contexts is not None)


def _name_roles(
    names: Sequence[str], asked: Asked, known: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...], dict[str, str]]:
    """(role -> column, the roles that nobody gave, columns that may be a role and are therefore left out)."""
    taken = set(asked.named()) | {known[role] for role in known if asked.given(role) is None}
    columns: dict[str, str] = {}
    recognised: list[str] = []
    left_out: dict[str, str] = {}
    for role in ALIASES:
        given = asked.given(role)
        if given is False:
            continue
        column = given or known.get(role)
        if column is None:
            free = [name for name in names if name not in taken and (role != "unit" or name not in asked.where)]
            column, unclear = _recognise(role, free, names)
            left_out |= unclear
        if column is not None:
            columns[role] = column
            taken.add(column)
            if not given:
                recognised.append(role)
    _check_used_once(columns)
    return columns, tuple(recognised), left_out


def _recognise(role: str, free: Sequence[str], names: Sequence[str]) -> tuple[str | None, dict[str, str]]:
    """The one column with a name in common use for the role; or, where two have one, why neither is used."""
    found = [name for name in free if plain_name(name) in ALIASES[role]]
    if role == "unit":  # beside customer_id, a column customer is whatever it is
        found = [name for name in found if is_identifier(name)] or found
    if len(found) == 1:
        return found[0], {}
    if not found and role in REQUIRED:
        raise LogError(f"no column looks like the {role}: give {role}=, one of {', '.join(map(str, names))}")
    if found and role in (*REQUIRED, "propensity"):
        way = "" if role in REQUIRED else ", or propensity=False"
        raise LogError(f"{_listed(found)} may each be the {role}: say which with {role}={found[0]!r}{way}")
    why = f"{_listed(found)} may each be the {role}; {role}={found[0]!r} would choose" if found else ""
    return None, dict.fromkeys(found, why)


def _check_contexts(
    chosen: Sequence[str], confounders: Sequence[str], columns: Mapping[str, str], schema: Schema
) -> None:
    for name in (*chosen, *confounders):
        if name in columns.values():
            role = next(role for role in columns if columns[role] == name)
            raise LogError(f"column {name!r} is the {role}: it cannot be a context too")
        if not is_usable(schema[name]):
            raise LogError(f"context column {name!r} must be numbers, booleans or text, it is {schema[name]}")
    for group, what in ((chosen, "contexts"), (confounders, "confounders")):
        if len(set(group)) != len(group):
            raise LogError(f"{what} must differ, got {_listed(list(group))}")


def check_column(name: str, names: Sequence[str], what: str = "column") -> str:
    """The name of a column (or table) that exists; otherwise an error with the nearest."""
    if name in names:
        return name
    raise LogError(f"there is no {what} {name!r}; {guess_name(name, names)}{what}s: {', '.join(map(str, names))}")


def check_names(names: Sequence[object], place: str) -> None:
    """Column names that differ, also for a database to which A and a are the same."""
    seen: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str):
            raise LogError(f"{place}: column names must be text, got {name!r}")
        before = seen.get(name.casefold())
        if before == name:
            raise LogError(f"{place}: the column {name!r} is named twice; rename one of them")
        if before is not None:
            raise LogError(f"{place}: the columns {before!r} and {name!r} differ only in case; rename one of them")
        seen[name.casefold()] = name


def is_usable(kind: dt.DataType) -> bool:
    """Whether a column of this Ibis type can be a context."""
    return bool(kind.is_numeric() or kind.is_boolean()) or is_text(kind)


def is_text(kind: dt.DataType) -> bool:
    return bool(kind.is_string() or kind.is_json())


def _choose_contexts(
    spare: Sequence[str], schema: Schema, asked: Asked, contexts: Sequence[str] | None
) -> tuple[list[str], dict[str, str]]:
    """The columns to decide on, and why others are not: the caller's, the source's, or all that can be one.

    Without a word from either that is every other column that is not an identifier by its name.
    """
    if asked.contexts is not None:
        return list(asked.contexts), {}
    if contexts is not None:
        return [name for name in contexts if name in spare and name not in asked.confounders], {}
    chosen, left_out = [], {}
    for name in spare:
        if name in asked.confounders or name in asked.where:
            continue
        if is_identifier(name):
            left_out[name] = IDENTIFIER_BY_NAME
        elif any(plain_name(name) in names for role, names in ALIASES.items() if role != "unit"):
            left_out[name] = "a role's name that was not asked for"
        elif schema[name].is_null() or "NULL" in str(schema[name]):  # what DuckDB calls a column without a value
            left_out[name] = "missing in every row"
        elif not is_usable(schema[name]):
            left_out[name] = f"it is of the kind {schema[name]}, and a context is a number, true or false, or text"
        else:
            chosen.append(name)
    return chosen, left_out


def _check_used_once(columns: Mapping[str, str]) -> None:
    for role, name in columns.items():
        for other in columns:
            if other != role and columns[other] == name:
                raise LogError(f"column {name!r} is given as the {role} and as the {other}")


def _listed(names: Sequence[str]) -> str:
    quoted = [repr(name) for name in names]
    return " and ".join(", ".join(quoted).rsplit(", ", 1)) if len(quoted) > 1 else "".join(quoted)
