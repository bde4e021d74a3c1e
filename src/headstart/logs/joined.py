"""One log of several: every action and every column that any of them has, by name.

Where a log lacks a column, its rows have the column's mean over the others: they tell nothing of its slope. Actions
and columns are in the order of the logs where that is the same in all, else sorted by name: the order in which logs
are given does not matter.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np

from headstart.arrays import Bools, Floats, Integers
from headstart.errors import LogError
from headstart.logs.encoding import MISSING, OTHER, Encoding, as_levels
from headstart.logs.log import Log
from headstart.logs.validation import listed

T = TypeVar("T", bound=Hashable)


def join_actions(logs: Sequence[Log]) -> tuple[Hashable, ...]:
    """Every action that a log has; each log must share one with another."""
    for i, log in enumerate(logs):
        others = _join([other.action_names for other in (*logs[:i], *logs[i + 1 :])])
        if not set(others).intersection(log.action_names):
            raise LogError(
                f"log {i + 1} has no action in common with the other logs: it has {listed(log.action_names)}, they "
                f"have {listed(others)}; are they written alike?"
            )
    return _join([log.action_names for log in logs])


def place_actions(log: Log, names: Sequence[Hashable]) -> Integers:
    """The index among these names of each of the log's actions, (K,)."""
    place = {name: a for a, name in enumerate(names)}
    return np.array([place[name] for name in log.action_names], dtype=np.int64)


def join_logs(logs: Sequence[Log], names: Sequence[Hashable] | None = None) -> tuple[Log, Integers]:
    """One log of all rows, and the log that each is from, (n,), perhaps of more actions (`names`) than they have.
    Propensities must be known."""
    names = join_actions(logs) if names is None else names
    encoding = join_encodings([log.encoding for log in logs], [len(log) for log in logs])
    sources = np.repeat(np.arange(len(logs)), [len(log) for log in logs])
    contexts = np.concatenate([place_columns(log, encoding) for log in logs])
    known = np.array([has_columns(log, encoding) for log in logs]).reshape(len(logs), -1)[sources]
    counts = np.maximum(known.sum(axis=0), 1)
    contexts = np.where(known, contexts, np.where(known, contexts, 0.0).sum(axis=0) / counts)
    joined = Log.of_encoded(
        np.concatenate([place_actions(log, names)[log.actions] for log in logs]),
        np.concatenate([log.outcomes for log in logs]),
        contexts,
        np.concatenate([_propensities(log) for log in logs]),
        encoding=encoding,
        action_names=names,
        units=_join_units(logs),
    )
    return joined, sources


def has_columns(log: Log, encoding: Encoding) -> Bools:
    """Which of the encoded columns the log knows, (d,)."""
    return np.array([owner in log.encoding.columns for owner in encoding.owners], dtype=np.bool_)


def join_encodings(encodings: Sequence[Encoding], counts: Sequence[int]) -> Encoding:
    """Every column of any of them; a category has the levels of all, a number the mean by rows (`counts`)."""
    columns = _join([each.columns for each in encodings])
    categories: dict[str, tuple[Hashable, ...]] = {}
    means: dict[str, float] = {}
    for column in columns:
        having = [i for i, each in enumerate(encodings) if column in each.columns]
        texts = [i for i in having if column in encodings[i].categories]
        if texts and len(texts) < len(having):
            number = next(i for i in having if i not in texts)
            raise LogError(
                f"column {column!r} is a number in log {number + 1} and has categories in log {texts[0] + 1}"
            )
        if texts:
            levels = {level for i in texts for level in encodings[i].categories[column]}
            categories[column] = as_levels(levels - {MISSING, OTHER}, MISSING in levels, OTHER in levels)
        known = [i for i in having if column in encodings[i].means]
        if known:
            rows = np.array([counts[i] for i in known], dtype=np.float64)
            means[column] = float(rows @ [encodings[i].means[column] for i in known] / rows.sum())
    indicated = tuple(column for column in columns if any(column in each.indicated for each in encodings))
    return Encoding(columns, categories, means, indicated)


def place_columns(log: Log, encoding: Encoding) -> Floats:
    """The log's columns in the encoding's order; 0 for a category that it never shows.

    By owner and name: the number column `x=1` is another than the category 1 of the column `x`.
    """
    place = {key: j for j, key in enumerate(zip(log.encoding.owners, log.encoding.names, strict=True))}
    contexts = np.zeros((len(log), len(encoding.names)))
    for j, key in enumerate(zip(encoding.owners, encoding.names, strict=True)):
        if key in place:
            contexts[:, j] = log.contexts[:, place[key]]
    return contexts


def _propensities(log: Log) -> Floats:
    assert log.propensities is not None, "propensities are filled in before logs are joined"
    return log.propensities


def _join_units(logs: Sequence[Log]) -> list[tuple[int, int]] | None:
    """Rows of one unit are of one log: an id of another log is somebody else."""
    if all(log.units is None for log in logs):
        return None
    units: list[tuple[int, int]] = []
    for i, log in enumerate(logs):
        units += [(i, int(unit)) for unit in (np.arange(len(log)) if log.units is None else log.units)]
    return units


def _join(lists: Sequence[Sequence[T]]) -> tuple[T, ...]:
    """The names of all lists: in their order if it is the same, else sorted."""
    if all(tuple(each) == tuple(lists[0]) for each in lists):
        return tuple(lists[0])
    union = dict.fromkeys(name for each in lists for name in each)
    try:
        return tuple(sorted(union))  # type: ignore[type-var]  # they compare, or they do not
    except TypeError:
        return tuple(sorted(union, key=lambda name: (type(name).__name__, str(name))))
