"""Which column plays which role: named by the caller, or recognised by a name in common use."""

from __future__ import annotations

import difflib
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from headstart.errors import LogError, OptionError

ALIASES: Mapping[str, tuple[str, ...]] = {
    "action": (
        "action", "actions", "a", "arm", "treatment", "variant", "ad", "ad_id", "item", "item_id", "article",
        "article_id", "action_id", "arm_id", "chosen_action", "logged_action",
    ),
    "outcome": (
        "outcome", "outcomes", "reward", "rewards", "y", "click", "clicked", "is_click", "is_clicked", "converted",
        "conversion", "is_converted", "response", "payoff",
    ),
    "propensity": (
        "propensity", "propensities", "propensity_score", "pscore", "p_score", "p", "prob", "probability",
        "action_prob", "action_probability", "logging_prob", "logging_probability",
    ),
    "timestamp": ("timestamp", "ts", "time", "datetime", "event_time", "logged_at", "created_at"),
    "id": (
        "id", "event_id", "eventid", "row_id", "request_id", "decision_id", "impression_id", "uuid", "guid",
    ),
}  # fmt: skip
_REQUIRED = ("action", "outcome")
_IDENTIFIER = re.compile(r"(.*_)?(id|ids|uuid|guid)|index|unnamed_.*|column0*|")


@dataclass(frozen=True)
class Asked:
    """What the caller said of the columns; None leaves it to the names, False (or an empty list) means none."""

    action: str | None = None
    outcome: str | None = None
    propensity: str | Literal[False] | None = None
    timestamp: str | Literal[False] | None = None
    id: str | Literal[False] | None = None
    contexts: tuple[str, ...] | None = None
    confounders: tuple[str, ...] = ()
    action_names: tuple[Hashable, ...] | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    missing: Literal["drop", "error"] = "drop"

    def __post_init__(self) -> None:
        if self.missing not in ("drop", "error"):
            raise OptionError(f"missing must be 'drop' or 'error', got {self.missing!r}")
        if self.action_names is not None and len(set(self.action_names)) != len(self.action_names):
            raise LogError(f"action_names must differ, got {self.action_names!r}")
        for role in _REQUIRED:
            if getattr(self, role) is False:
                raise OptionError(f"{role} must be the name of a column: a log needs one")

    def named(self) -> list[str]:
        """Every column that the caller gave a role."""
        roles = [getattr(self, role) for role in ALIASES]
        return [name for name in (*roles, *(self.contexts or ()), *self.confounders) if name]


@dataclass(frozen=True)
class Roles:
    """The column of each role, and the ones that decide and adjust."""

    columns: Mapping[str, str]  # role -> column; optional roles may be absent
    recognised: tuple[str, ...]  # roles that were found by name, not given
    contexts: tuple[str, ...]
    confounders: tuple[str, ...]
    left_out: Mapping[str, str]  # column -> why
    are_contexts_given: bool

    def __getattr__(self, role: str) -> str | None:
        if role in ALIASES:
            return self.columns.get(role)
        raise AttributeError(role)

    @property
    def adjusted(self) -> tuple[str, ...]:
        """All columns of the log's contexts: those to decide on, then those only to adjust for."""
        return (*self.contexts, *self.confounders)

    def without(self, left_out: Mapping[str, str]) -> Roles:
        """The same roles with these contexts left out."""
        return Roles(
            self.columns,
            self.recognised,
            tuple(name for name in self.contexts if name not in left_out),
            self.confounders,
            {**self.left_out, **left_out},
            self.are_contexts_given,
        )


