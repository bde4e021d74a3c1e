"""The same data through every source is the same log; every rule has a count; nothing is chosen in silence."""

import gzip
import json
import math
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as pa_dataset
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.errors import LogError
from headstart.logs.log import Log
from headstart.logs.tables import LogTable, Reading, read_log, scan_log
from headstart.logs.tables.duplicates import OUT_OF_ORDER, SAME_ID, SAME_ROW


def sample_rows(n=500):
    rng = np.random.default_rng(7)
    return {
        "ad": rng.choice(["banner", "café", "video"], n).tolist(),
        "age": rng.integers(18, 80, n).tolist(),
        "income": rng.normal(3.0, 1.0, n).round(6).tolist(),
        "region": rng.choice(["eu", "us", "as"], n).tolist(),
        "is_member": (rng.random(n) < 0.5).tolist(),
        "click": rng.integers(0, 2, n).tolist(),
        "pscore": rng.choice([0.2, 0.35, 0.45], n).tolist(),
    }


ROWS = sample_rows()
CONTEXTS = ("age", "income", "region", "is_member")
EXPECTED = Log(ROWS["ad"], ROWS["click"], {name: ROWS[name] for name in CONTEXTS}, ROWS["pscore"])


def as_csv(folder, name="log.csv", delimiter=","):
    pa_csv.write_csv(pa.table(ROWS), folder / name, pa_csv.WriteOptions(delimiter=delimiter))
    return folder / name


def as_lines(folder):
    lines = [json.dumps(row) for row in pa.table(ROWS).to_pylist()]
    (folder / "log.jsonl").write_text("\n".join(lines) + "\n")
    return folder / "log.jsonl"


def as_array(folder):
    (folder / "log.json").write_text(json.dumps(pa.table(ROWS).to_pylist()))
    return folder / "log.json"


def as_parquet(folder, name="log.parquet"):
    pq.write_table(pa.table(ROWS), folder / name)
    return folder / name


def as_two_files(folder):
    table = pa.table(ROWS)
    pq.write_table(table.slice(0, 200), folder / "part-0.parquet")
    pq.write_table(table.slice(200), folder / "part-1.parquet")
    (folder / "_SUCCESS").write_text("")
    return folder


def as_gzip(folder):
    (folder / "log.csv.gz").write_bytes(gzip.compress(as_csv(folder).read_bytes()))
    return folder / "log.csv.gz"


def as_zstd(folder):
    with pa.CompressedOutputStream(str(folder / "log.jsonl.zst"), "zstd") as out:
        out.write(as_lines(folder).read_bytes())
    return folder / "log.jsonl.zst"


def as_sqlite(folder):
    import ibis

    with closing(sqlite3.connect(folder / "log.db")) as database:
        pd.DataFrame(ROWS).to_sql("log", database, index=False)
    return ibis.sqlite.connect(folder / "log.db").table("log")


def as_memtable(folder):
    import ibis

    return ibis.memtable(pa.table(ROWS))


SOURCES = {
    "csv": as_csv,
    "semicolons": lambda folder: as_csv(folder, delimiter=";"),
    "tsv": lambda folder: as_csv(folder, "log.tsv", "\t"),
    "csv.gz": as_gzip,
    "parquet": as_parquet,
    "folder": as_two_files,
    "pattern": lambda folder: str(as_two_files(folder) / "part-*.parquet"),
    "list": lambda folder: sorted(as_two_files(folder).glob("*.parquet")),
    "text path": lambda folder: str(as_parquet(folder)),
    "jsonl": as_lines,
    "json": as_array,
    "jsonl.zst": as_zstd,
    "pandas": lambda folder: pd.DataFrame(ROWS),
    "pandas categories": lambda folder: pd.DataFrame(ROWS).astype({"ad": "category", "region": "category"}),
    "polars": lambda folder: pl.DataFrame(ROWS),
    "polars lazy": lambda folder: pl.LazyFrame(ROWS),
    "polars categories": lambda folder: pl.DataFrame(ROWS).with_columns(pl.col("ad").cast(pl.Categorical)),
    "arrow": lambda folder: pa.table(ROWS),
    "arrow batch": lambda folder: pa.RecordBatch.from_pydict(ROWS),
    "arrow stream": lambda folder: pa.table(ROWS).to_reader(max_chunksize=100),
    "arrow dataset": lambda folder: pa_dataset.dataset(as_parquet(folder)),
    "mapping": lambda folder: ROWS,
    "ibis on sqlite": as_sqlite,
    "ibis memtable": as_memtable,
}


