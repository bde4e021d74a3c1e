"""Group-by aggregates over a canonical table: the sums of `headstart.logs.sums`, computed where the rows are.

One query each, and nothing in it but what is asked for: the three sums that weighting needs take half the time of
all twelve.

Sums are plain floating-point sums of whatever the database adds up: over n rows their relative error is about
sqrt(n) 1e-16, at most n 1e-16 (Higham 1993). A *variance* taken from them, sum(y y) / n - mean^2, therefore has an
error of about sqrt(n) 1e-16 (mean / deviation)^2 of itself: at 10^8 rows it has lost all but three digits once the
mean is a million times the deviation. Centre such a column before it comes here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Floats, Integers
from headstart.errors import LogError
from headstart.logs.sums import EVERY, ActionSums, ContextSums

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

Kind = TypeVar("Kind", bound=np.generic)
WEIGHTED = ("w", "wy", "wyy", "ww", "wwy", "wwyy", "www", "rarest")
CUBES = ("yyy", "www")  # they shape intervals and nothing else, which can do without
EXTREMES = ("lowest", "highest", "rarest")


def query_action_sums(table: ir.Table, n_actions: int, fields: Sequence[str] = EVERY) -> ActionSums:
    """`ActionSums` of a canonical table. Fields that are not asked for, or need propensities it has not, are NaN."""
    rows = with_weights(
        table.select(*(name for name in ("action", "outcome", "propensity") if name in table.columns))
    )
    return as_action_sums(_by_action(rows, ask_action_sums(rows, fields), n_actions), n_actions)


def ask_action_sums(rows: ir.Table, fields: Sequence[str] = EVERY) -> dict[str, ir.Scalar]:
    """The aggregates that `as_action_sums` reads, of rows `with_weights`."""
    return {field: _ACTION_SUMS[field](rows) for field in fields if "w" in rows.columns or field not in WEIGHTED}


def as_action_sums(found: Mapping[str, Floats], n_actions: int) -> ActionSums:
    """What a query with these aggregates answered, per action index; NaN is no rows."""
    sums = dict.fromkeys(EVERY, np.full(n_actions, np.nan)) | dict(found)
    for field in found:
        if field not in EXTREMES:
            sums[field] = np.nan_to_num(sums[field], posinf=np.inf, neginf=-np.inf)  # no rows: a sum of 0
        if field not in CUBES and np.isinf(sums[field]).any():
            raise LogError(f"the sum of {field} overflows: outcomes are too large or propensities too small")
    return ActionSums(**sums)


_ACTION_SUMS: Mapping[str, Callable[[ir.Table], ir.Scalar]] = {
    "n": lambda rows: rows.count(),
    "y": lambda rows: rows.outcome.sum(),
    "yy": lambda rows: (rows.outcome * rows.outcome).sum(),
    "w": lambda rows: rows.w.sum(),
    "wy": lambda rows: (rows.w * rows.outcome).sum(),
    "wyy": lambda rows: (rows.w * rows.outcome * rows.outcome).sum(),
    "ww": lambda rows: (rows.w * rows.w).sum(),
    "wwy": lambda rows: (rows.w * rows.w * rows.outcome).sum(),
    "wwyy": lambda rows: (rows.w * rows.w * rows.outcome * rows.outcome).sum(),
    "yyy": lambda rows: (rows.outcome * rows.outcome * rows.outcome).sum(),
    "www": lambda rows: (rows.w * rows.w * rows.w).sum(),
    "lowest": lambda rows: rows.outcome.min(),
    "highest": lambda rows: rows.outcome.max(),
    "rarest": lambda rows: rows.propensity.min(),
}


def query_context_sums(table: ir.Table, n_actions: int, n_features: int) -> ContextSums:
    """`ContextSums` of a canonical table; sums with w are NaN without propensities."""
    names = [f"x{j}" for j in range(n_features)]
    has_weights = "propensity" in table.columns
    shape = (n_actions, n_features)
    if not names:
        empty = np.empty(shape)
        return ContextSums(empty, empty, empty, empty)
    rows = with_weights(table.select("action", *names, *(["propensity"] if has_weights else [])))
    sums = {f"{name}_x": rows[name].sum() for name in names}
    sums |= {f"{name}_xx": (rows[name] * rows[name]).sum() for name in names}
    if has_weights:
        sums |= {f"{name}_wx": (rows.w * rows[name]).sum() for name in names}
        sums |= {f"{name}_wxx": (rows.w * rows[name] * rows[name]).sum() for name in names}
    found = _by_action(rows, sums, n_actions)

    def gather(kind: str) -> Floats:
        if kind.startswith("w") and not has_weights:
            return np.full(shape, np.nan)
        return np.nan_to_num(np.column_stack([found[f"{name}_{kind}"] for name in names]))

    return ContextSums(x=gather("x"), xx=gather("xx"), wx=gather("wx"), wxx=gather("wxx"))


def query_propensity_counts(table: ir.Table, edges: Floats, n_actions: int) -> Integers:
    """Rows per action and bin of the propensity of the action taken, (K, bins); a bin holds its lower edge."""
    n_bins = edges.size - 1
    # As searchsorted and a clip do: how many inner edges the propensity has reached.
    place = 0
    for edge in edges[1:-1]:
        place = place + (table.propensity >= float(edge)).cast("int32")  # PostgreSQL has no other way
    rows = table.select("action", bin=place if n_bins > 1 else table.action * 0)
    found = rows.group_by(["action", "bin"]).aggregate(rows=rows.count()).to_pyarrow()
    counts = np.zeros((n_actions, n_bins), dtype=np.int64)
    counts[as_array(found["action"], np.int64), as_array(found["bin"], np.int64)] = as_array(found["rows"], np.int64)
    return counts


def query_product_sums(table: ir.Table, n_actions: int, n_features: int) -> tuple[Floats, Floats]:
    """Per action, of z = (x, 1): the sums of z z', (K, d + 1, d + 1), and of y z, (K, d + 1). One pass."""
    rows = table.select("action", "outcome", *names_of("x", n_features))
    found = _by_action(rows, ask_product_sums(rows, n_features), n_actions)
    return as_product_sums(found, n_actions, n_features)


