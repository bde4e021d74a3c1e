"""A sample of a table with units: whole units, drawn by a digest of their names, alike on every database."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

from headstart.logs.tables import scan_log
from headstart.logs.tables.unit_sampling import digest

FALSE_ALARM = 1e-6


def visits(n_users: int = 2_000, n_visits: int = 5) -> pd.DataFrame:
    """The outcome numbers the rows, so that one can tell which are in a sample."""
    n = n_users * n_visits
    users = np.random.default_rng(1).permutation(np.repeat(np.arange(n_users), n_visits))
    return pd.DataFrame(
        {
            "action": np.arange(n) % 2,
            "reward": np.arange(float(n)),
            "user_id": [f"u{user}" for user in users],
            "ts": pd.date_range("2026-01-01", periods=n, freq="min", tz="UTC"),
        }
    )


FRAME = visits()


def test_whole_units_are_drawn_with_about_as_many_rows():
    """Each of 2,000 units of 5 rows with the chance 0.1: 1,000 rows, give or take 5 sqrt(2000 0.1 0.9) = 67."""
    table = scan_log(FRAME)
    users = FRAME["user_id"].to_numpy()
    for seed in range(5):
        sample = table.sample(1_000, rng=seed)
        assert abs(len(sample) - 1_000) < stats.norm.isf(FALSE_ALARM / 10) * 67.1
        taken, counts = np.unique(users[sample.outcomes.astype(int)], return_counts=True)
        assert (counts == 5).all()
        assert np.unique(sample.units).size == taken.size
        assert sample.times is not None


def test_every_unit_is_drawn_equally_often():
    """200 units, 40 seeds, chance 0.1: squared deviations of the counts from 4 over 3.6 are near chi-square, 200."""
    frame = visits(200, 3)
    table, users = scan_log(frame), frame["user_id"].to_numpy()
    counts = dict.fromkeys(users, 0)
    for seed in range(40):
        for user in set(users[table.sample(60, rng=seed).outcomes.astype(int)]):
            counts[user] += 1
    statistic = sum((n - 4.0) ** 2 for n in counts.values()) / 3.6
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 200)
    assert low < statistic < high


def test_the_sample_depends_on_units_and_seed_alone():
    one = scan_log(FRAME, threads=1).sample(500, rng=3)
    other = scan_log(FRAME.sample(frac=1.0, random_state=0), threads=4).sample(500, rng=3)
    np.testing.assert_array_equal(one.outcomes, other.outcomes)
    np.testing.assert_array_equal(one.units, other.units)
    assert set(scan_log(FRAME).sample(500, rng=4).outcomes) != set(one.outcomes)


def test_a_digest_is_the_md5_of_seed_and_name():
    table = ibis.memtable({"unit": ["u1", "ü"]})
    expected = [hashlib.md5(f"7:{name}".encode()).hexdigest() for name in ("u1", "ü")]
    assert digest(table.unit, 7).to_pyarrow().to_pylist() == expected


def test_sqlite_spark_and_duckdb_draw_the_same_units(tmp_path: Path, spark: Any):
    plain = FRAME.assign(ts=FRAME["ts"].dt.strftime("%Y-%m-%d %H:%M:%S"))
    with sqlite3.connect(tmp_path / "log.db") as database:
        plain.to_sql("log", database, index=False)
    expected = scan_log(FRAME).sample(300, rng=7)
    for source in (ibis.sqlite.connect(tmp_path / "log.db").table("log"), spark._session.createDataFrame(FRAME)):
        found = scan_log(source).sample(300, rng=7)
        np.testing.assert_array_equal(found.outcomes, expected.outcomes)
        np.testing.assert_array_equal(found.times, expected.times)
        np.testing.assert_array_equal(found.units, expected.units)


@pytest.mark.parametrize("seed", range(4))
def test_a_unit_larger_than_the_sample_is_thinned_and_no_sample_is_empty(seed: int):
    """One unit has 9,000 of 10,000 rows: whole, it would not fit where a sample has to."""
    rows = {
        "action": [i % 2 for i in range(10_000)],
        "reward": list(map(float, range(10_000))),
        "user_id": ["robot"] * 9_000 + [f"u{i // 2}" for i in range(1_000)],
    }
    table = scan_log(pa.table(rows))
    assert 0 < len(table.sample(100, rng=seed)) <= 200
    assert 0 < len(table.sample(1, rng=seed)) <= 2


def test_without_units_time_does_not_make_equal_rows_cling():
    """10,000 rows of two kinds, told apart by their times alone: 500 are a hypergeometric number of each kind."""
    rows = {
        "action": [0] * 5_000 + [1] * 5_000,
        "reward": [1.0] * 10_000,
        "ts": list(range(10_000)),
    }
    table = scan_log(pa.table(rows))
    for seed in range(5):
        sample = table.sample(500, rng=seed)
        assert len(sample) == 500
        assert abs(int((sample.actions == 0).sum()) - 250) < stats.norm.isf(FALSE_ALARM / 10) * np.sqrt(500 / 4)
