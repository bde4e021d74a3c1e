"""Databases by their address: DuckDB and SQLite files, a PostgreSQL; read only, and the same as in memory."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from headstart.errors import LogError, MissingExtraError
from headstart.logs.log import Log
from headstart.logs.tables import LogTable, read_log, scan_log
from tests.logs.tables.agreement import CHECKS
from tests.logs.tables.twins import as_arrow, make_log
from tests.serve.postgres_server import PostgresServer

ODD = 'it\'s a "log"; drop table clicks'


def make_frame(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(6)
    return pd.DataFrame(
        {
            "ad": rng.choice(["red", "blue"], n),
            "click": rng.integers(0, 2, n),
            "pscore": rng.choice([0.25, 0.5], n),
            "age": np.where(rng.random(n) < 0.1, None, rng.normal(40.0, 9.0, n).round(3)).astype(float),
            "city": np.where(rng.random(n) < 0.1, None, rng.choice(["Oslo", "Rome"], n)),
            "user_id": [f"u{user}" for user in rng.integers(0, 60, n)],
            "ts": pd.date_range("2026-03-01", periods=n, freq="h"),
        }
    )


FRAME = make_frame()
CONTEXTS = ["age", "city"]


def write_duckdb(path: Path) -> None:
    with closing(duckdb.connect(str(path))) as database:
        database.register("frame", FRAME)
        database.execute("CREATE TABLE clicks AS SELECT * FROM frame")
        database.execute("CREATE SCHEMA past; CREATE TABLE past.clicks AS SELECT * FROM frame")
        database.execute('CREATE TABLE "' + ODD.replace('"', '""') + '" AS SELECT * FROM frame')


def write_sqlite(path: Path) -> None:
    plain = FRAME.assign(ts=FRAME["ts"].dt.strftime("%Y-%m-%d %H:%M:%S"))
    with closing(sqlite3.connect(path)) as database:
        plain.to_sql("clicks", database, index=False)
        plain.to_sql(ODD, database, index=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("databases")
    write_duckdb(folder / "log.duckdb")
    write_sqlite(folder / "log.sqlite")
    (folder / "log.db").write_bytes((folder / "log.sqlite").read_bytes())
    return folder


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    import psycopg

    with PostgresServer() as server:
        with psycopg.connect(server.address, autocommit=True) as connection:
            for table in ("clicks", "past.clicks", '"' + ODD.replace('"', '""') + '"'):
                connection.execute("CREATE SCHEMA IF NOT EXISTS past")
                connection.execute(
                    f"CREATE TABLE {table} (ad text, click int, pscore numeric, age float8, city text, user_id text, "
                    "ts timestamptz)"
                )
                with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                    for row in FRAME.itertuples(index=False):
                        cells = (None if value != value else value for value in row)
                        copy.write_row([None if value is None else str(value) for value in cells])
        yield server.address


def check_same(log: Log) -> None:
    """The same rows as the frame's, in memory."""
    expected = read_log(FRAME, contexts=CONTEXTS)
    assert log.encoding == expected.encoding
    assert log.action_names == expected.action_names
    for name in ("actions", "outcomes", "propensities", "times"):
        np.testing.assert_allclose(getattr(log, name), getattr(expected, name))
    np.testing.assert_allclose(log.contexts, expected.contexts, rtol=1e-12)
    assert log.units is not None
    assert expected.units is not None
    pairs = {(a, b) for a, b in zip(log.units.tolist(), expected.units.tolist(), strict=True)}
    assert len(pairs) == np.unique(expected.units).size


@pytest.mark.parametrize("name", ["log.duckdb", "log.sqlite", "log.db"])
@pytest.mark.parametrize("table", ["clicks", ODD], ids=["plain", "odd"])
def test_a_table_of_a_file(name: str, table: str, folder: Path):
    log = read_log(f"{folder / name}::{table}", contexts=CONTEXTS)
    check_same(log)
    assert log.reading is not None
    assert log.reading.source == f"{folder / name}::{table}"


