"""The labels of a log: its actions, and the categories of contexts that are not numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from headstart.errors import LogError
from headstart.logs.encoding import Encoding
from headstart.logs.tables.canonical import distinct_values
from headstart.logs.tables.columns import Asked, Roles
from headstart.logs.tables.expressions import Schema
from headstart.logs.tables.faults import Counted
from headstart.logs.tables.sources.opened import Opened

if TYPE_CHECKING:
    import ibis.expr.datatypes as dt
    import ibis.expr.types as ir

MOST_ACTIONS = 1_000
MOST_CATEGORIES = 200
_MARGIN = 5  # a sketch that says this many times the limit cannot be wrong about it
_MOST_COUNTED = 1_000_000  # labels that are worth counting exactly for a message


def label_columns(schema: Schema, roles: Roles) -> list[str]:
    """The columns whose values are labels: the action, and contexts of text or truth values."""
    return [roles.action, *(name for name in roles.adjusted if not schema[name].is_numeric())]


def too_varied(rows: ir.Table, roles: Roles, asked: Asked, counted: Counted, place: str) -> dict[str, str]:
    """Text contexts of too many values: an error for those that were named, otherwise left out and said."""
    action = roles.action
    if counted.about_distinct[action] > _MARGIN * MOST_ACTIONS:
        _refuse_actions(_count(rows, action, counted), action, place)
    left_out = {}
    for name, about in counted.about_distinct.items():
        if name != action and about > _MARGIN * MOST_CATEGORIES:
            left_out[name] = _refuse_categories(_count(rows, name, counted), name, roles, place)
    return left_out


def read_labels(
    rows: ir.Table, opened: Opened, schema: Schema, roles: Roles, asked: Asked
) -> tuple[tuple[Hashable, ...], Mapping[str, tuple[Hashable, ...]], dict[str, str]]:
    """(action names, categories of each column that has them, columns left out for too many): the second pass."""
    values = distinct_values(rows, label_columns(schema, roles))
    action = roles.action
    kind = schema[action]
    if not (kind.is_numeric() or kind.is_boolean() or kind.is_string()):
        raise LogError(f"{opened.place}: the action column {action!r} must be text or numbers, it is {kind}")
    seen = {_as_label(value) for value in values[action]}
    if len(seen) > MOST_ACTIONS:
        _refuse_actions(f"{len(seen):,}", action, opened.place)
    if asked.action_names is not None:
        _check_known(rows, action, seen, asked.action_names, opened.place)
        names = asked.action_names
    else:
        declared = opened.labels if action == opened.roles.get("action") else ()
        names = _in_order(seen | {_like(label, kind) for label in declared if _fits(label, kind)})
    categories, left_out = {}, {}
    for name, found in values.items():
        if name == action:
            continue
        if len(found) > MOST_CATEGORIES:
            left_out[name] = _refuse_categories(f"{len(found):,}", name, roles, opened.place)
        else:
            categories[name] = _in_order(set(found))
    return names, categories, left_out


def as_encoding(roles: Roles, categories: Mapping[str, tuple[Hashable, ...]]) -> tuple[Encoding, tuple[str, ...]]:
    """How the columns become numbers, and the encoded names of those to decide on."""
    used = {name: categories[name] for name in roles.adjusted if name in categories}
    decided = Encoding(roles.contexts, {name: used[name] for name in roles.contexts if name in used})
    return Encoding(roles.adjusted, used), decided.names


def _refuse_actions(n: str, column: str, place: str) -> None:
    raise LogError(
        f"{place}: column {column!r} has {n} distinct actions, and at most {MOST_ACTIONS:,} are read: is it the "
        "action? give action=, or keep the actions you can choose between with where= or in the source"
    )


def _refuse_categories(n: str, column: str, roles: Roles, place: str) -> str:
    why = f"text with {n} distinct values, more than {MOST_CATEGORIES}"
    if roles.are_contexts_given or column in roles.confounders:
        raise LogError(f"{place}: context column {column!r} is {why}; group them in the source, or leave it out")
    return why


def _count(rows: ir.Table, column: str, counted: Counted) -> str:
    """How many values, exactly where that is cheap."""
    about = counted.about_distinct[column]
    if about > _MOST_COUNTED:
        return f"about {about:,}"
    return f"{rows.aggregate(n=rows[column].nunique()).to_pyarrow()['n'][0].as_py():,}"


def _check_known(rows: ir.Table, column: str, seen: set[Hashable], names: Sequence[Hashable], place: str) -> None:
    unknown = seen - set(names)
    if not unknown:
        return
    labels = _in_order(unknown)[:5]
    counts = {label: rows.filter(rows[column] == label).count().to_pyarrow().as_py() for label in labels}
    listed = ", ".join(f"{label!r} ({n:,} rows)" for label, n in counts.items())
    more = f" and {len(unknown) - 5:,} more" if len(unknown) > 5 else ""
    raise LogError(f"{place}: column {column!r} has actions that are not in action_names: {listed}{more}")


def _as_label(value: object) -> Hashable:
    """Whole numbers as int, also where a missing value has made a column of floats."""
    if isinstance(value, bool | str | int):
        return value
    number = float(value)  # type: ignore[arg-type]  # a column of other numbers, decimals among them
    return int(number) if number.is_integer() else number


def _fits(label: Hashable, kind: dt.DataType) -> bool:
    try:
        _like(label, kind)
    except ValueError:
        return False
    return True


def _like(label: Hashable, kind: dt.DataType) -> Hashable:
    """A label of a format (text, or an index) as the action column would have it."""
    if kind.is_string():
        return str(label)
    return _as_label(float(label)) if kind.is_numeric() else label  # type: ignore[arg-type]


def _in_order(labels: Iterable[Hashable]) -> tuple[Hashable, ...]:
    return tuple(sorted(labels))  # type: ignore[type-var]  # of one column: they compare
