"""The labels of a log: its actions, and the categories of contexts that are not numbers."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headstart.errors import LogError
from headstart.logs.encoding import Encoding, as_levels, is_gap
from headstart.logs.identifiers import MOST_CATEGORIES
from headstart.logs.tables.asked import Asked
from headstart.logs.tables.canonical import distinct_values
from headstart.logs.tables.columns import Roles
from headstart.logs.tables.expressions import Schema
from headstart.logs.tables.faults import Counted
from headstart.logs.tables.gaps import Gaps, missing_in
from headstart.logs.tables.sources.opened import Opened

if TYPE_CHECKING:
    import ibis.expr.datatypes as dt
    import ibis.expr.types as ir

MOST_ACTIONS = 1_000
_MARGIN = 5  # a sketch that says this many times the limit cannot be wrong about it
_MOST_COUNTED = 1_000_000  # labels that are worth counting exactly for a message
_OF_THEIR_OWN = 0.5  # a share of different values beyond which a text names rows, and has no common values


def label_columns(schema: Schema, roles: Roles) -> list[str]:
    """The columns whose values are labels: the action, and contexts of text or truth values."""
    return [roles.action, *(name for name in roles.adjusted if not schema[name].is_numeric())]


def too_varied(rows: ir.Table, roles: Roles, counted: Counted, place: str) -> dict[str, str]:
    """Text contexts of too many values, left out and said; one that was asked for stays, if its values come again."""
    action = roles.action
    if counted.about_distinct[action] > _MARGIN * MOST_ACTIONS:
        _refuse_actions(_count(rows, action, counted), action, place)
    left_out = {}
    for name in roles.adjusted:
        about = counted.about_distinct.get(name, 0)
        if about <= _MARGIN * MOST_CATEGORIES or counted.spreads.get(name) is not None:
            continue
        if not roles.is_asked_for(name):
            left_out[name] = _too_many(_count(rows, name, counted))
        elif about > _OF_THEIR_OWN * counted.n_rows:
            _refuse_categories(_count(rows, name, counted), name, place)
    return left_out


def read_labels(
    rows: ir.Table, opened: Opened, schema: Schema, roles: Roles, asked: Asked, counted: Counted
) -> tuple[tuple[Hashable, ...], Mapping[str, Labels], dict[str, str]]:
    """(action names, labels of each column that has them, columns left out for too many): the second pass."""
    wide = [name for name in roles.adjusted if counted.about_distinct.get(name, 0) > _MARGIN * MOST_CATEGORIES]
    columns = [name for name in label_columns(schema, roles) if name not in wide]
    values = {**counted.labels, **distinct_values(rows, [name for name in columns if name not in counted.labels])}
    names = read_actions(rows, opened, schema, roles, asked, values[roles.action])
    found: dict[str, Labels] = {}
    left_out: dict[str, str] = {}
    for name in label_columns(schema, roles)[1:]:
        labels = None if name in wide else _without_gaps(values[name], schema[name])
        if labels is not None and len(labels) <= MOST_CATEGORIES:
            found[name] = Labels(labels)
        elif roles.is_asked_for(name):
            if labels is not None and len(labels) > _OF_THEIR_OWN * counted.n_rows:
                _refuse_categories(f"{len(labels):,}", name, opened.place)
            found[name] = Labels(_common_values(rows, schema, name), has_others=True)
        else:
            left_out[name] = _too_many(f"{len(labels or ()):,}")
    return names, found, left_out


def read_actions(
    rows: ir.Table, opened: Opened, schema: Schema, roles: Roles, asked: Asked, values: Iterable[object]
) -> tuple[Hashable, ...]:
    """The names of the actions, in their order; `values` are those that the rows have."""
    action = roles.action
    kind = schema[action]
    if not can_be_labels(kind):
        raise LogError(f"{opened.place}: the action column {action!r} must be text or numbers, it is {kind}")
    seen = {as_label(value) for value in values}
    if len(seen) > MOST_ACTIONS:
        _refuse_actions(f"{len(seen):,}", action, opened.place)
    if asked.action_names is not None:
        _check_known(rows, action, seen, asked.action_names, opened.place)
        return asked.action_names
    declared = opened.labels if action == opened.roles.get("action") else ()
    return _in_order(seen | {_like(label, kind) for label in declared if _fits(label, kind)})


def can_be_labels(kind: dt.DataType) -> bool:
    """Whether values of this type name actions."""
    return bool(kind.is_numeric() or kind.is_boolean() or kind.is_string())


def _without_gaps(values: Iterable[Hashable], kind: dt.DataType) -> set[Hashable]:
    return {value for value in values if not is_gap(value) and not (kind.is_json() and value == "null")}


def _common_values(rows: ir.Table, schema: Schema, name: str) -> set[Hashable]:
    """The most common values of a column, and of equally common ones the first; the others become one level."""
    import ibis

    known = rows.filter(~missing_in(name, schema[name])(rows)).select(value=rows[name])
    counted = known.group_by("value").aggregate(n=known.count())
    common = counted.order_by(ibis.desc("n"), "value").limit(MOST_CATEGORIES - 1)
    return set(common.to_pyarrow()["value"].to_pylist())


@dataclass(frozen=True)
class Labels:
    """The categories of a context."""

    known: Collection[Hashable]
    has_others: bool = False  # there are more, which become one level


def as_encoding(roles: Roles, labels: Mapping[str, Labels], gaps: Gaps) -> tuple[Encoding, tuple[str, ...]]:
    """How the columns become numbers, and the encoded names of those to decide on."""
    categories = {
        name: as_levels(labels[name].known, has_missing=name in gaps.rows, has_other=labels[name].has_others)
        for name in roles.adjusted
        if name in labels
    }
    indicated = tuple(name for name in roles.adjusted if name in gaps.rows and name not in categories)
    encoding = Encoding(roles.adjusted, categories, gaps.means, indicated)
    return encoding, encoding.choose(roles.contexts).names


def _refuse_actions(n: str, column: str, place: str) -> None:
    raise LogError(
        f"{place}: column {column!r} has {n} distinct actions, and at most {MOST_ACTIONS:,} are read: is it the "
        "action? give action=, or keep the actions you can choose between with where= or in the source"
    )


def _too_many(n: str) -> str:
    return f"text with {n} distinct values, more than {MOST_CATEGORIES}"


def _refuse_categories(n: str, column: str, place: str) -> None:
    raise LogError(
        f"{place}: context column {column!r} is {_too_many(n)}, most of them of one row; group them in the source, "
        "or leave it out"
    )


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


def as_label(value: object) -> Hashable:
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
    return as_label(float(label)) if kind.is_numeric() else label  # type: ignore[arg-type]


def _in_order(labels: Iterable[Hashable]) -> tuple[Hashable, ...]:
    return tuple(sorted(labels))  # type: ignore[type-var]  # of one column: they compare


def same_but_for_writing(labels: Iterable[Hashable]) -> list[str]:
    """Actions that differ in nothing but case and blanks: they stay apart, and it is said."""
    alike: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            alike.setdefault(" ".join(label.split()).casefold(), []).append(label)
    return [
        f"{' and '.join(map(repr, group))} look like one action: they are read as {len(group)}; "
        "write them alike in the source if they are one"
        for group in alike.values()
        if len(group) > 1
    ]
