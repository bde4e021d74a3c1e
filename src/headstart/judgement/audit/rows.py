"""The rows that the audit looks at one by one: a stated sample, in an order that does not depend on the source."""

from __future__ import annotations

import numpy as np

from headstart.logs.any_log import AnyLog
from headstart.logs.log import Log


def draw_sorted(log: AnyLog, n_rows: int, seed: int) -> Log:
    """A uniform sample of a log or a table, all rows if it has no more, sorted.

    A table has no order of its own and two engines hand over the same rows differently; sorted, the same set of rows
    gives the same folds, halves and trees.
    """
    sample = log.sample(n_rows, np.random.default_rng(seed))
    keys = [*sample.contexts.T[::-1], sample.outcomes]
    if sample.propensities is not None:
        keys.append(sample.propensities)
    return sample.take(np.lexsort((*keys, sample.actions)))
