"""A log in memory and the same rows as a table: what is built from either must be the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headstart.logs.log import Log
from headstart.logs.tables.connection import as_table as connection_table
from headstart.logs.tables.table import LogTable


def make_log(n: int = 400, n_actions: int = 3, n_features: int = 2, seed: int = 0, n_values: int = 3) -> Log:
    """Rows with repeated contexts and outcomes, whole propensity vectors, and a last action that is never taken."""
    rng = np.random.default_rng(seed)
    contexts = rng.integers(n_values, size=(n, n_features)) * (2.0 / (n_values - 1)) - 1.0
    scores = np.column_stack([0.4 * contexts.sum(axis=1) * k for k in range(n_actions)])
    vectors = np.exp(scores) * (np.arange(n_actions) < n_actions - 1)
    vectors /= vectors.sum(axis=1, keepdims=True)
    actions = (rng.random((n, 1)) > np.cumsum(vectors, axis=1)).sum(axis=1)
    outcomes = rng.integers(4, size=n) / 2.0 + contexts[:, 0]
    names = [f"c{j}" for j in range(n_features)]
    return Log(actions, outcomes, contexts, vectors, context_names=names, n_actions=n_actions)


def as_arrow(log: Log, *, vectors: bool = True) -> pa.Table:
    """The canonical table of a log."""
    columns: dict[str, Any] = {"action": log.actions, "outcome": log.outcomes}
    columns |= {f"x{j}": log.contexts[:, j] for j in range(log.n_features)}
    if log.propensities is not None:
        columns["propensity"] = log.propensities
    if vectors and log.propensity_matrix is not None:
        columns |= {f"p{k}": log.propensity_matrix[:, k] for k in range(log.n_actions)}
    return pa.table(columns)


def as_table(log: Log, *, vectors: bool = True, threads: int = 2) -> LogTable:
    """The same rows in an embedded DuckDB."""
    connection = ibis.duckdb.connect(threads=threads)
    connection.con.register("log", as_arrow(log, vectors=vectors))
    return _named(log, connection_table(connection, "log"))


def as_spark_table(log: Log, spark: Any, folder: Path, *, vectors: bool = True, n_files: int = 3) -> LogTable:
    """The same rows as Parquet files that Spark reads."""
    rows = as_arrow(log, vectors=vectors)
    folder.mkdir()
    edges = np.linspace(0, rows.num_rows, n_files + 1).astype(int)
    for i in range(n_files):
        pq.write_table(rows.slice(edges[i], edges[i + 1] - edges[i]), folder / f"part-{i}.parquet")
    return _named(log, spark.read_parquet(str(folder)))


def _named(log: Log, table: Any) -> LogTable:
    return LogTable(table, encoding=log.encoding, action_names=log.action_names)


def as_multiset(log: Log) -> list[tuple[float, ...]]:
    """The rows, sorted: equal for logs that differ in order only."""
    columns = [log.actions, log.outcomes, *log.contexts.T]
    if log.propensities is not None:
        columns.append(log.propensities)
    return sorted(map(tuple, np.column_stack(columns).tolist()))


def drain(evaluator: Any, contexts: Any, action: int) -> list[float]:
    """Every answer for one action, asking for these contexts in turn until None."""
    answers: list[float] = []
    for context in contexts:
        outcome = evaluator.get_outcome(context, action)
        if outcome is None:
            break
        answers.append(outcome)
    return sorted(answers)


def assert_same_sums(ours: Any, theirs: Any) -> None:
    """Every field equal to 1e-9, NaN where the other is NaN."""
    for name, values in vars(theirs).items():
        np.testing.assert_allclose(getattr(ours, name), values, rtol=1e-9, atol=1e-12, err_msg=name)
