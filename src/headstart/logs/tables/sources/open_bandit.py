"""The Open Bandit Dataset: recognised by its columns, in CSV or anything else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headstart.logs.tables.sources.opened import Opened, Shape

if TYPE_CHECKING:
    import ibis.expr.types as ir

_COLUMNS = {"item_id", "position", "click", "propensity_score"}


def _arrange(opened: Opened) -> Opened:
    """Items are actions, clicks are outcomes, and the contexts are the user's features."""
    names = opened.table.columns
    roles = {"action": "item_id", "outcome": "click", "propensity": "propensity_score"}
    roles |= {"timestamp": "timestamp"} if "timestamp" in names else {}
    return replace(
        opened,
        format=f"Open Bandit Dataset, {opened.format}",
        roles=roles,
        contexts=tuple(name for name in names if name.startswith("user_feature")),
        notes=(
            *opened.notes,
            "positions are read together, unless where={'position': 1} names one",
            "user-item affinities are not contexts unless named: they tell items apart, not users",
        ),
    )


def _recognises(table: ir.Table) -> bool:
    return set(table.columns) >= _COLUMNS and any(name.startswith("user_feature") for name in table.columns)


SHAPES = (Shape("open-bandit", _recognises, _arrange),)
