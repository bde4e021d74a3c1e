"""A glance: the sums that somebody wants, and the proof that no row is at fault, in one pass over the rows.

Counting every fault is a pass of its own, and costs several times what sums do. That there is none is cheaper to
know, from the query that sums: as many rows as there are have numbers, and propensities where one can lie. (One count
of all that must hold: a count for each column is a quarter more to Spark.) Where that is so, nothing is to be left
out and the sums are right. Where it is not, a glance answers nothing: the faults are counted and the rows filtered
(`scan`), and then summed again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from headstart.arrays import Floats
from headstart.logs.encoding import is_gap
from headstart.logs.tables.batches import read_first
from headstart.logs.tables.canonical import as_float_column, is_number
from headstart.logs.tables.columns import Roles
from headstart.logs.tables.expressions import Schema
from headstart.logs.tables.faults import Counted, Fault, is_chance
from headstart.logs.tables.gaps import Gaps, missing_in
from headstart.logs.tables.labels import MOST_ACTIONS
from headstart.logs.tables.statistics import as_array, with_weights

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

AskSums: TypeAlias = "Callable[[ir.Table], Mapping[str, ir.Scalar]]"  # of a table with canonical columns

_PEEKED = 10_000  # rows by whose actions one sees that the column names rows and is none


@dataclass(frozen=True)
class Glanced:
    """What a glance proved: no row is at fault in the columns of `proven`, and none lacks a context of `means`."""

    n_rows: int
    labels: tuple[Hashable, ...]  # of actions, as their column has them
    proven: frozenset[str]
    means: Mapping[str, float]

    def covers(self, faults: Sequence[Fault], contexts: Sequence[str]) -> bool:
        """Whether nothing of these is left to be counted."""
        return self.proven.issuperset(fault.column for fault in faults) and self.means.keys() >= set(contexts)

    def as_counted(self, action: str) -> Counted:
        """What counting would have found, the values of the column of actions included."""
        return Counted(
            n_rows=self.n_rows,
            n_unusable=0,
            faults={},
            missing={},
            about_distinct={action: len(self.labels)},
            gaps=Gaps(means=self.means),
            labels={action: self.labels},
        )


@dataclass(frozen=True)
class UncheckedRows:
    """The rows of a source as a glance sees them."""

    rows: ir.Table
    schema: Schema
    roles: Roles
    faults: Sequence[Fault]

    def are_actions_few(self) -> bool:
        """Whether the first rows allow of grouping all by their action: an id must not become millions of groups."""
        first = read_first(self.rows.select(action=self.rows[self.roles.action]), _PEEKED)
        return len(first["action"].unique()) <= MOST_ACTIONS  # counted here: to Spark it is a shuffle

    def glance(self, contexts: Sequence[str], ask: AskSums) -> tuple[Glanced, Mapping[str, Floats]] | None:
        """The proof, and the sums of each label, (labels,); None: something may be wrong, or actions are too many.

        `contexts` are columns of numbers: they are x0, x1, ..., and it is to be proven that none is missing.
        """
        rows, names = self._arrange(contexts)
        sums = ask(rows)
        are_sound = reduce(and_, (self._is_sound(rows, name, column) for column, name in names.items()))
        asked = {**sums, "rows": rows.count(), "sound": are_sound.sum()}
        asked |= {f"total {names[column]}": rows[names[column]].sum() for column in contexts}
        found = rows.group_by("action").aggregate(**asked).limit(MOST_ACTIONS + 1).to_pyarrow()
        labels = found["action"].to_pylist()
        if not 0 < len(labels) <= MOST_ACTIONS or any(is_gap(label) for label in labels):
            return None
        n_rows = int(as_array(found["rows"], np.int64).sum())
        if _add_up(found, "sound") != n_rows:
            return None
        means = {column: _add_up(found, f"total {names[column]}") / n_rows for column in contexts}
        if not all(map(math.isfinite, means.values())):
            return None
        glanced = Glanced(n_rows, tuple(labels), frozenset([self.roles.action, *names]), means)
        return glanced, {name: as_array(found[name], np.float64) for name in sums}

    def _arrange(self, contexts: Sequence[str]) -> tuple[ir.Table, Mapping[str, str]]:
        """The canonical columns, but for the labels of actions, and the name there of each column to be proven."""
        rows, roles = self.rows, self.roles
        names = {roles.outcome: "outcome", **({roles.propensity: "propensity"} if roles.propensity else {})}
        names |= {column: f"x{j}" for j, column in enumerate(contexts)}
        columns = {name: as_float_column(rows[column]) for column, name in names.items()}
        others = {fault.column for fault in self.faults} - {roles.action, *names}
        for j, column in enumerate(sorted(others)):
            names[column] = f"other{j}"
            columns[f"other{j}"] = rows[column]
        return with_weights(rows.select(action=rows[roles.action], **columns)), names

    def _is_sound(self, rows: ir.Table, name: str, column: str) -> ir.BooleanColumn:
        """Whether a row has a value there that can be used; null is no."""
        kind = self.schema[column]
        if column == self.roles.propensity:
            return is_chance(rows[name])
        if kind.is_floating():
            return is_number(rows[name])
        return ~missing_in(name, kind)(rows)


def _add_up(found: pa.Table, name: str) -> float:
    with np.errstate(invalid="ignore", over="ignore"):
        return float(np.nansum(as_array(found[name], np.float64)))
