"""Propensities for a log that has none: cross-fitted on the sample, and from its model on all other rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from headstart.estimates.propensity import LogisticPropensity, estimate_propensities
from headstart.logs.log import Log

_SMALLEST = 1e-9  # a chance of 0 cannot be weighted by
_BATCH = 1 << 18


def with_estimates(log: Any, sample: Log, seed: int) -> tuple[Any, Log]:
    """The log and its sample with estimated propensities; a sample of all rows stands for the log itself."""
    if len(sample) == 1:
        estimated = sample.with_propensities(np.ones(1))
    else:
        estimated = estimate_propensities(sample, n_folds=min(5, len(sample)), rng=seed)
    if len(sample) == len(log):
        return estimated, estimated
    # An action too rare for the sample would have no estimate: then the model goes through the whole table.
    is_shown = np.bincount(sample.actions, minlength=sample.n_actions) > 0
    model = LogisticPropensity(sample if is_shown.all() else log)
    if isinstance(log, Log):
        return log.with_propensities(_predict_taken(model, log)), estimated
    return log.with_propensities_from(model), estimated


def _predict_taken(model: LogisticPropensity, log: Log) -> np.ndarray:
    """The chance of the action taken in every row, a batch at a time: all chances of all rows may not fit."""
    taken = np.empty(len(log))
    for start in range(0, len(log), _BATCH):
        rows = slice(start, start + _BATCH)
        actions = log.actions[rows]
        taken[rows] = model.predict(log.contexts[rows])[np.arange(actions.size), actions]
    return np.maximum(taken, _SMALLEST)
