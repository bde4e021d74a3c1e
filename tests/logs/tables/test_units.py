"""Whose the rows are and when: recognised, carried into the log, and never costly when only guessed."""

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
from headstart.logs.tables import read_log, scan_log


def visits(n_users: int = 60, n_visits: int = 20, name: str = "user_id") -> dict[str, list[Any]]:
    rng = np.random.default_rng(2)
    n = n_users * n_visits
    users = rng.permutation(np.repeat(np.arange(n_users), n_visits))
    return {
        "action": rng.choice(["a", "b"], n).tolist(),
        "reward": rng.integers(0, 2, n).tolist(),
        "age": rng.integers(18, 80, n).tolist(),
        name: [f"u{user}" for user in users],
        "ts": pd.date_range("2026-01-01", periods=n, freq="90s").tolist(),
    }


ROWS = visits()
SECONDS = [time.timestamp() for time in ROWS["ts"]]


def as_parquet(folder: Path, spark: Any) -> Any:
    pq.write_table(pa.table(ROWS), folder / "log.parquet")
    return folder / "log.parquet"


def as_csv(folder: Path, spark: Any) -> Any:
    pd.DataFrame(ROWS).to_csv(folder / "log.csv", index=False)
    return folder / "log.csv"


def as_frame(folder: Path, spark: Any) -> Any:
    return pd.DataFrame(ROWS)


def as_sqlite(folder: Path, spark: Any) -> Any:
    frame = pd.DataFrame(ROWS)
    frame["ts"] = frame["ts"].astype(str)
    with sqlite3.connect(folder / "log.db") as database:
        frame.to_sql("log", database, index=False)
    return ibis.sqlite.connect(folder / "log.db").table("log")


def as_spark(folder: Path, spark: Any) -> Any:
    return spark._session.createDataFrame(pd.DataFrame(ROWS))


SOURCES = [as_parquet, as_csv, as_frame, as_sqlite, as_spark]


@pytest.mark.parametrize("make", SOURCES, ids=lambda make: make.__name__)
def test_every_source_says_whose_and_when_each_row_is(make: Any, tmp_path: Path, spark: Any):
    """Also a SQLite table whose times are text, which failed with "TryCast is not defined"."""
    log = read_log(make(tmp_path, spark))
    assert log.reading.columns["unit"] == "user_id"
    assert "unit" in log.reading.recognised
    assert log.context_names == ("age",)
    assert "1,200 rows are of 60 units (user_id)" in log.reading.notes
    assert log.units is not None
    assert log.times is not None
    np.testing.assert_allclose(np.diff(log.times), 90.0)
    users = np.array(ROWS["user_id"])
    numbers = {user: set(log.units[users == user].tolist()) for user in set(ROWS["user_id"])}
    assert {len(found) for found in numbers.values()} == {1}
    assert len(set.union(*numbers.values())) == 60


def test_seconds_are_since_1970_and_numbers_stay_numbers():
    log = read_log(ROWS)
    np.testing.assert_allclose(log.times, SECONDS)
    rows = {"action": [0, 1, 0], "reward": [1, 0, 1], "ts": [5, 6, 9]}
    assert read_log(rows).times.tolist() == [5.0, 6.0, 9.0]
    rows["ts"] = pd.to_datetime(["2026-01-01", "2026-01-02", "2026-01-04"]).date.tolist()
    assert np.diff(read_log(rows).times).tolist() == [86_400.0, 172_800.0]
    assert read_log(rows, timestamp=False).times is None


def test_a_unit_can_be_named_or_denied():
    rows = visits(name="household")
    assert read_log(rows).units is None
    assert np.unique(read_log(rows, unit="household").units).size == 60
    assert read_log(ROWS, unit=False).units is None
    with pytest.raises(LogError, match="there is no column 'huosehold'; did you mean 'household'"):
        read_log(rows, unit="huosehold")


def test_of_two_candidates_neither_is_used_and_both_are_said():
    rows = {**ROWS, "session_id": list(range(1200))}
    reading = scan_log(rows).reading
    assert "unit" not in reading.columns
    assert reading.left_out["user_id"] == (
        "'user_id' and 'session_id' may each be the unit; unit='user_id' would choose"
    )
    assert np.unique(read_log(rows, unit="user_id").units).size == 60


def test_a_unit_that_never_repeats_costs_nothing_and_is_only_a_role():
    rows = {**ROWS, "user_id": list(range(1200))}
    table = scan_log(rows)
    assert table.reading.columns["unit"] == "user_id"
    assert not table.has_units
    assert not [note for note in table.reading.notes if "units" in note]
    assert read_log(rows).units is None


