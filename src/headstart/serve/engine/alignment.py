"""Alignment: a log with an experiment's actions and columns, in the experiment's order."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from headstart.arrays import Integers
from headstart.errors import LogError
from headstart.logs.encoding import MISSING, OTHER, Encoding
from headstart.logs.joined import place_columns
from headstart.logs.log import Log
from headstart.serve.config import ExperimentConfig


def align(log: Log, config: ExperimentConfig) -> Log:
    """The same rows with the experiment's actions and columns, in its order, as far as the log has them."""
    encoding = _align_columns(log.encoding, config)
    actions = _align_actions(log, config)
    return Log.of_encoded(
        actions,
        log.outcomes,
        place_columns(log, encoding),
        log.propensities,
        encoding=encoding,
        action_names=config.actions,
        units=log.units,
        times=log.times,
    )


def _align_actions(log: Log, config: ExperimentConfig) -> Integers:
    place = {str(label): k for k, label in enumerate(config.actions)}
    shown = {str(log.action_names[a]) for a in np.unique(log.actions)}
    strange = sorted(shown - set(place))
    if strange:
        raise LogError(f"{config.at}.log has the action {strange[0]!r}, which the experiment has not")
    return np.array([place.get(str(label), 0) for label in log.action_names], dtype=np.int64)[log.actions]


def _align_columns(logged: Encoding, config: ExperimentConfig) -> Encoding:
    """The columns that the experiment and its log share, as the experiment declares them, then the log's others.

    A category has besides what is declared the levels that the log has for what is missing and for the rest.
    """
    shared = [column for column in config.contexts if column in logged.columns]
    for column in shared:
        _check_kind(column, logged, config)
    extra = [column for column in logged.columns if column not in config.contexts]
    declared = {
        column: (*known, *(level for level in logged.categories.get(column, ()) if _is_gap_level(level, known)))
        for column, known in config.encoding.categories.items()
    }
    known = {**logged.categories, **declared}
    columns = (*shared, *extra)
    categories = {column: known[column] for column in columns if column in known}
    indicated = tuple(column for column in columns if column in logged.indicated)
    return Encoding(columns, categories, dict(logged.means), indicated)


def _is_gap_level(level: Hashable, declared: Sequence[Hashable]) -> bool:
    return level in (MISSING, OTHER) and level not in declared


def _check_kind(column: str, logged: Encoding, config: ExperimentConfig) -> None:
    """A column is a number in both, or has in the log no category that the experiment does not declare."""
    at, declared = f"{config.at}.contexts.{column}", config.encoding.categories.get(column)
    found = logged.categories.get(column)
    if declared is None:
        if found is not None:
            raise LogError(f"{at} is a number, but the log has categories: {list(found)[:5]}")
        return
    if found is None:
        raise LogError(f"{at} has categories, but the log has numbers")
    known = {str(category) for category in declared}
    for category in found:
        if str(category) not in known and category not in (MISSING, OTHER):
            raise LogError(f"the log has {column} = {category!r}, which {at} has not")
