"""Checking and summing in one pass: what a glance answers is what a scan leads to, whatever is in the rows."""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headstart as hs
from headstart.errors import LogError
from headstart.logs.sums import ActionSums
from headstart.logs.tables.connection import as_table

N = 600
COLUMNS = {"action": "action", "outcome": "outcome", "propensity": "propensity", "contexts": ["c0", "c1"]}
BESIDE = [None, math.nan, math.inf, -math.inf]
FAULTS: dict[str, tuple[str, Any]] = {
    "none": ("outcome", 0.5),
    **{f"outcome {value}": ("outcome", value) for value in BESIDE},
    **{f"propensity {value}": ("propensity", value) for value in [*BESIDE, 0.0, -0.2, 1.5]},
    **{f"context {value}": ("c1", value) for value in BESIDE},
    "an outcome whose square is beyond every number": ("outcome", 1e200),
    "a context whose square is beyond every number": ("c1", 1e200),
    "action missing": ("action", None),
    "action without a name": ("action", ""),
}


def make_columns(**changed: Any) -> dict[str, list[Any]]:
    """Rows without a fault, but for a value of these columns in one of them."""
    rng = np.random.default_rng(0)
    columns: dict[str, list[Any]] = {
        "action": rng.choice(["a", "b", "c"], N).tolist(),
        "outcome": rng.normal(size=N).tolist(),
        "propensity": rng.uniform(0.1, 1.0, N).tolist(),
        "c0": rng.normal(size=N).tolist(),
        "c1": rng.integers(5, size=N).astype(float).tolist(),
    }
    for name, value in changed.items():
        columns[name][17] = value
    return columns


def agree(one: ActionSums, other: ActionSums) -> None:
    for field in fields(ActionSums):
        np.testing.assert_allclose(getattr(one, field.name), getattr(other, field.name), 1e-9, err_msg=field.name)


@pytest.mark.parametrize("fault", FAULTS)
def test_sums_are_those_of_the_rows_that_a_scan_leaves(fault: str) -> None:
    name, value = FAULTS[fault]
    rows = pa.table(make_columns(**{name: value}))
    summed, scanned = hs.scan_log(rows, **COLUMNS), hs.scan_log(rows, **COLUMNS)
    assert scanned.reading is not None
    if fault == "an outcome whose square is beyond every number":
        for table in (summed, scanned):
            with pytest.raises(LogError, match="overflows"):
                table.action_sums()
        return
    agree(summed.action_sums(), scanned.action_sums())
    assert summed.action_names == scanned.action_names
    assert summed.reading == scanned.reading
    assert len(summed) == len(scanned)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if "beyond" not in fault])
def test_products_are_those_of_the_rows_that_a_scan_leaves(fault: str) -> None:
    name, value = FAULTS[fault]
    rows = pa.table(make_columns(**{name: value}))
    summed, scanned = hs.scan_log(rows, **COLUMNS), hs.scan_log(rows, **COLUMNS)
    assert scanned.reading is not None
    for mine, theirs in zip(summed.product_sums(), scanned.product_sums(), strict=True):
        np.testing.assert_allclose(mine, theirs, 1e-9)
    assert summed.encoding.names == scanned.encoding.names
    assert summed.encoding.means == pytest.approx(scanned.encoding.means, rel=1e-12)
    assert summed.reading == scanned.reading


@pytest.mark.parametrize("missing", ["drop", "error"])
def test_a_context_that_costs_its_row_is_looked_at_with_the_sums(missing: str) -> None:
    table = hs.scan_log(pa.table(make_columns(c1=None)), **COLUMNS, missing=missing)
    if missing == "drop":
        assert table.action_sums().n.sum() == N - 1
    else:
        with pytest.raises(LogError, match=r"row 17: missing value in 'c1'"):
            table.action_sums()


def queries_of(table: ibis.Table) -> list[str]:
    """What an embedded DuckDB has been asked since its log was begun."""
    found = table.get_backend().con.execute("SELECT message FROM duckdb_logs").fetchall()
    return [message for (message,) in found if message.startswith("SELECT") and "LIMIT 10000" not in message]


def logged_table() -> ibis.Table:
    connection = ibis.duckdb.connect()
    connection.con.register("log", pa.table(make_columns()))
    connection.con.execute("CALL enable_logging('QueryLog')")
    return as_table(connection, "log")


def test_weighting_reads_a_log_without_faults_once_and_no_context_of_it() -> None:
    source = logged_table()
    hs.IPSWeighting(hs.scan_log(source, **COLUMNS))
    (query,) = queries_of(source)
    assert '"c0"' not in query


def test_a_linear_model_reads_a_log_without_faults_once() -> None:
    source = logged_table()
    hs.LinearModel(hs.scan_log(source, **COLUMNS))
    passes = [query for query in queries_of(source) if "DISTINCT" not in query]  # equal rows are looked for in few
    assert len(passes) == 1


def test_names_and_types_are_looked_at_at_once_and_rows_when_they_are_asked_for(tmp_path: Path) -> None:
    rows = make_columns()
    rows["propensity"] = [5.0] * N
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table(rows), path)
    with pytest.raises(LogError, match="no column 'price'"):
        hs.scan_log(path, **{**COLUMNS, "outcome": "price"})
    table = hs.scan_log(path, **COLUMNS)
    for ask in (table.action_sums, lambda: table.reading, lambda: table.n_actions, lambda: hs.IPSWeighting(table)):
        with pytest.raises(
            LogError, match=r"log\.parquet, row 0: propensity outside \(0, 1\]: 5\.0 .*is it a propensity"
        ):
            ask()


def test_an_id_is_refused_as_an_action_without_a_group_for_each() -> None:
    rows = {**make_columns(), "action": [f"row {i}" for i in range(N)]}
    many = {name: values * 20 for name, values in rows.items()}
    many["action"] = [f"row {i}" for i in range(20 * N)]
    with pytest.raises(LogError, match="12,000 distinct actions"):
        hs.scan_log(pa.table(many), **COLUMNS).action_sums()


def test_actions_that_no_row_shows_have_sums_of_nothing() -> None:
    sums = hs.scan_log(pa.table(make_columns()), **COLUMNS, action_names=["c", "d", "a", "b"]).action_sums()
    assert (sums.n[1], sums.wy[1]) == (0.0, 0.0)
    assert math.isnan(sums.lowest[1])
    agree(sums, hs.read_log(pa.table(make_columns()), **COLUMNS, action_names=["c", "d", "a", "b"]).action_sums())


def test_actions_that_nobody_named_are_refused_by_the_first_question() -> None:
    table = hs.scan_log(pa.table(make_columns()), **COLUMNS, action_names=["a", "b"])
    with pytest.raises(LogError, match=r"not in action_names: 'c' \(\d+ rows\)"):
        table.action_sums()