def assert_same(log, expected):
    assert log.action_names == expected.action_names
    assert log.encoding == expected.encoding
    for name in ("actions", "outcomes", "contexts", "propensities"):
        np.testing.assert_array_equal(getattr(log, name), getattr(expected, name))


@pytest.mark.parametrize("kind", SOURCES)
def test_the_same_data_through_every_source_is_the_same_log(kind, tmp_path):
    # SQLite has no truth values: there the column is one of numbers.
    without = ("is_member",) if "sqlite" in kind else ()
    names = [name for name in CONTEXTS if name not in without]
    log = read_log(SOURCES[kind](tmp_path), contexts=names)
    assert_same(log, Log(ROWS["ad"], ROWS["click"], {name: ROWS[name] for name in names}, ROWS["pscore"]))
    assert (log.reading.n_rows, log.reading.n_kept) == (500, 500)


def test_a_spark_frame_gives_the_same_rows(spark):
    """Rows of a distributed table have no order: the same rows, sorted."""
    frame = spark._session.createDataFrame(pd.DataFrame(ROWS))
    log = read_log(frame)
    assert log.action_names == EXPECTED.action_names
    assert log.encoding == EXPECTED.encoding

    def as_sorted(log):
        rows = np.column_stack([log.actions, log.outcomes, log.propensities, log.contexts])
        return rows[np.lexsort(rows.T)]

    np.testing.assert_array_equal(as_sorted(log), as_sorted(EXPECTED))
    assert log.reading.format == "Spark frame"


def test_faults_are_counted_on_spark_too(spark):
    frame = pd.DataFrame({**ROWS, "event_id": range(500)})
    frame.loc[3, "income"] = np.nan
    frame.loc[4, "event_id"] = 0
    frame.loc[5, "pscore"] = 0.0
    reading = scan_log(spark._session.createDataFrame(frame)).reading
    assert (reading.n_rows, reading.n_kept) == (500, 498)
    assert reading.counts == {
        "missing value in 'income', filled": 1,
        "propensity outside (0, 1], dropped": 1,
        SAME_ID: 1,
    }
    assert len(scan_log(spark._session.createDataFrame(frame))) == 498
    assert len(scan_log(spark._session.createDataFrame(frame), missing="drop")) == 497


def test_scanning_loads_nothing_and_agrees(tmp_path):
    table = scan_log(as_parquet(tmp_path))
    assert isinstance(table, LogTable)
    assert len(table) == 500
    assert table.table.columns == ("action", "outcome", "propensity", "x0", "x1", "x2", "x3", "x4", "x5", "x6")
    assert [str(kind) for kind in table.table.schema().types] == ["int64"] + ["float64"] * 9
    np.testing.assert_allclose(table.action_sums().wy, EXPECTED.action_sums().wy)


def test_a_clean_table_of_indices_is_read_by_the_bare_query():
    """No filter and no cast where nothing calls for one: the statistics cost what the database costs."""
    import ibis

    rows = pa.table({"action": [0, 1, 0], "reward": [0.5, 1.0, 0.0], "p": [0.5, 0.5, 0.5], "age": [1.0, 2.0, 3.0]})
    sql = ibis.to_sql(scan_log(rows).table)
    for word in ("WHERE", "CAST", "CASE"):
        assert word not in str(sql)


def test_what_was_recognised_is_said(tmp_path):
    reading = read_log(as_csv(tmp_path)).reading
    assert isinstance(reading, Reading)
    assert reading.columns == {"action": "ad", "outcome": "click", "propensity": "pscore"}
    assert reading.recognised == ("action", "outcome", "propensity")
    assert reading.contexts == CONTEXTS
    text = str(reading)
    assert "log.csv (CSV): 500 rows, 500 kept" in text
    assert "propensity  pscore  (recognised)" in text
    assert "contexts    age, income, region, is_member" in text


