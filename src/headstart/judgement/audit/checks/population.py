"""Whether the log's users are like the users to come."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.errors import ContextError
from headstart.estimates.population import as_population, check_has_columns, population_weights
from headstart.estimates.propensity import estimate_propensities
from headstart.estimates.weighted import kish_size, weigh_rows
from headstart.logs.encoding import OTHER, is_gap
from headstart.logs.frames import named_columns
from headstart.logs.log import Log


@dataclass(frozen=True)
class ColumnShift:
    name: str
    log_mean: float
    population_mean: float
    difference: float  # standardised by the log's spread


@dataclass(frozen=True)
class PopulationFinding:
    n_users: int
    n_missing: int  # users of whom a column is missing, filled in as in the log
    unseen_share: float  # users with a category that the log never shows; left out of what follows
    columns: tuple[ColumnShift, ...]  # largest difference first
    auc: float  # how well a cross-fitted regression tells the two apart: 0.5 not at all
    auc_error: float  # its standard error if they are the same
    kept_share: float  # effective sample size of the log's rows weighted to these users, over the rows
    means: tuple[float, ...]  # per action, for these users
    best: int | None  # for these users
    lead: float  # of that action over the log's own best, for these users; 0 if it is the same
    lead_error: float


class Users(NamedTuple):
    """The users to come, as far as the log knows their like."""

    contexts: Floats  # (m, d) sorted
    n: int  # all of them
    n_missing: int
    unseen_share: float


def users_of(population: object, log: Log, n_most: int, seed: int) -> Users:
    """At most `n_most` of these users in the log's columns: what `as_population` takes, or a file's path."""
    n_missing = 0
    if isinstance(population, str | PathLike):
        population, n_missing = _read_users(population, log, n_most, seed)
    users, n_users, unseen = _as_users(population, log)
    if len(users) > n_most:
        users = users[np.sort(np.random.default_rng([seed, 3]).choice(len(users), n_most, replace=False))]
    users = users[np.lexsort(users.T[::-1])] if users.shape[1] else users
    return Users(users, n_users, n_missing, unseen)


def compare_population(log: Log, population: object, best: int | None, n_most: int, seed: int) -> PopulationFinding:
    """The sampled rows against at most `n_most` of these users."""
    users, n_users, n_missing, unseen = users_of(population, log, n_most, seed)
    spread = log.contexts.std(axis=0)
    centre, theirs = log.contexts.mean(axis=0), users.mean(axis=0)
    difference = (theirs - centre) / np.where(spread > 0, spread, np.where(theirs == centre, 1.0, 1e-9))
    order = np.argsort(-np.abs(difference), kind="stable")
    auc, auc_error = _tell_apart(log.contexts, users)
    weights = population_weights(log, users)
    means, lead, lead_error, leader = _transported(log, weights, best)
    return PopulationFinding(
        n_users=n_users,
        n_missing=n_missing,
        unseen_share=unseen,
        columns=tuple(
            ColumnShift(log.context_names[j], float(centre[j]), float(theirs[j]), float(difference[j])) for j in order
        ),
        auc=auc,
        auc_error=auc_error,
        kept_share=kish_size(weights) / len(log),
        means=tuple(means.tolist()),
        best=leader,
        lead=lead,
        lead_error=lead_error,
    )


def _read_users(path: str | PathLike[str], log: Log, n_most: int, seed: int) -> tuple[dict[str, Floats], int]:
    """The log's columns of a file, a random part of a large one, and how many rows have a missing value."""
    from headstart.logs.tables.connection import DatabaseLimits, log_errors
    from headstart.logs.tables.sources import open_source

    opened = open_source(path, None, DatabaseLimits())
    names = list(log.encoding.columns)
    missing = [name for name in names if name not in opened.table.columns]
    if missing:
        raise ContextError(
            f"{opened.place} lacks the context column {missing[0]!r}; it has: {', '.join(opened.table.columns)}"
        )
    with log_errors(opened.place):
        table = opened.table.select(*names)
        n = int(table.count().to_pyarrow().as_py())
        n_whole = int(table.drop_null(names, how="any").count().to_pyarrow().as_py())
        if n > 4 * n_most:
            table = table.sample(2.0 * n_most / n, seed=seed)
        rows = table.to_pyarrow()
    return {name: np.asarray(rows[name].to_pandas()) for name in names}, n - n_whole


def _as_users(population: object, log: Log) -> tuple[Floats, int, float]:
    """The users as a matrix in the log's columns, their number, and the share with a category the log never shows."""
    named = named_columns(population)
    if named is None:
        matrix = as_population(population, log)
        return matrix, len(matrix), 0.0
    given = {name: np.asarray(column) for name, column in named}
    check_has_columns(given.keys(), log.encoding)
    columns = {name: given[name] for name in log.encoding.columns}
    n = max((column.size for column in columns.values()), default=0)
    is_known = np.ones(n, np.bool_)
    for name, known in log.encoding.categories.items():
        if OTHER not in known:
            is_gone = np.array([is_gap(value) for value in columns[name].tolist()], dtype=np.bool_)
            is_known &= is_gone | np.isin(columns[name].astype(str), [str(category) for category in known])
    if n and not is_known.any():
        raise ContextError("population has no user whose categories the log knows: the log cannot answer for it")
    kept = {name: column[is_known] for name, column in columns.items()}
    return as_population(kept, log), n, 1.0 - float(is_known.mean()) if n else 0.0


def _tell_apart(ours: Floats, theirs: Floats) -> tuple[float, float]:
    """Area under the curve of P(row is theirs), by logistic regression on columns and squares, cross-fitted."""
    n, m = len(ours), len(theirs)
    error = float(np.sqrt((n + m + 1) / (12.0 * n * m)))
    if ours.shape[1] == 0 or min(n, m) < 10:
        return 0.5, error
    both = np.vstack([ours, theirs])
    numbers = [j for j in range(both.shape[1]) if not np.isin(both[:, j], (0.0, 1.0)).all()]
    centred = both[:, numbers] - both[:, numbers].mean(axis=0)
    labels = np.repeat([0, 1], [n, m])
    pooled = Log(labels, np.zeros(n + m), np.column_stack([both, centred**2]), n_actions=2)
    fitted = estimate_propensities(pooled, n_folds=2, warn_share=1.0)
    assert fitted.propensity_matrix is not None
    scores = fitted.propensity_matrix[:, 1]
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2.0)[place]
    return float((ranks[n:].sum() - m * (m + 1) / 2.0) / (n * m)), error


def _transported(log: Log, weights: Floats, best: int | None) -> tuple[Floats, float, float, int | None]:
    """Weighted means for these users, and the lead of their best action over the log's own."""
    assert log.propensities is not None
    weights = np.maximum(weights, 1e-300) / log.propensities
    found = weigh_rows(log.actions, log.outcomes, weights, log.n_actions)
    means, errors = found.means, found.standard_errors
    if best is None or not np.isfinite(means).any():
        return means, 0.0, float("nan"), None
    leader = int(np.nanargmax(means))
    return means, float(means[leader] - means[best]), float(np.hypot(errors[leader], errors[best])), leader
