"""A cheap look at residuals: in every cell of two columns cut at their quartiles they must sum to 0, up to noise.

It says whether a line suffices before anything heavy is tried; a false alarm costs time and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers

_MOST_STEPS = 90  # cuts of columns that are crossed; beyond, those that tell most
_MOST_ROWS = 20_000  # to look at
_CHANCE = 0.01  # of a false alarm, over all cells
_MARGIN = 0.5  # of a standard error on top: what residuals are taken from is estimated


def every_so_many(n_rows: int) -> slice:
    """Rows to look at: all, or evenly spaced ones of a large log."""
    return slice(None, None, max(1, -(-n_rows // _MOST_ROWS)))


def find_steps(contexts: Floats, told: Floats) -> Floats:
    """A constant, and 1 where a column reaches each of its quartiles, (n, m); of many cuts those along which `told`,
    (n, q), differs most from chance."""
    steps = _cut_columns(contexts)
    if steps.shape[1] > _MOST_STEPS:
        steps = steps[:, _most_telling(steps, told)]
    return np.column_stack([np.ones(len(steps)), steps])


class Residuals(NamedTuple):
    """Residuals of some rows, and the variances that they have by chance, (n,) each."""

    rows: Integers | slice  # of the steps
    values: Floats
    variances: Floats


def stands_out(steps: Floats, terms: Sequence[Residuals], least: float) -> bool:
    """Whether some cell's sum of some of these residuals is further from 0 than noise.

    Sums of a variance below `least` are not near normal, and are not judged.
    """
    from headstart.special import ndtri

    n_cells = steps.shape[1] * (steps.shape[1] - 1) // 2 * len(terms)
    limit = _MARGIN - float(ndtri(_CHANCE / 2.0 / max(n_cells, 1)))
    for rows, values, variances in terms:
        seen = steps[rows]
        sums = (seen * values[:, None]).T @ seen
        spread = (seen * variances[:, None]).T @ seen
        if bool((np.abs(sums) > limit * np.sqrt(spread))[spread >= least].any()):
            return True
    return False


def _cut_columns(contexts: Floats) -> Floats:
    """1 where a column reaches each of its quartiles, (n, m); a column of two values has one such cut."""
    found = []
    for column in contexts.T:
        low, high = column.min(), column.max()
        cuts = np.unique(np.quantile(column, (0.25, 0.5, 0.75), method="inverted_cdf"))
        cuts = cuts[cuts > low] if (cuts > low).any() else np.array([high])  # a rare category is all in its top
        found += [column >= cut for cut in cuts if high > low]
    return np.array(found, dtype=np.float64).T.reshape(len(contexts), len(found))


def _most_telling(steps: Floats, told: Floats) -> Integers:
    """The cuts along which `told` moves most, in their order."""
    centre = told.mean(axis=0)
    scores = ((told - centre).T @ steps) ** 2 / np.maximum(told.var(axis=0), 1e-300)[:, None]
    spread = steps.mean(axis=0) * (1.0 - steps.mean(axis=0))
    return np.sort(np.argsort(-scores.sum(axis=0) / np.maximum(spread, 1e-12), kind="stable")[:_MOST_STEPS])
