"""The options of a log: the same for every command, taught by --help, and errors in their words."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from typer.testing import CliRunner

from headstart.cli import app, main
from headstart.cli.wording import as_options
from tests.serve.postgres_server import PostgresServer


def make_frame(n: int = 1_200) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    ads = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "ad": np.array(["red", "blue"])[ads],
            "click": (rng.random(n) < 0.3 + 0.2 * ads).astype(int),
            "p": 0.5,
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(40.0, 9.0, n).round(3)),
            "shop": rng.choice(["north", "south"], n),
            "position": rng.integers(1, 3, n),
            "user_id": rng.integers(0, 400, n),
            "ts": pd.date_range("2026-03-01", periods=n, freq="h").strftime("%Y-%m-%d %H:%M:%S"),
        }
    )


FRAME = make_frame()
TELLING = ("--action", "ad", "--outcome", "click", "--contexts", "age", "--horizon", "100", "--json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    FRAME.to_csv(folder / "log.csv", index=False)
    FRAME.to_csv(folder / "log.txt", index=False)
    with closing(duckdb.connect(str(folder / "log.duckdb"))) as database:
        database.register("frame", FRAME)
        database.execute("CREATE TABLE clicks AS SELECT * FROM frame")
    with closing(sqlite3.connect(folder / "log.sqlite")) as database:
        FRAME.to_sql("clicks", database, index=False)
    return folder


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    import psycopg

    with PostgresServer() as server:
        with psycopg.connect(server.address, autocommit=True) as connection:
            connection.execute(
                "CREATE TABLE clicks (ad text, click int, p float8, age float8, shop text, position int, "
                "user_id int, ts text)"
            )
            with connection.cursor().copy("COPY clicks FROM STDIN") as copy:
                for row in FRAME.itertuples(index=False):
                    copy.write_row([None if value != value else str(value) for value in row])
        yield server.address


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def words(done: Result) -> str:
    return " ".join(done.output.replace("│", " ").split())


def test_every_database_is_audited_as_the_file_is(folder: Path, postgres: str):
    """A CSV, a DuckDB file, a SQLite file, a PostgreSQL and queries: the same verdict and the same counts."""
    found = []
    query = ("--query", "SELECT * FROM clicks")
    for log in (
        (str(folder / "log.csv"),),
        (f"{folder / 'log.duckdb'}::clicks",),
        (f"{folder / 'log.sqlite'}::clicks",),
        (f"{postgres}::clicks",),
        (postgres, *query),
        (str(folder / "log.duckdb"), *query),
    ):
        done = run("audit", *log, *TELLING)
        assert done.exit_code == 0, done.output
        told = json.loads(done.stdout)
        assert "unit        user_id  (recognised)" in "\n".join(told["reading"])
        found.append((told["verdict"]["decision"], told["facts"]["n_rows"], round(told["actions"]["lead"], 9)))
    assert all(each == found[0] for each in found)


def test_the_options_reach_the_reading(folder: Path):
    arguments = ("--where", "position=1", "--where", "shop=north", "--missing", "drop", "--unit", "none")
    arguments += ("--timestamp", "none", "--id", "none", "--format", "csv", "--confounders", "position")
    done = run("audit", str(folder / "log.txt"), *TELLING, *arguments)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    chosen = FRAME[(FRAME["position"] == 1) & (FRAME["shop"] == "north")]
    assert told["facts"]["n_rows"] == int(chosen["age"].notna().sum())
    text = "\n".join(told["reading"])
    assert "unit  " not in text
    assert "timestamp  " not in text
    assert "only rows where position = '1' and shop = 'north'" in text


def test_both_commands_take_the_same_log(folder: Path):
    texts = {name: words(run(name, "--help")) for name in ("audit", "compare")}
    for option in (
        "--action", "--outcome", "--contexts", "--confounders", "--propensity", "--unit", "--timestamp", "--id",
        "--where", "--missing", "--format", "--query",
    ):  # fmt: skip
        for name, text in texts.items():
            assert option in text, (name, option)
    for text in texts.values():
        assert "postgresql://me@host/db::clicks" in text
        assert "rows of one unit are not independent" in text


def test_compare_reads_a_database_with_units(folder: Path):
    arguments = (
        "--action",
        "ad",
        "--outcome",
        "click",
        "--contexts",
        "",
        "--policies",
        "ucb cold",
        "--shuffles",
        "2",
    )
    done = run("compare", f"{folder / 'log.duckdb'}::clicks", *arguments, "--rounds", "30", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["rounds"] == 30


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("log.txt",), "give --format, one of csv, dsjson, jsonl, parquet, tsv, vw, vw-cb, vw-cb-adf"),
        (("log.csv", "--action", "add"), "there is no column 'add'; did you mean 'ad'"),
        (("two.csv",), "'ad' and 'arm' may each be the action: say which with --action ad"),
        (("chances.csv",), "say which with --propensity p, or --propensity none"),
        (("log.duckdb",), "log.duckdb::clicks, or give --query; tables: clicks"),
        (("log.csv", "--query", "SELECT 1"), "--query is for a database"),
        (("log.csv", "--where", "position"), "--where must be column=value, got 'position'"),
        (("log.csv", "--where", "position=one"), "where: column 'position' is int64, got 'one'"),
        (("log.csv", "--missing", "ignore"), "missing must be 'fill', 'drop' or 'error', got 'ignore'"),
        (("log.duckdb::clicks", "--format", "csv"), "cannot be read in the format 'csv'"),
        (("log.csv", "--format", "sqlite"), "cannot be read in the format 'sqlite'"),
    ],
)
def test_a_mistake_is_told_in_the_words_of_the_command_line(
    arguments: tuple[str, ...], message: str, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(folder)
    Path("two.csv").write_text("ad,arm,click\na,x,1\nb,y,0\n")
    Path("chances.csv").write_text("ad,click,p,prob\na,1,0.5,0.5\nb,0,0.5,0.5\n")
    done = run("audit", *arguments)
    assert done.exit_code != 0
    assert message in words(done)
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("said", "worded"),
    [
        ("give format=, one of csv", "give --format, one of csv"),
        ("say unit='user_id'", "say --unit user_id"),
        ("say which with action='my ad'", "say which with --action 'my ad'"),
        ("or propensity=False", "or --propensity none"),
        ("contexts=[..., 'rare'] would keep", "--contexts ...,rare would keep"),
        ("where={'position': 1} reads one", "--where position=1 reads one"),
        ("the column 'action=' is odd", "the column 'action=' is odd"),
        ("memory_limit='1GB'", "memory_limit='1GB'"),
    ],
)
def test_a_message_is_worded_by_the_edge(said: str, worded: str):
    assert as_options(said) == worded


def test_the_reading_speaks_the_command_line_s_language(folder: Path):
    FRAME.rename(columns={"user_id": "basket_id"}).to_csv(folder / "baskets.csv", index=False)
    done = run("audit", str(folder / "baskets.csv"), *TELLING)
    n = FRAME["user_id"].nunique()
    assert (
        f"basket_id has {n} values in 1,200 rows: if rows of one value are of one person, say --unit basket_id"
        in ("\n".join(json.loads(done.stdout)["reading"]))
    )


def test_a_password_is_never_printed():
    done = run("audit", "postgresql://me:s3cret@127.0.0.1:1/db::clicks")
    assert done.exit_code == 1
    assert "s3cret" not in done.output


@pytest.mark.parametrize(
    "command",
    [
        ["serve", "x.toml"],
        ["reload", "http://localhost"],
        ["resume", "http://localhost", "a", "b"],
        ["keys", "new", "me"],
    ],
)
def test_what_to_install_is_printed_whole(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Rich takes [serve] for markup."""
    for name in [each for each in sys.modules if each.startswith(("headstart.serve", "orjson"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "orjson", None)
    monkeypatch.setattr(sys, "argv", ["headstart", *command])
    with pytest.raises(SystemExit):
        main()
    assert "pip install 'headstart[serve]'" in " ".join(capsys.readouterr().err.split())


def test_an_experiment_that_lacks_a_package_says_which(tmp_path: Path):
    """In a process of its own: another test may have read the trials already."""
    lacking = "import sys; sys.modules |= dict.fromkeys(['lifelines', 'causaldata']); "
    code = lacking + "from headstart.cli import main; main()"
    command = [sys.executable, "-c", code, "reproduce", "trials", "--runs", "2", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = " ".join((done.stdout + done.stderr).split())
    assert "trials: left out" in told
    assert "headstart[trials]" in told