@pytest.mark.parametrize(
    ("action", "outcome", "propensity"),
    [
        ("action", "reward", "pscore"),
        ("treatment", "y", "propensity_score"),
        ("arm", "converted", "p"),
        ("item_id", "click", "probability"),
        ("Ad", "Outcome", "PROB"),
        ("a", "response", "action prob"),
    ],
)
def test_names_in_common_use_are_recognised(action, outcome, propensity):
    log = read_log({action: [1, 2, 1], outcome: [0, 1, 1], propensity: [0.5, 0.5, 0.5]})
    assert log.reading.columns == {"action": action, "outcome": outcome, "propensity": propensity}
    assert log.action_names == (1, 2)
    assert log.n_features == 0


def test_two_candidates_are_not_chosen_between():
    rows = {"action": [0, 1], "reward": [1, 0], "click": [0, 1], "p": [0.5, 0.5]}
    with pytest.raises(LogError, match="'reward' and 'click' may each be the outcome: say which with outcome="):
        read_log(rows)
    assert read_log(rows, outcome="click", contexts=[]).outcomes.tolist() == [0.0, 1.0]
    with pytest.raises(LogError, match="or propensity=False"):
        read_log({"action": [0], "reward": [1], "p": [0.5], "pscore": [0.5]})


def test_two_candidates_for_an_id_or_a_time_are_left_out_and_said():
    rows = {"action": [0, 1], "reward": [1, 0], "id": [1, 2], "event_id": [3, 4]}
    reading = read_log(rows).reading
    assert "id" not in reading.columns
    assert reading.left_out["id"] == "'id' and 'event_id' may each be the id; id='id' would choose"


def test_a_role_can_be_refused():
    rows = {"action": [0, 1], "reward": [1, 0], "p": [0.5, 0.5], "ts": [1, 2]}
    log = read_log(rows, propensity=False, timestamp=False)
    assert not log.has_propensities
    assert log.n_features == 0  # a column that is called like a role does not become a context by itself


def test_no_candidate_is_an_error_that_lists_the_columns():
    with pytest.raises(LogError, match="no column looks like the action: give action=, one of shown, reward"):
        read_log({"shown": [0], "reward": [1]})


def test_a_column_has_one_role():
    rows = {"action": [0, 1], "reward": [1, 0]}
    with pytest.raises(LogError, match="column 'reward' is the outcome: it cannot be a context too"):
        read_log(rows, outcome="reward", contexts=["reward"])
    with pytest.raises(LogError, match="column 'action' is given as the action and as the outcome"):
        read_log(rows, action="action", outcome="action")


def test_contexts_left_alone_are_every_other_column_that_can_be_one():
    n = 300
    rows = {
        "action": [i % 2 for i in range(n)],
        "reward": [1.0] * n,
        "age": [i % 60 for i in range(n)],
        "order_id": list(range(n)),
        "word": [f"w{i}" for i in range(n)],
        "day": pd.date_range("2026-01-01", periods=n).date.tolist(),
        "rare": [1.0] * 100 + [None] * 200,
        "never": [None] * n,
    }
    log = read_log(rows)
    assert log.context_names == ("age", "rare", "rare is missing")
    assert len(log) == n
    left_out = log.reading.left_out
    assert left_out["order_id"] == "an identifier by its name"
    assert left_out["word"] == "text with 300 distinct values, more than 200"
    assert "of the kind date" in left_out["day"]
    assert left_out["never"] == "missing in every row"
    assert "missing in 200 of 300 rows" in read_log(rows, missing="drop").reading.left_out["rare"]
    with pytest.raises(LogError, match="context column 'word' is text with 300 distinct values"):
        read_log(rows, contexts=["word"])
    with pytest.raises(LogError, match="context column 'day' must be numbers, booleans or text, it is date"):
        read_log(rows, contexts=["day"])
    assert len(read_log(rows, contexts=["rare", "order_id"], missing="drop")) == 100


