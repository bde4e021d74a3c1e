"""Propensities of a logistic model as columns: estimated where the rows are."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from headstart.arrays import Floats
from headstart.errors import LogError
from headstart.logs.tables.statistics import names_of

if TYPE_CHECKING:
    import ibis.expr.types as ir


@runtime_checkable
class LogisticModel(Protocol):
    """P(a | x) proportional to exp(intercepts_a + slopes_a'x)."""

    @property
    def slopes(self) -> Floats: ...  # (K, d)

    @property
    def intercepts(self) -> Floats: ...  # (K,); -inf for an action that has no chance


def with_logistic(table: ir.Table, slopes: Floats, intercepts: Floats) -> ir.Table:
    """The canonical table with p0, p1, ... and `propensity` of a multinomial logistic regression.

    The largest score is subtracted before exp, as in the kernel. An action with an intercept of -inf (the model's log
    never showed it) has propensity 0; a row that took it is an error, for no weight can stand for it.
    """
    import ibis

    n_actions, n_features = slopes.shape
    shown = [k for k in range(n_actions) if np.isfinite(intercepts[k])]
    if len(shown) < n_actions:
        lost = table.filter(~table.action.isin(shown)).count().to_pyarrow().as_py()
        if lost:
            raise LogError(f"{lost} rows took an action that the model never saw: fit it to a log that shows all")
    old = [name for name in ("propensity", *names_of("p", n_actions)) if name in table.columns]
    rows = table.drop(*old) if old else table

    def score(k: int) -> ir.FloatingColumn:
        terms = [rows[f"x{j}"] * float(slopes[k, j]) for j in range(n_features)]
        return reduce(lambda total, term: total + term, terms, ibis.literal(float(intercepts[k]), "float64"))

    # Each step is a subquery of its own, so that the database computes every score and exponential once.
    scored = rows.mutate(**{f"s{k}": score(k) for k in shown})
    scored = scored.mutate(top=ibis.greatest(*(scored[f"s{k}"] for k in shown)))
    raised = scored.mutate(**{f"e{k}": (scored[f"s{k}"] - scored.top).exp() for k in shown})
    raised = raised.mutate(total=reduce(lambda total, k: total + raised[f"e{k}"], shown[1:], raised[f"e{shown[0]}"]))
    zero = ibis.literal(0.0, "float64")
    chances = {f"p{k}": raised[f"e{k}"] / raised.total if k in shown else zero for k in range(n_actions)}
    known = raised.mutate(**chances)
    taken = ibis.cases(*((known.action == k, known[f"p{k}"]) for k in shown))
    scratch = [f"{letter}{k}" for letter in "se" for k in shown]
    return known.mutate(propensity=taken).drop("top", "total", *scratch)
