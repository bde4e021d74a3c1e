"""Every snippet of docs/sources.md runs, on files like those it speaks of."""

import gzip
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.logs.tables.test_decision_formats import (
    CB,
    CB_ADF,
    decision_rows,
    dsjson_line,
    open_bandit_rows,
    write_lines,
)
from tests.logs.tables.test_reading import ROWS

DOCUMENT = Path(__file__).parents[3] / "docs" / "sources.md"
SNIPPETS = re.findall(r"```python sources( spark)?\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the document speaks of."""
    folder = tmp_path_factory.mktemp("sources")
    frame = pd.DataFrame(ROWS)
    frame.to_csv(folder / "log.csv", index=False)
    frame.to_csv(folder / "log.tsv", index=False, sep="\t")
    (folder / "log.csv.gz").write_bytes(gzip.compress((folder / "log.csv").read_bytes()))
    table = pa.table(ROWS)
    pq.write_table(table, folder / "log.parquet")
    for year in (2025, 2026):
        (folder / "parts" / f"year={year}").mkdir(parents=True)
        pq.write_table(table, folder / "parts" / f"year={year}" / "part.parquet")
    write_lines(folder / "log.jsonl", table.to_pylist())
    with closing(sqlite3.connect(folder / "log.db")) as database:
        frame.to_sql("log", database, index=False)
    with closing(duckdb.connect(str(folder / "log.duckdb"))) as database:
        database.register("frame", table)
        database.execute("CREATE TABLE clicks AS SELECT * FROM frame")
    visits = frame.rename(columns={"ad": "action"}).assign(household=[f"h{i % 40}" for i in range(len(frame))])
    visits["day"] = pd.date_range("2026-01-01", periods=len(frame), freq="h")
    visits.loc[::7, "age"] = None
    visits.to_csv(folder / "visits.csv", index=False)
    (folder / "cb.vw").write_text(CB)
    (folder / "cb_adf.vw").write_text(CB_ADF)
    write_lines(folder / "log.dsjson", [dsjson_line(), dsjson_line(0)])
    open_bandit_rows().to_csv(folder / "men.csv")
    write_lines(folder / "decisions.jsonl", decision_rows())
    return folder


@pytest.mark.parametrize("code", [code for needs_spark, code in SNIPPETS if not needs_spark])
def test_snippet_runs(code, folder, monkeypatch):
    monkeypatch.chdir(folder)
    exec(code, {})


@pytest.mark.parametrize("code", [code for needs_spark, code in SNIPPETS if needs_spark])
def test_snippet_runs_on_spark(code, folder, spark):
    """Spark's own process does not change its folder with ours, so the path is written out."""
    exec(code.replace("log.parquet", str(folder / "log.parquet")), {"spark": spark._session})


def test_every_kind_of_source_has_a_how_to():
    text = DOCUMENT.read_text()
    assert len(SNIPPETS) >= 10
    for word in (
        "CSV",
        "TSV",
        "Parquet",
        "JSON",
        "pandas",
        "polars",
        "Arrow",
        "Ibis",
        "Spark",
        "cb_adf",
        "PostgreSQL",
        "SQLite",
    ):
        assert word in text
