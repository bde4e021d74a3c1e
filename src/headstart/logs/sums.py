"""Sums that stand for a log: what weighting estimators and the audit need of its rows, per action.

Field names say what is summed: y is the outcome, w = 1/p the weight of a row, x a context column; `wwy` is the sum of
w * w * y. A log in memory and a table of any size give the same sums, so whatever is built on them does not ask where
the rows are.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from headstart.arrays import Floats, Integers


@dataclass(frozen=True)
class ActionSums:
    """Per action, each (K,). Sums with w are NaN for a log without propensities; extremes are NaN without rows."""

    n: Floats  # rows
    y: Floats
    yy: Floats
    w: Floats
    wy: Floats
    wyy: Floats
    ww: Floats
    wwy: Floats
    wwyy: Floats
    lowest: Floats  # smallest outcome
    highest: Floats  # largest outcome
    rarest: Floats  # smallest propensity


EVERY = tuple(field.name for field in fields(ActionSums))


@dataclass(frozen=True)
class ContextSums:
    """Per action and encoded context column, each (K, d)."""

    x: Floats
    xx: Floats
    wx: Floats
    wxx: Floats


def sum_actions(actions: Integers, outcomes: Floats, propensities: Floats | None, n_actions: int) -> ActionSums:
    """The sums of rows in memory."""
    y, k = outcomes, n_actions

    def add(values: Floats | None) -> Floats:
        return np.full(k, np.nan) if values is None else np.bincount(actions, values, k).astype(np.float64)

    def extreme(values: Floats | None, of: np.ufunc, start: float) -> Floats:
        if values is None:
            return np.full(k, np.nan)
        found = np.full(k, start)
        of.at(found, actions, values)
        return np.where(np.isinf(found), np.nan, found)

    w = None if propensities is None else 1.0 / propensities
    return ActionSums(
        n=np.bincount(actions, minlength=k).astype(np.float64),
        y=add(y),
        yy=add(y * y),
        w=add(w),
        wy=add(None if w is None else w * y),
        wyy=add(None if w is None else w * y * y),
        ww=add(None if w is None else w * w),
        wwy=add(None if w is None else w * w * y),
        wwyy=add(None if w is None else w * w * y * y),
        lowest=extreme(y, np.minimum, np.inf),
        highest=extreme(y, np.maximum, -np.inf),
        rarest=extreme(propensities, np.minimum, np.inf),
    )


def sum_contexts(actions: Integers, contexts: Floats, propensities: Floats | None, n_actions: int) -> ContextSums:
    """The sums of context columns in memory."""
    shape = (n_actions, contexts.shape[1])

    def add(weights: Floats | None, power: int) -> Floats:
        if propensities is None and weights is not None:
            return np.full(shape, np.nan)
        sums = np.empty(shape)
        for j in range(shape[1]):
            column = contexts[:, j] ** power
            sums[:, j] = np.bincount(actions, column if weights is None else column * weights, n_actions)
        return sums

    w = np.ones(0) if propensities is None else 1.0 / propensities
    return ContextSums(x=add(None, 1), xx=add(None, 2), wx=add(w, 1), wxx=add(w, 2))


def count_propensities(actions: Integers, propensities: Floats, edges: Floats, n_actions: int) -> Integers:
    """Rows per action and bin of the propensity of the action taken, (K, bins); a bin holds its lower edge."""
    n_bins = edges.size - 1
    bins = np.clip(np.searchsorted(edges, propensities, side="right") - 1, 0, n_bins - 1)
    return np.bincount(actions * n_bins + bins, minlength=n_actions * n_bins).reshape(n_actions, n_bins)