def test_text_of_very_many_values_is_found_by_the_sketch():
    n = 5_000
    rows = {"action": [i % 2 for i in range(n)], "reward": [1.0] * n, "word": [f"w{i}" for i in range(n)]}
    assert read_log(rows).reading.left_out == {"word": "text with 5,000 distinct values, more than 200"}


def test_confounders_are_adjusted_for_and_not_decided_on():
    log = read_log(ROWS, contexts=["age"], confounders=["region", "age"])
    assert log.context_names == ("age", "region=as", "region=eu", "region=us")
    assert log.reading.contexts == ("age",)
    assert log.reading.confounders == ("region",)
    assert log.reading.decide_on == ("age",)
    others = read_log(ROWS, confounders=["region"]).reading
    assert others.contexts == ("age", "income", "is_member")
    assert others.decide_on == ("age", "income", "is_member=False", "is_member=True")


def test_what_was_read_can_be_decided_on():
    from headstart.evaluators import ExactMatching
    from headstart.oracles import LinUCB
    from headstart.warmstart.warmstart import WarmStart

    log = read_log(ROWS, contexts=["is_member"], confounders=["region"])
    policy = WarmStart(LinUCB(3, 2), ExactMatching(log, rng=0), decide_on=log.reading.decide_on, rng=0)
    assert 0 <= policy.play(log.context({"is_member": True, "region": "eu"})) < 3


def test_missing_values_drop_the_row_and_are_counted_by_column():
    rows = {
        "action": ["a", None, "b", "a", "b"],
        "reward": [1.0, 1.0, math.nan, 0.0, 1.0],
        "p": [0.5, 0.5, 0.5, None, 0.5],
        "age": [1.0, None, 3.0, 4.0, 5.0],
    }
    log = read_log(rows, missing="drop")
    assert log.contexts[:, 0].tolist() == [1.0, 5.0]
    assert log.reading.counts == {
        "missing value in 'action', dropped": 1,
        "missing value in 'reward', dropped": 1,
        "missing value in 'p', dropped": 1,
        "missing value in 'age', dropped": 1,
    }
    assert (log.reading.n_rows, log.reading.n_kept) == (5, 2)
    with pytest.raises(LogError, match=r"row 1: missing value in 'action': None \(in 1 of 5 rows"):
        read_log(rows, missing="error")


def test_a_missing_value_in_a_column_that_is_not_used_does_not_matter():
    rows = {"action": ["a", "b"], "reward": [1.0, 0.0], "age": [None, 3.0]}
    assert len(read_log(rows, contexts=[])) == 2


def test_marks_of_missing_values_in_csv(tmp_path):
    (tmp_path / "log.csv").write_text("action,reward,age\na,1,3\nb,NA,4\na,,5\nb,0,N/A\na,1,null\n")
    log = read_log(tmp_path / "log.csv", missing="drop")
    assert log.outcomes.tolist() == [1.0]
    assert log.reading.counts == {"missing value in 'reward', dropped": 2, "missing value in 'age', dropped": 2}
    assert read_log(tmp_path / "log.csv").contexts.tolist() == [[3.0, 0.0], [3.0, 1.0], [3.0, 1.0]]
    with pytest.raises(LogError, match=r"log.csv, line 3: missing value in 'reward': None"):
        read_log(tmp_path / "log.csv", missing="error")


def test_infinite_values_are_dropped_and_counted():
    rows = {"action": [0, 1, 0], "reward": [math.inf, 1.0, 0.0], "age": [1.0, -math.inf, 2.0]}
    log = read_log(rows, missing="drop")
    assert log.outcomes.tolist() == [0.0]
    assert log.reading.counts == {"infinite value in 'reward', dropped": 1, "infinite value in 'age', dropped": 1}
    log = read_log(rows)
    assert log.contexts.tolist() == [[2.0, 1.0], [2.0, 0.0]]
    assert log.reading.counts == {"infinite value in 'reward', dropped": 1, "infinite value in 'age', filled": 1}