@pytest.mark.parametrize("table", ["clicks", "public.clicks", "past.clicks", ODD])
def test_a_table_of_a_postgresql(table: str, postgres: str):
    check_same(read_log(f"{postgres}::{table}", contexts=CONTEXTS))


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_a_path_is_no_sql(kind: str, folder: Path, tmp_path: Path):
    path = tmp_path / "it's '; DROP TABLE clicks; -- ?mode=rw"
    path.write_bytes((folder / f"log.{kind}").read_bytes())
    check_same(read_log(f"{path}::clicks", contexts=CONTEXTS))


def test_a_table_of_another_schema_of_duckdb(folder: Path):
    check_same(read_log(f"{folder / 'log.duckdb'}::past.clicks", contexts=CONTEXTS))


def test_a_query_instead_of_a_table(folder: Path, postgres: str):
    query = "SELECT ad, click, pscore, age FROM clicks WHERE city = 'Oslo' AND ad LIKE '%e%';"
    n = int((FRAME["city"] == "Oslo").sum())
    for address in (folder / "log.duckdb", str(folder / "log.sqlite"), postgres):
        log = read_log(address, query=query.rstrip(";"), contexts=["age"])
        assert len(log) == n
        np.testing.assert_allclose(log.outcomes.sum(), FRAME.loc[FRAME["city"] == "Oslo", "click"].sum())
    assert len(read_log(postgres, query=query, contexts=["age"])) == n


def test_the_audit_s_queries_run_on_every_database(folder: Path, postgres: str):
    """Sums, counts and a sample of whole units, which is the same everywhere."""
    expected = scan_log(FRAME, contexts=CONTEXTS).sample(100, rng=3)
    for address in (f"{folder / 'log.duckdb'}::clicks", f"{folder / 'log.sqlite'}::clicks", f"{postgres}::clicks"):
        table = scan_log(address, contexts=CONTEXTS)
        np.testing.assert_allclose(table.action_sums().n.sum(), 300)
        sample = table.sample(100, rng=3)
        np.testing.assert_array_equal(sample.outcomes, expected.outcomes)
        np.testing.assert_allclose(sample.contexts, expected.contexts, rtol=1e-12)
        np.testing.assert_array_equal(sample.times, expected.times)
        rows = scan_log(address, contexts=CONTEXTS, unit=False).sample(100, rng=3)
        assert len(rows) == 100


@pytest.fixture(scope="module")
def canonical(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, LogTable]:
    """One log's canonical table, as two databases keep it."""
    import ibis
    import psycopg

    log = make_log()
    frame = as_arrow(log).to_pandas()
    path = tmp_path_factory.mktemp("canonical") / "log.sqlite"
    with closing(sqlite3.connect(path)) as database:
        frame.to_sql("canonical", database, index=False)
    with psycopg.connect(postgres, autocommit=True) as connection:
        columns = ", ".join(f"{name} {'int8' if name == 'action' else 'float8'}" for name in frame)
        connection.execute(f"CREATE TABLE canonical ({columns})")
        with connection.cursor().copy("COPY canonical FROM STDIN") as copy:
            for row in frame.itertuples(index=False):
                copy.write_row(row)
    tables = {
        "sqlite": ibis.sqlite.connect(path).table("canonical"),
        "postgres": scan_log(f"{postgres}::clicks").table.get_backend().table("canonical"),
    }
    return {
        name: LogTable(table, encoding=log.encoding, action_names=log.action_names) for name, table in tables.items()
    }


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ["sqlite", "postgres"])
def test_what_a_database_computes_is_what_the_rows_say(name: str, check: Any, canonical: dict[str, LogTable]):
    check(canonical[name], make_log())


