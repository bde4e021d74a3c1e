"""How often each outcome occurred in each stratum under each action: what matching needs instead of rows."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.logs.tables.canonical import as_indicator
from headstart.logs.tables.sampling import copies_of_a_row, draw_rows, with_keys
from headstart.logs.tables.statistics import as_array, check_indices

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

MAX_GROUPS = 1_000_000  # of a stratum, an action and an outcome: 8 (d + 3) bytes each


class SampledWarning(UserWarning):
    """A table was too varied to be counted, and a uniform sample of its rows stands for it."""


class OutcomeCounts(NamedTuple):
    strata: Floats  # (g, d) a context, or a lattice point; d is 0 if there is but one
    actions: Integers  # (g,)
    outcomes: Floats  # (g,)
    counts: Integers  # (g,) rows


def count_outcomes(
    table: ir.Table, strata: Sequence[str], n_actions: int, n_rows: int, max_groups: int = MAX_GROUPS
) -> OutcomeCounts:
    """Rows per stratum (the values of these columns), action and outcome, of a table with `n_rows` rows.

    The exact counts if there are at most `max_groups` of them. Otherwise a uniform sample of `max_groups` rows (seed
    0), each with a count of 1, and a SampledWarning says so.
    """
    names = [*strata, "action", "outcome"]
    found = None
    if n_rows <= 4 * max_groups or not _are_surely_more(table, names, max_groups):
        found = _count_groups(table.select(*names), names, max_groups)
    is_sampled = found is None
    if found is None:
        found = draw_rows(table, names, (), max_groups, np.random.default_rng(0))
        warnings.warn(
            f"the log has more than {max_groups:,} different (context, action, outcome): a uniform sample of "
            f"{max_groups:,} of its {n_rows:,} rows stands for it. To use all rows, round the contexts or the "
            "outcome, or choose an evaluator that needs sums only (IPSWeighting, LinearModel)",
            SampledWarning,
            stacklevel=4,
        )
    values = np.empty((found.num_rows, len(strata)))
    for j, name in enumerate(strata):
        values[:, j] = as_array(found[name], np.float64)
    return OutcomeCounts(
        values,
        check_indices(as_array(found["action"], np.float64), n_actions),
        as_array(found["outcome"], np.float64),
        np.ones(found.num_rows, dtype=np.int64) if is_sampled else as_array(found["copies"], np.int64),
    )


def _count_groups(rows: ir.Table, names: Sequence[str], max_groups: int) -> pa.Table | None:
    """Rows per group, unless there are more groups than this."""
    found = rows.group_by(names).aggregate(copies=rows.count()).limit(max_groups + 1).to_pyarrow()
    return found if found.num_rows <= max_groups else None


def nearest_pivot(column: ir.NumericColumn, pivots: Floats) -> ir.FloatingColumn:
    """The index of the nearest of the sorted pivots, ties to the lower, as an expression."""
    place = column * 0.0
    for low, high in itertools.pairwise(pivots.tolist()):
        place = place + as_indicator((column - high).abs() < (column - low).abs())
    return place


def _are_surely_more(table: ir.Table, names: Sequence[str], max_groups: int) -> bool:
    """Whether two scans show that there are far more groups than this, so that nobody need count them."""
    rows, n = with_keys(table, names, (), np.random.default_rng(0))
    return n / copies_of_a_row(rows, n) > 2.0 * max_groups