def test_a_propensity_outside_its_range_is_dropped_and_counted():
    n = 1_000
    chances = [0.5] * n
    chances[3], chances[4], chances[5] = 0.0, 1.5, math.nan
    log = read_log({"action": [0, 1] * 500, "reward": range(n), "p": chances})
    assert log.reading.counts == {"missing value in 'p', dropped": 1, "propensity outside (0, 1], dropped": 2}
    assert len(log) == n - 3


def test_a_column_that_is_no_propensity_is_refused():
    rows = {"action": [0, 1], "reward": [1.0, 0.0], "p": [50.0, 50.0]}
    with pytest.raises(LogError, match=r"row 0: propensity outside \(0, 1\]: 50.0 \(in 2 of 2 rows\); is it a"):
        read_log(rows)


def test_no_usable_row_is_an_error():
    with pytest.raises(LogError, match=r"no row can be used \(missing value in 'reward', dropped: 2"):
        read_log({"action": [0, 1], "reward": [math.nan, None]})


def test_truth_values_are_outcomes():
    log = read_log({"action": [0, 1, 0], "reward": [True, False, True]})
    assert log.outcomes.tolist() == [1.0, 0.0, 1.0]
    assert "the outcome is true or false: read as 1 and 0" in log.reading.notes


def test_numbers_written_as_text_are_outcomes():
    log = read_log({"action": [0, 1, 0, 1], "reward": ["1.5", " 2 ", "", None]})
    assert log.outcomes.tolist() == [1.5, 2.0]
    assert "the outcome is text that is all numbers: read as numbers" in log.reading.notes
    with pytest.raises(LogError, match="row 1: column 'reward': the outcome must be a number, got 'yes'"):
        read_log({"action": [0, 1], "reward": ["1.5", "yes"]})


def test_labels_outside_the_given_names_are_an_error_with_counts():
    rows = {"action": ["a", "b", "b", "c"], "reward": [1, 0, 1, 0]}
    with pytest.raises(LogError, match=r"actions that are not in action_names: 'b' \(2 rows\), 'c' \(1 rows\)"):
        read_log(rows, action_names=["a"])
    log = read_log(rows, action_names=["c", "b", "a", "z"])
    assert log.actions.tolist() == [2, 1, 1, 0]
    assert log.n_actions == 4


@pytest.mark.parametrize(
    "labels",
    [
        [5, 6, 7],
        [0, 1, 2],
        [-3, 10, 400],
        [1.0, 2.0, 3.0],
        [0.5, 1.5, 2.5],
        [True, False, True],
        ["b", "a", "é"],
    ],
)
def test_labels_of_any_kind_become_the_indices_that_a_log_gives(labels):
    rows = {"action": labels * 2, "reward": [1.0] * 6}
    expected = Log([int(x) if isinstance(x, float) and x.is_integer() else x for x in labels * 2], rows["reward"])
    log = read_log(rows)
    assert log.action_names == expected.action_names
    assert log.actions.tolist() == expected.actions.tolist()


def test_many_labels_are_found_by_halving(tmp_path):
    rng = np.random.default_rng(3)
    for labels in (rng.choice([f"item {i}" for i in range(700)], 3_000), rng.choice(np.arange(0, 3_000, 7), 3_000)):
        rows = {"action": labels, "reward": np.ones(3_000)}
        assert read_log(rows).actions.tolist() == Log(labels, rows["reward"]).actions.tolist()


def test_whole_numbers_with_a_missing_one_stay_whole():
    frame = pd.DataFrame({"action": [1, 2, None], "reward": [1, 0, 1]})
    assert read_log(frame).action_names == (1, 2)


def test_an_id_that_comes_again_is_dropped():
    rows = {"event_id": ["x", "y", "x", None, None, "x"], "action": [0, 1, 1, 0, 1, 1], "reward": [1, 2, 3, 4, 5, 6]}
    log = read_log(rows)
    assert log.outcomes.tolist() == [1.0, 2.0, 4.0, 5.0]
    assert log.reading.counts == {SAME_ID: 2}
    assert (log.reading.n_rows, log.reading.n_kept) == (6, 4)
    assert len(scan_log(rows)) == 4
    assert len(read_log(rows, id=False)) == 6