def find_roles(
    schema: Mapping[str, Any],
    asked: Asked,
    known: Mapping[str, str] | None = None,
    contexts: Sequence[str] | None = None,
) -> Roles:
    """The role of every column of a table.

    `known` and `contexts` are what the source itself says (a Vowpal Wabbit file knows its action); the caller's
    word goes before it, and a name in common use comes last. Two candidates for a role are never chosen between:
    for an action, an outcome or a propensity that is an error, a time or an id is then not used, and said.
    """
    known = known or {}
    names = list(schema)
    for name in (*asked.named(), *asked.where):
        check_column(name, names)
    taken = set(asked.named()) | {known[role] for role in known if getattr(asked, role) is None}
    columns: dict[str, str] = {}
    recognised: list[str] = []
    left_out: dict[str, str] = {}
    for role in ALIASES:
        given = getattr(asked, role)
        if given is False:
            continue
        if given or role in known:
            columns[role] = given or known[role]
            if not given:
                recognised.append(role)
            continue
        found = [name for name in names if _plain(name) in ALIASES[role] and name not in taken]
        if len(found) > 1 and role in (*_REQUIRED, "propensity"):
            way = "" if role in _REQUIRED else ", or propensity=False"
            raise LogError(f"{_listed(found)} may each be the {role}: say which with {role}={found[0]!r}{way}")
        if len(found) > 1:
            left_out |= {
                name: f"{_listed(found)} may each be the {role}; {role}={found[0]!r} would choose" for name in found
            }
        elif found:
            columns[role] = found[0]
            recognised.append(role)
            taken.add(found[0])
        elif role in _REQUIRED:
            raise LogError(f"no column looks like the {role}: give {role}=, one of {', '.join(map(str, names))}")
    _check_used_once(columns)
    spare = [name for name in names if name not in columns.values() and name not in left_out]
    chosen = list(asked.contexts if asked.contexts is not None else contexts if contexts is not None else [])
    if asked.contexts is None:
        chosen = [name for name in chosen if name in spare and name not in asked.confounders]
        if contexts is None:
            chosen, reasons = _choose_contexts(spare, schema, asked)
            left_out |= reasons
    for name in (*chosen, *asked.confounders):
        if name in columns.values():
            role = next(role for role in columns if columns[role] == name)
            raise LogError(f"column {name!r} is the {role}: it cannot be a context too")
        if not is_usable(schema[name]):
            raise LogError(f"context column {name!r} must be numbers, booleans or text, it is {schema[name]}")
    extra = tuple(name for name in asked.confounders if name not in chosen)
    for group, what in ((chosen, "contexts"), (asked.confounders, "confounders")):
        if len(set(group)) != len(group):
            raise LogError(f"{what} must differ, got {_listed(list(group))}")
    return Roles(columns, tuple(recognised), tuple(chosen), extra, left_out, asked.contexts is not None)


def check_column(name: str, names: Sequence[str]) -> str:
    """The name of a column that exists; otherwise an error with the nearest."""
    if name in names:
        return name
    near = difflib.get_close_matches(str(name), [str(known) for known in names], n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise LogError(f"there is no column {name!r}; {hint}columns: {', '.join(map(str, names))}")


def check_names(names: Sequence[Any], place: str) -> None:
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


def is_usable(kind: Any) -> bool:
    """Whether a column of this Ibis type can be a context."""
    return kind.is_numeric() or kind.is_boolean() or is_text(kind)


def is_text(kind: Any) -> bool:
    return kind.is_string() or kind.is_json()


def _choose_contexts(
    spare: Sequence[str], schema: Mapping[str, Any], asked: Asked
) -> tuple[list[str], dict[str, str]]:
    """Without a word from the caller: every other column that can be one and is not an identifier by its name."""
    chosen, left_out = [], {}
    for name in spare:
        if name in asked.confounders or name in asked.where:
            continue
        if _IDENTIFIER.fullmatch(_plain(name)):
            left_out[name] = "an identifier by its name"
        elif any(_plain(name) in names for names in ALIASES.values()):
            left_out[name] = "a role's name that was not asked for"
        elif not is_usable(schema[name]):
            left_out[name] = f"neither numbers, booleans nor text, but {schema[name]}"
        else:
            chosen.append(name)
    return chosen, left_out


def _check_used_once(columns: Mapping[str, str]) -> None:
    for role, name in columns.items():
        for other in columns:
            if other != role and columns[other] == name:
                raise LogError(f"column {name!r} is given as the {role} and as the {other}")


def _plain(name: str) -> str:
    return re.sub(r"\W+", "_", name.strip().casefold())


def _listed(names: Sequence[str]) -> str:
    quoted = [repr(name) for name in names]
    return " and ".join(", ".join(quoted).rsplit(", ", 1)) if len(quoted) > 1 else "".join(quoted)
