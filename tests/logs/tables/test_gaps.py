"""Missing contexts of tables: filled in by the database, and the same as in memory."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headstart.errors import LogError
from headstart.logs.log import Log
from headstart.logs.tables import read_log, scan_log


def gapped(n: int = 400) -> dict[str, list[Any]]:
    """A log in which everything may be missing: a number, a word, a truth value, a whole number."""
    rng = np.random.default_rng(4)

    def with_gaps(values: list[Any], share: float = 0.15) -> list[Any]:
        return [None if rng.random() < share else value for value in values]

    return {
        "action": rng.choice(["a", "b", "c"], n).tolist(),
        "reward": rng.random(n).round(6).tolist(),
        "p": rng.choice([0.25, 0.5], n).tolist(),
        "income": with_gaps(rng.normal(3.0, 1.0, n).round(6).tolist()),
        "age": with_gaps(rng.integers(18, 80, n).tolist()),
        "region": with_gaps(rng.choice(["eu", "us", "as"], n).tolist()),
        "is_member": with_gaps((rng.random(n) < 0.5).tolist()),
        "height": rng.normal(170.0, 9.0, n).round(6).tolist(),
    }


ROWS = gapped()
CONTEXTS = ("income", "age", "region", "is_member", "height")
EXPECTED = Log(ROWS["action"], ROWS["reward"], {name: ROWS[name] for name in CONTEXTS}, ROWS["p"])


def as_parquet(folder: Path, spark: Any) -> Any:
    pq.write_table(pa.table(ROWS), folder / "log.parquet")
    return folder / "log.parquet"


def as_csv(folder: Path, spark: Any) -> Any:
    pd.DataFrame(ROWS).astype({"age": "Int64"}).to_csv(folder / "log.csv", index=False)
    return folder / "log.csv"


def as_sqlite(folder: Path, spark: Any) -> Any:
    frame = pd.DataFrame(ROWS).astype({"age": "Int64"})
    with sqlite3.connect(folder / "log.db") as database:
        frame.to_sql("log", database, index=False, dtype={"is_member": "BOOLEAN"})
    return ibis.sqlite.connect(folder / "log.db").table("log")


def as_spark(folder: Path, spark: Any) -> Any:
    return spark._session.createDataFrame(pa.table(ROWS).to_pylist(), "action string, reward double, p double, "
        "income double, age bigint, region string, is_member boolean, height double")  # fmt: skip


@pytest.mark.parametrize("make", [as_parquet, as_csv, as_sqlite, as_spark], ids=lambda make: make.__name__)
def test_what_is_missing_is_filled_in_alike_in_memory_and_in_any_database(make: Any, tmp_path: Path, spark: Any):
    """Means add up in another order in another database: about 1e-16 of them a row."""
    log = read_log(make(tmp_path, spark), contexts=list(CONTEXTS))
    assert log.encoding == EXPECTED.encoding
    order, theirs = np.argsort(log.outcomes, kind="stable"), np.argsort(EXPECTED.outcomes, kind="stable")
    np.testing.assert_allclose(log.contexts[order], EXPECTED.contexts[theirs], rtol=1e-12)
    for name, mean in EXPECTED.encoding.means.items():
        assert log.encoding.means[name] == pytest.approx(mean, rel=1e-12)
    user = {"income": None, "age": 30, "region": None, "is_member": None, "height": None}
    np.testing.assert_allclose(log.context(user), EXPECTED.context(user), rtol=1e-12)


def test_what_was_filled_in_is_counted_and_no_row_is_lost():
    reading = scan_log(ROWS).reading
    assert reading is not None
    assert reading.n_kept == reading.n_rows == 400
    expected = {name: sum(value is None for value in ROWS[name]) for name in CONTEXTS if name != "height"}
    assert reading.filled == expected
    for name, n in expected.items():
        assert reading.counts[f"missing value in {name!r}, filled"] == n
        assert f"{n:,} rows: missing value in {name!r}, filled" in str(reading)


def test_gaps_are_counted_in_the_rows_that_are_kept():
    """The only row without a region has no outcome either: no level is made of it, and the mean is of the others."""
    rows = {"action": [0, 1, 0], "reward": [1.0, None, 0.0], "region": ["a", None, "b"], "age": [1.0, 50.0, 3.0]}
    log = read_log(rows)
    assert log.context_names == ("region=a", "region=b", "age")
    assert log.encoding.means == {"age": 2.0}
    assert log.reading.filled == {}


def test_rows_are_dropped_or_refused_where_that_is_asked_for():
    log = read_log(ROWS, contexts=["income"], missing="drop")
    n = sum(value is None for value in ROWS["income"])
    assert len(log) == 400 - n
    assert log.context_names == ("income",)
    assert log.reading.counts["missing value in 'income', dropped"] == n
    with pytest.raises(LogError, match="missing value in 'income': None"):
        read_log(ROWS, contexts=["income"], missing="error")


def test_the_statistics_of_a_filled_table_are_those_of_its_rows(tmp_path: Path):
    table = scan_log(as_parquet(tmp_path, None), contexts=list(CONTEXTS))
    np.testing.assert_allclose(table.context_sums().x, EXPECTED.context_sums().x, rtol=1e-9)


def test_a_category_called_missing_is_the_level_for_what_is_missing():
    rows = {"action": [0, 1, 0], "reward": [1, 0, 1], "region": ["missing", None, "a"]}
    log = read_log(rows)
    assert log.context_names == ("region=a", "region=missing")
    assert log.contexts.tolist() == [[0, 1], [0, 1], [1, 0]]
    np.testing.assert_array_equal(
        Log(rows["action"], rows["reward"], {"region": rows["region"]}).contexts, log.contexts
    )


@pytest.mark.parametrize("n_values", [400, 3_000])
def test_of_many_categories_that_were_asked_for_the_common_ones_stay_and_the_rest_is_other(n_values: int):
    """The value w(k) comes 8 times for k < 50, else 4 times; 50 common ones and 149 others in the order of names."""
    words = [f"w{k:04}" for k in range(n_values) for _ in range(8 if k < 50 else 4)]
    n = len(words)
    rows = {"action": [i % 2 for i in range(n)], "reward": [1.0] * n, "word": words}
    assert "word" in read_log(rows).reading.left_out
    for log in (read_log(rows, contexts=["word"]), read_log(rows, contexts=[], confounders=["word"])):
        known = log.encoding.categories["word"]
        assert known == (*(f"w{k:04}" for k in range(199)), "other")
        np.testing.assert_array_equal(log.contexts.sum(axis=1), 1.0)
        assert log.contexts[:, -1].sum() == 4 * (n_values - 199)
        assert log.context({"word": "never seen"})[-1] == 1.0
        assert (
            "word has more than 200 values: the most common are categories, the rest is 'other'" in log.reading.notes
        )


def test_a_context_without_any_value_is_left_out_or_refused_by_name(tmp_path: Path):
    (tmp_path / "log.csv").write_text("action,reward,age,score\na,1,,3\nb,0,,4\n")
    assert read_log(tmp_path / "log.csv").reading.left_out == {"age": "missing in every row"}
    with pytest.raises(LogError, match="context column 'age' is missing in every row; leave it out"):
        read_log(tmp_path / "log.csv", contexts=["age"])


@pytest.mark.parametrize("contexts", [None, ["wealth", "age"]])
def test_one_word_among_numbers_does_not_lose_the_column(tmp_path, contexts):
    """8,000 incomes, one of them "unknown": the column was left out as text, and with it the adjustment."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"action": rng.integers(0, 2, 8000), "reward": rng.random(8000)})
    frame["wealth"] = rng.lognormal(0.0, 1.0, 8000).round(4).astype(object)
    frame["age"] = rng.integers(18, 90, 8000)
    frame.loc[17, "wealth"] = "unknown"
    frame.to_csv(tmp_path / "log.csv", index=False)
    log = read_log(tmp_path / "log.csv", contexts=contexts)
    assert list(log.context_names) == ["wealth", "wealth is missing", "age"]
    assert log.contexts[17, 1] == 1.0
    assert log.contexts[:, 1].sum() == 1.0
    assert any("wealth is numbers but for 1 of 8,000 values, such as 'unknown'" in note for note in log.reading.notes)