def test_ids_dealt_into_parts_are_counted_like_ids_at_once(monkeypatch):
    from headstart.logs.tables import duplicates

    rows = {"event_id": [i % 70 for i in range(100)], "action": [0, 1] * 50, "reward": range(100)}
    whole = read_log(rows)
    monkeypatch.setattr(duplicates, "_IDS_AT_ONCE", 7)
    parts = read_log(rows)
    assert whole.reading.counts == parts.reading.counts == {SAME_ID: 30}
    assert parts.outcomes.tolist() == list(range(70))


def test_equal_rows_are_kept_and_counted():
    log = read_log({"action": [0, 1, 0, 0], "reward": [1, 0, 1, 1]})
    assert len(log) == 4
    assert log.reading.counts == {SAME_ROW: 2}


def test_rows_out_of_order_are_counted_and_put_in_order():
    rows = {
        "ts": ["2026-01-03", "2026-01-01", "2026-01-02", "2026-01-02"],
        "action": [0, 1, 0, 1],
        "reward": [3, 1, 2, 2.5],
    }
    log = read_log(rows)
    assert log.outcomes.tolist() == [1.0, 2.0, 2.5, 3.0]
    assert log.reading.counts == {OUT_OF_ORDER: 1}
    table = scan_log(rows)
    assert str(table.table.time.type()).startswith("timestamp")
    assert table.to_log().outcomes.tolist() == [3.0, 1.0, 2.0, 2.5]


def test_times_with_an_offset_are_compared_as_times():
    """02:00 two hours east of Greenwich is midnight there; a time without an offset is Greenwich's."""
    times = ["2026-01-01T02:00:00+02:00", "2026-01-01T00:30:00Z", "2026-01-01 00:40"]
    reading = scan_log({"ts": times, "action": [0, 1, 0], "reward": [1, 2, 3]}).reading
    assert OUT_OF_ORDER not in reading.counts


def test_text_that_is_no_time_is_not_one():
    rows = {"time": ["morning", "evening"], "action": [0, 1], "reward": [1, 0]}
    log = read_log(rows)
    assert "timestamp" not in log.reading.columns
    assert log.reading.left_out == {"time": "its name is that of a time, its text is not"}
    with pytest.raises(LogError, match="row 0: column 'time': the timestamp must be a time, got 'morning'"):
        read_log(rows, timestamp="time")
    assert read_log(rows, contexts=["time"]).context_names == ("time=evening", "time=morning")


