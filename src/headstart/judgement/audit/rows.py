"""The rows that the audit looks at one by one: a stated sample, in an order that does not depend on the source."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from headstart.logs.encoding import Encoding
from headstart.logs.log import Log


def sample_rows(log: Any, n_rows: int, seed: int) -> Log:
    """A uniform sample of a log or a table, all rows if it has no more, sorted.

    A table has no order of its own and two engines hand over the same rows differently; sorted, the same set of rows
    gives the same folds, halves and trees.
    """
    sample = log.sample(n_rows, np.random.default_rng(seed))
    keys = [*sample.contexts.T[::-1], sample.outcomes]
    if sample.propensities is not None:
        keys.append(sample.propensities)
    return sample.take(np.lexsort((*keys, sample.actions)))


def without_columns(log: Log, names: Collection[str]) -> Log:
    """The log without the columns that these encoded ones belong to; a category takes its whole column with it."""
    owners = [column for column in log.encoding.columns for _ in log.encoding.categories.get(column, (None,))]
    gone = {owner for owner, name in zip(owners, log.context_names, strict=True) if name in names}
    if not gone:
        return log
    encoding = Encoding(
        tuple(column for column in log.encoding.columns if column not in gone),
        {column: known for column, known in log.encoding.categories.items() if column not in gone},
    )
    kept = [j for j, owner in enumerate(owners) if owner not in gone]
    propensities = log.propensities if log.propensity_matrix is None else log.propensity_matrix
    return Log.of_encoded(
        log.actions,
        log.outcomes,
        log.contexts[:, kept],
        propensities,
        encoding=encoding,
        action_names=log.action_names,
    )