def ask_product_sums(rows: ir.Table, n_features: int) -> dict[str, ir.Scalar]:
    """The aggregates that `as_product_sums` reads."""
    names = names_of("x", n_features)
    sums: dict[str, ir.Scalar] = {}
    for i, name in enumerate(names):
        for other in names[i:]:
            sums[f"{name}_{other}"] = (rows[name] * rows[other]).sum()
        sums[f"{name}_1"] = rows[name].sum()
        sums[f"{name}_y"] = (rows[name] * rows.outcome).sum()
    return {**sums, "one": rows.count(), "y": rows.outcome.sum()}


def as_product_sums(found: Mapping[str, Floats], n_actions: int, n_features: int) -> tuple[Floats, Floats]:
    """What a query with these aggregates answered, per action index; NaN is no rows."""
    found = {name: np.nan_to_num(values) for name, values in found.items()}
    grams, moments = np.empty((n_actions, n_features + 1, n_features + 1)), np.empty((n_actions, n_features + 1))
    for i, name in enumerate(names_of("x", n_features)):
        for j in range(i, n_features):
            grams[:, i, j] = grams[:, j, i] = found[f"{name}_x{j}"]
        grams[:, i, -1] = grams[:, -1, i] = found[f"{name}_1"]
        moments[:, i] = found[f"{name}_y"]
    grams[:, -1, -1], moments[:, -1] = found["one"], found["y"]
    return grams, moments


def with_weights(rows: ir.Table) -> ir.Table:
    """The table with w = 1 / propensity, written once so that the database divides once."""
    return rows.mutate(w=1.0 / rows.propensity) if "propensity" in rows.columns else rows


def as_array(column: pa.ChunkedArray, kind: type[Kind]) -> NDArray[Kind]:
    """An Arrow column without nulls as a contiguous numpy array; nulls of a float column become NaN."""
    return np.ascontiguousarray(column.to_numpy(), dtype=kind)


def _by_action(rows: ir.Table, sums: Mapping[str, ir.Scalar], n_actions: int) -> dict[str, Floats]:
    """The aggregates per action index, NaN for an action without rows."""
    found = rows.group_by("action").aggregate(**sums).to_pyarrow()
    actions = check_indices(as_array(found["action"], np.float64), n_actions)
    return in_order(actions, {name: as_array(found[name], np.float64) for name in sums}, n_actions)


def in_order(actions: Integers, found: Mapping[str, Floats], n_actions: int) -> dict[str, Floats]:
    """Values of these actions, each at its index; NaN for an action that is not among them."""
    ordered = {name: np.full(n_actions, np.nan) for name in found}
    for name, values in found.items():
        ordered[name][actions] = values
    return ordered


def check_indices(actions: Floats, n_actions: int) -> Integers:
    """Action indices as a query returned them: all of them known."""
    wrong = ~((actions >= 0) & (actions < n_actions))
    if wrong.any():
        raise LogError(f"the table has an action outside 0..{n_actions - 1}: {actions[wrong][0]}")
    return actions.astype(np.int64)


def names_of(prefix: str, count: int) -> list[str]:
    """x0, x1, ..."""
    return [f"{prefix}{j}" for j in range(count)]