def test_where_keeps_the_rows_with_a_value(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("action,reward,position\na,1,1\nb,x,2\na,0,1\nb,y,1\n")
    with pytest.raises(LogError, match=r"line 5: column 'reward': the outcome must be a number, got 'y'"):
        read_log(path, where={"position": 1})
    log = read_log({"action": ["a", "b", "a"], "reward": [1, 2, 3], "position": [1, 2, 1]}, where={"position": 1})
    assert log.outcomes.tolist() == [1.0, 3.0]
    assert log.context_names == ()
    assert "only rows where position = 1" in log.reading.notes
    assert read_log({"action": ["a", "b"], "reward": [1, 2]}, where={"action": "b"}).action_names == ("b",)
    with pytest.raises(LogError, match="no rows with these values"):
        read_log({"action": ["a"], "reward": [1], "position": [1]}, where={"position": 9})
    with pytest.raises(LogError, match="there is no column 'positon'; did you mean 'position'"):
        read_log({"action": ["a"], "reward": [1], "position": [1]}, where={"positon": 9})


def test_objects_within_json_become_columns(tmp_path):
    rows = [{"action": "a", "reward": 1, "user": {"age": 3, "home": {"zone": "x"}}}, {"action": "b", "reward": 0}]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    log = read_log(tmp_path / "log.jsonl", contexts=["user.age", "user.home.zone"], missing="drop")
    assert log.context_names == ("user.age", "user.home.zone=x")
    assert log.reading.counts["missing value in 'user.age', dropped"] == 1


def test_partitions_in_the_names_of_folders_are_columns(tmp_path):
    for year in (2025, 2026):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(pa.table({"action": [0, 1], "reward": [1.0, 0.0]}), tmp_path / f"year={year}" / "part.parquet")
    assert read_log(tmp_path, contexts=["year"]).contexts[:, 0].tolist() == [2025, 2025, 2026, 2026]


def test_parquet_files_with_a_column_more(tmp_path):
    pq.write_table(pa.table({"action": [0, 1], "reward": [1.0, 0.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"action": [0, 1], "reward": [1.0, 0.0], "age": [3.0, 4.0]}), tmp_path / "b.parquet")
    assert read_log(tmp_path, contexts=["age"]).contexts.tolist() == [[3.5, 1], [3.5, 1], [3, 0], [4, 0]]
    log = read_log(tmp_path, contexts=["age"], missing="drop")
    assert len(log) == 2
    assert log.reading.counts["missing value in 'age', dropped"] == 2
    assert any("different columns" in note for note in log.reading.notes)


def test_names_that_need_quoting(tmp_path):
    name = 'it\'s a "log" [1].csv'
    rows = {"the action's": ["a", "b"], 'reward "net"': [1, 0], "x; drop table": [1.5, 2.5]}
    pa_csv.write_csv(pa.table(rows), tmp_path / name)
    log = read_log(tmp_path / name, action="the action's", outcome='reward "net"')
    assert log.context_names == ("x; drop table",)
    assert log.contexts[:, 0].tolist() == [1.5, 2.5]


def test_a_log_keeps_its_reading():
    log = read_log(ROWS)
    assert log.take([0, 1]).reading is log.reading
    assert log.with_propensities(np.full(500, 0.5)).reading is log.reading
    assert EXPECTED.reading is None


@settings(max_examples=30)
@given(st.data())
def test_any_frame_without_faults_is_read_as_a_log_reads_it(data):
    n = data.draw(st.integers(1, 40))

    def column(values):
        return data.draw(st.lists(values, min_size=n, max_size=n))

    finite = st.floats(allow_nan=False, allow_infinity=False, width=64)
    text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=5)
    labels = data.draw(st.sampled_from([text, st.integers(-5, 5), st.booleans()]))
    rows = {
        "action": column(labels),
        "reward": column(finite),
        "p": column(st.floats(1e-6, 1.0)),
        "number": column(finite),
        "word": column(text),
        "flag": column(st.booleans()),
    }
    contexts = {name: rows[name] for name in ("number", "word", "flag")}
    log = read_log(pa.table(rows), contexts=list(contexts))
    assert_same(log, Log(rows["action"], rows["reward"], contexts, rows["p"]))


KINDS = ["ok", "no action", "no reward", "infinite", "no p", "wrong p"]


@settings(max_examples=30)
@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=300))
def test_rows_kept_and_counted_add_up(kinds):
    """Each row has at most one fault, so the counts and the kept rows sum to all."""
    n_wrong = kinds.count("wrong p")
    kinds = kinds + ["ok"] * (100 * n_wrong + 1)  # beyond one in a hundred the column is refused
    rows = {
        "action": [None if kind == "no action" else i % 3 for i, kind in enumerate(kinds)],
        "reward": [{"no reward": math.nan, "infinite": math.inf}.get(kind, 1.0) for kind in kinds],
        "p": [{"no p": None, "wrong p": 2.0}.get(kind, 0.5) for kind in kinds],
    }
    reading = scan_log(pa.table(rows)).reading
    dropped = sum(n for rule, n in reading.counts.items() if rule.endswith("dropped"))
    assert reading.n_rows == len(kinds)
    assert reading.n_kept == kinds.count("ok")
    assert reading.n_kept + dropped == reading.n_rows


def test_yes_and_no_stay_words_and_true_and_false_are_outcomes(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("likes,action,click\nyes,a,True\nno,b,False\nyes,b,TRUE\n")
    log = read_log(path, action="action", outcome="click", contexts=["likes"])
    assert log.context_names == ("likes=no", "likes=yes")
    assert log.outcomes.tolist() == [1.0, 0.0, 1.0]
