"""headstart's own decision log, as the service writes it: JSON lines, Parquet, or a table.

A row: event_id, time, context (named columns, or a list of numbers; none if the experiment has no contexts), action,
propensity, probabilities (of every action, by label), unit (whose decision it is; one without is its own) and
outcome, which is missing until it comes. Outcomes with names become the columns `outcome.NAME`. Other columns
(version, is_holdout, is_set_aside, follows) are no contexts; `where={"is_holdout": False}` can choose by them.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

from headstart.errors import LogError
from headstart.logs.tables.sources.opened import Opened, Shape

if TYPE_CHECKING:
    import ibis.expr.types as ir

_COLUMNS = {"event_id", "action", "propensity", "probabilities"}


def _arrange(opened: Opened) -> Opened:
    """The context's parts become columns of their own; decisions whose outcome has not come are counted."""
    table = opened.table
    if "outcome" not in table.columns:
        raise LogError(f"{opened.place}: no decision has an outcome yet")
    columns = {name: table[name] for name in table.columns if name not in ("context", "outcomes")}
    if "outcomes" in table.columns and table["outcomes"].type().is_struct():
        named = table["outcomes"]
        columns |= {f"outcome.{name}": named[name] for name in named.type().names}
    has_units = "unit" in columns and columns["unit"].type().is_string()
    if has_units:
        columns["unit"] = columns["unit"].fill_null(columns["event_id"].cast("string"))
    else:
        columns.pop("unit", None)  # no decision has one
    parts = _parts(table, opened.place)
    contexts = {name if name not in columns else f"context.{name}": part for name, part in parts.items()}
    roles = {"action": "action", "outcome": "outcome", "propensity": "propensity", "id": "event_id"}
    roles |= {"timestamp": "time"} if "time" in columns else {}
    roles |= {"unit": "unit"} if has_units else {}
    kind = table["probabilities"].type()
    return replace(
        opened,
        table=table.select(**columns, **contexts),
        format=f"headstart's decision log, {opened.format}",
        roles=roles,
        contexts=tuple(contexts),
        labels=tuple(kind.names) if kind.is_struct() else (),
        chance_of=_chance_of if kind.is_struct() or kind.is_map() else None,
        notes=(*opened.notes, "a decision without an outcome is one whose outcome has not come: it is dropped"),
    )


def _parts(table: ir.Table, place: str) -> dict[str, ir.Column]:
    if "context" not in table.columns:
        return {}
    column = table["context"]
    kind = column.type()
    if kind.is_struct():
        return {name: column[name] for name in kind.names}
    if kind.is_array() and kind.value_type.is_numeric():
        longest = table.aggregate(n=column.length().max()).to_pyarrow()["n"][0].as_py() or 0
        return {f"x{j}": column[j] for j in range(longest)}
    if kind.is_json() or kind.is_null() or kind.is_map():  # no row has one
        return {}
    raise LogError(f"{place}: context must be named columns or a list of numbers, it is {kind}")


def _chance_of(rows: ir.Table, label: Hashable) -> ir.Column | None:
    column = rows["probabilities"]
    if column.type().is_map():
        return column.get(str(label))
    return column[str(label)] if str(label) in column.type().names else None


def _recognises(table: ir.Table) -> bool:
    return set(table.columns) >= _COLUMNS


SHAPES = (Shape("decision-log", _recognises, _arrange),)