def test_text_is_read_as_numbers_and_times_or_refused(postgres: str, folder: Path):
    """PostgreSQL fails at a cast, and SQLite makes 0 of it: both are only shown what fits."""
    for address in (postgres, folder / "log.sqlite"):
        good = "SELECT ad, CAST(click AS text) AS click, '2026-03-01 10:00' AS ts FROM clicks"
        log = read_log(address, query=good)
        np.testing.assert_array_equal(np.sort(log.outcomes), np.sort(FRAME["click"]))
        assert set(log.times) == {pd.Timestamp("2026-03-01 10:00").timestamp()}
        with pytest.raises(LogError, match="the outcome must be a number, got 'yes'"):
            read_log(address, query="SELECT ad, 'yes' AS click FROM clicks")
        odd = read_log(address, query="SELECT ad, click, 'noon' AS ts FROM clicks")
        assert odd.reading.left_out["ts"] == "its name is that of a time, its text is not"


def test_nothing_can_be_written(folder: Path, postgres: str):
    with pytest.raises(LogError):
        read_log(postgres, query="WITH gone AS (DELETE FROM clicks RETURNING *) SELECT * FROM gone")
    table = scan_log(f"{postgres}::clicks")
    with pytest.raises(Exception, match="read-only"):
        table.table.get_backend().raw_sql("DELETE FROM clicks")
    for name, at in (("log.duckdb", "headstart_source.clicks"), ("log.sqlite", "clicks")):
        backend = scan_log(f"{folder / name}::clicks").table.get_backend()
        with pytest.raises(Exception, match=r"read-only|readonly"):
            backend.con.execute(f"DELETE FROM {at}")
    assert len(read_log(f"{postgres}::clicks")) == 300


def test_an_address_without_a_table_lists_them(folder: Path, postgres: str, canonical: object):
    with pytest.raises(LogError, match=r"name a table, as in .*log.duckdb::clicks, or give query=; tables: clicks, "):
        read_log(folder / "log.duckdb")
    with pytest.raises(LogError, match="tables: clicks, "):
        read_log(str(folder / "log.sqlite"))
    with pytest.raises(LogError, match=r"::canonical, or give query=; tables: canonical, clicks, .*past\.clicks"):
        read_log(postgres)
    for address in (folder / "log.duckdb", folder / "log.sqlite", postgres):
        with pytest.raises(LogError, match="there is no table 'click'; did you mean 'clicks'"):
            read_log(f"{address}::click")


def test_a_mistake_in_an_address_is_said(folder: Path, tmp_path: Path):
    (tmp_path / "log.csv").write_text("action,reward\na,1\nb,0\n")
    with pytest.raises(LogError, match="neither a DuckDB nor a SQLite database"):
        read_log(f"{tmp_path / 'log.csv'}::clicks")
    with pytest.raises(LogError, match="no such file"):
        read_log(f"{tmp_path / 'none.duckdb'}::clicks")
    with pytest.raises(LogError, match="query= is for a database"):
        read_log(tmp_path / "log.csv", query="SELECT 1")
    with pytest.raises(LogError, match="give a table or query=, not both"):
        read_log(f"{folder / 'log.duckdb'}::clicks", query="SELECT 1")
    (tmp_path / "a::b.csv").write_text("action,reward\na,1\nb,0\n")
    assert len(read_log(tmp_path / "a::b.csv")) == 2


def test_a_password_is_never_shown():
    with pytest.raises(LogError) as caught:
        read_log("postgresql://me:s3cret@127.0.0.1:1/db::clicks")
    assert "s3cret" not in str(caught.value)
    assert "postgresql://me:***@127.0.0.1:1/db" in str(caught.value)
    with pytest.raises(LogError) as caught:
        read_log("mysql://me:s3cret@127.0.0.1:1/db::clicks")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("name", ["pandas", "psycopg"])
def test_a_driver_that_is_not_installed_says_how_to_get_it(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=rf"{name} is not installed: pip install 'headstart\[databases\]'"):
        read_log("postgresql://me@127.0.0.1:1/db::clicks")


def test_an_ibis_table_of_sqlite_with_times_as_text(folder: Path):
    """It failed with "TryCast is not defined"."""
    import ibis

    table: Any = ibis.sqlite.connect(folder / "log.sqlite").table("clicks")
    check_same(read_log(table, contexts=CONTEXTS))