def test_a_kind_of_customer_is_a_context_and_no_unit():
    rows = visits(name="customer")
    rows["customer"] = ["new", "old"] * 600
    log = read_log(rows)
    assert log.units is None
    assert log.context_names == ("age", "customer=new", "customer=old")
    both = read_log({**rows, "customer_id": ROWS["user_id"]})
    assert both.reading.columns["unit"] == "customer_id"
    assert both.context_names == ("age", "customer=new", "customer=old")


def test_a_guess_costs_no_rows_and_a_word_does():
    rows = {**ROWS, "user_id": [None if i % 5 == 0 else user for i, user in enumerate(ROWS["user_id"])]}
    log = read_log(rows)
    assert len(log) == 1200
    assert log.reading.left_out["user_id"].startswith("missing in 240 of 1,200 rows; unit='user_id' would use it")
    given = read_log(rows, unit="user_id")
    assert len(given) == 960
    assert given.reading.counts["missing value in 'user_id', dropped"] == 240


def test_an_identifier_that_repeats_is_noticed():
    rows = visits(name="basket_id")
    notes = read_log(rows).reading.notes
    assert (
        "basket_id has 60 values in 1,200 rows: if rows of one value are of one person, say unit='basket_id'" in notes
    )
    assert not [note for note in read_log(rows, unit=False).reading.notes if "of one person" in note]
    assert not [note for note in read_log(rows, unit="basket_id").reading.notes if "of one person" in note]
    once = {**rows, "basket_id": list(range(1200))}
    assert not [note for note in read_log(once).reading.notes if "of one person" in note]


@pytest.mark.parametrize("first", [1, 4_000_000_000])
def test_whole_numbers_that_nearly_all_differ_are_an_identifier(first: int):
    rng = np.random.default_rng(0)
    rows = {
        "action": rng.integers(0, 2, 1000).tolist(),
        "reward": rng.random(1000).tolist(),
        "trip": (first + rng.permutation(1000)).tolist(),
        "income": np.exp(rng.normal(11.0, 0.6, 1000)).astype(int).tolist(),
    }
    assert np.unique(rows["income"]).size > 980
    log = read_log(rows)
    assert log.context_names == ("income",)
    assert "an identifier by its values" in log.reading.left_out["trip"]
    assert read_log(rows, contexts=["trip"]).context_names == ("trip",)


def test_a_numeric_session_is_no_context_however_it_is_written():
    for name in ("session_id", "sessionId", "SessionID", "session id", "sessionid"):
        rows = {**visits(name=name), name: list(np.repeat(np.arange(60), 20))}
        log = read_log(rows)
        assert log.context_names == ("age",), name
        assert log.reading.columns["unit"] == name


def test_a_time_of_day_is_no_time(tmp_path: Path):
    (tmp_path / "log.csv").write_text("action,reward,time\na,1,12:30:00\nb,0,13:00:00\n")
    log = read_log(tmp_path / "log.csv")
    assert log.times is None
    assert log.reading.left_out["time"] == "its name is that of a time, but it is time"
    with pytest.raises(LogError, match="column 'time': the timestamp must be a time, it is time"):
        read_log(tmp_path / "log.csv", timestamp="time")


def test_units_written_as_floats_are_whole_numbers():
    rows = {**ROWS, "user_id": [float(name[1:]) for name in ROWS["user_id"]]}
    assert np.unique(read_log(rows).units).size == 60
    rows["user_id"] = [value + 0.5 for value in rows["user_id"]]
    assert "its name is that of a unit, its numbers are not" in read_log(rows).reading.left_out["user_id"]


def test_actions_that_differ_only_in_case_and_blanks_are_said_and_not_merged():
    rows = {"action": ["Gift Card ", "gift card", "none"], "reward": [1, 0, 1]}
    log = read_log(rows)
    assert log.action_names == ("Gift Card ", "gift card", "none")
    (note,) = [note for note in log.reading.notes if "look like one action" in note]
    assert note.startswith("'Gift Card ' and 'gift card' look like one action")


def test_portions_of_a_table_have_units_too(tmp_path: Path):
    table = scan_log(as_parquet(tmp_path, None))
    portions = list(table.batches(500))
    assert sum(map(len, portions)) == 1200
    assert all(portion.units is not None and portion.times is not None for portion in portions)


def test_a_column_id_that_repeats_is_somebody_s_and_costs_no_rows(tmp_path):
    """300 people with ten rows each, in a column called id: 2,700 rows were dropped as sent twice."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": np.repeat(np.arange(300), 10), "action": rng.integers(0, 2, 3000)})
    frame["reward"] = rng.random(3000)
    log = read_log(frame)
    assert len(log) == 3000
    assert np.unique(log.units).size == 300
    assert any("is taken for whose they are" in note for note in log.reading.notes)
    assert len(read_log(frame, id="id")) == 300
