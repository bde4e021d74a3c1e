"""Files as they should not be: each is a LogError that names the place, and nothing of the database leaks."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headstart.errors import LogError, OptionError
from headstart.logs.tables import read_log, scan_log

HEADER = "action,outcome,propensity,age\n"
ROW = "a,1,0.5,30\n"


def write(path, text):
    path.write_text(text)
    return path


def refused(source, **options):
    with pytest.raises(LogError) as caught:
        read_log(source, **options)
    return str(caught.value)


def test_a_path_that_does_not_exist(tmp_path):
    assert "nowhere.csv: no such file or folder" in refused(tmp_path / "nowhere.csv")


def test_a_pattern_that_matches_nothing(tmp_path):
    assert "*.parquet: no file matches this pattern" in refused(str(tmp_path / "*.parquet"))


def test_a_folder_without_logs(tmp_path):
    write(tmp_path / "readme.txt", "hello")
    assert "the folder has no file that headstart reads" in refused(tmp_path)


def test_a_folder_of_several_kinds(tmp_path):
    write(tmp_path / "a.csv", HEADER + ROW)
    write(tmp_path / "b.jsonl", "{}\n")
    assert "files of several kinds (.csv, .jsonl)" in refused(tmp_path)


def test_an_address_that_is_not_local():
    assert "open others with Ibis" in refused("s3://bucket/log.parquet")


def test_a_format_that_is_not_known(tmp_path):
    path = write(tmp_path / "log.xls", "x")
    assert "format is not known by the name (.xls); give format=" in refused(path)
    assert "unknown format 'excel'; known: csv" in refused(path, format="excel")


@pytest.mark.parametrize("name", ["log.csv", "log.parquet", "log.jsonl", "log.vw", "log.dsjson"])
def test_an_empty_file(tmp_path, name):
    assert f"{name}: the file is empty" in refused(write(tmp_path / name, ""))


def test_a_header_without_rows(tmp_path):
    assert "log.csv: there are columns but no rows" in refused(write(tmp_path / "log.csv", HEADER))


def test_a_parquet_file_without_rows(tmp_path):
    nothing = pa.table({"action": pa.array([], pa.int64()), "outcome": pa.array([], pa.float64())})
    pq.write_table(nothing, tmp_path / "log.parquet")
    assert "there are columns but no rows" in refused(tmp_path / "log.parquet")


def test_a_truncated_parquet_file_among_good_ones(tmp_path):
    good = pa.table({"action": [0, 1], "outcome": [0.0, 1.0]})
    pq.write_table(good, tmp_path / "a.parquet")
    pq.write_table(good, tmp_path / "b.parquet")
    whole = (tmp_path / "b.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(whole[: len(whole) // 2])
    assert "b.parquet: cannot be read as Parquet (is it complete?)" in refused(tmp_path)


def test_parquet_pages_that_are_damaged(tmp_path):
    """The footer is whole, so only reading the column finds it."""
    table = pa.table({"action": np.arange(5000) % 2, "outcome": np.sqrt(np.arange(5000) % 97)})
    pq.write_table(table, tmp_path / "log.parquet", compression="zstd", use_dictionary=False)
    content = (tmp_path / "log.parquet").read_bytes()
    start = pq.read_metadata(tmp_path / "log.parquet").row_group(0).column(1).data_page_offset + 60
    (tmp_path / "log.parquet").write_bytes(content[:start] + bytes(200) + content[start + 200 :])
    assert "log.parquet" in refused(tmp_path / "log.parquet")


def test_a_file_that_is_cut_in_the_middle_of_its_compression(tmp_path):
    whole = gzip.compress((HEADER + ROW * 5000).encode())
    (tmp_path / "log.csv.gz").write_bytes(whole[: len(whole) // 2])
    assert "log.csv.gz" in refused(tmp_path / "log.csv.gz")


@pytest.mark.parametrize(("before", "line"), [(3, 5), (30_000, 30_002)])
def test_a_row_with_too_many_cells(tmp_path, before, line):
    path = write(tmp_path / "log.csv", HEADER + ROW * before + "a,1,0.5,30,7\n" + ROW)
    assert f"log.csv, line {line}: 5 columns where the header has 4: 'a,1,0.5,30,7'" in refused(path)


@pytest.mark.parametrize(("before", "line"), [(3, 5), (30_000, 30_002)])
def test_a_row_with_too_few_cells(tmp_path, before, line):
    path = write(tmp_path / "log.csv", HEADER + ROW * before + "a,1\n" + ROW)
    assert f"log.csv, line {line}: 2 columns where the header has 4" in refused(path)


@pytest.mark.parametrize(("before", "line"), [(3, 5), (30_000, 30_002)])
def test_an_outcome_that_is_text(tmp_path, before, line):
    path = write(tmp_path / "log.csv", HEADER + ROW * before + "a,oops,0.5,30\n" + ROW)
    message = refused(path)
    assert f"log.csv, line {line}: column 'outcome': the outcome must be a number, got 'oops'" in message
    assert f"(in 1 of {before + 2:,} rows)" in message


def test_the_line_counts_cells_of_several_lines(tmp_path):
    path = write(tmp_path / "log.csv", 'action,outcome,remark\na,1,"two\nlines"\nb,oops,x\n')
    assert "log.csv, line 4: column 'outcome'" in refused(path)


@pytest.mark.parametrize(("before", "line"), [(3, 4), (30_000, 30_001)])
def test_an_outcome_that_is_text_in_json(tmp_path, before, line):
    good = json.dumps({"action": "a", "outcome": 1}) + "\n"
    path = write(tmp_path / "log.jsonl", good * before + json.dumps({"action": "a", "outcome": "oops"}) + "\n")
    assert f"log.jsonl, line {line}: column 'outcome': the outcome must be a number" in refused(path)


def test_an_outcome_that_is_text_in_the_second_of_two_files(tmp_path):
    pq.write_table(pa.table({"action": ["a"], "outcome": ["1"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"action": ["a", "a"], "outcome": ["2", "two"]}), tmp_path / "b.parquet")
    assert "b.parquet, row 1: column 'outcome': the outcome must be a number, got 'two'" in refused(tmp_path)


def test_mixed_types_in_a_pandas_column():
    import pandas as pd

    frame = pd.DataFrame({"action": ["a", "b", "a"], "outcome": [1, 0, "oops"]})
    assert "column 'outcome' has values of mixed types: 'oops' in row 2, after 1" in refused(frame)


def test_whole_numbers_that_turn_out_to_have_decimals_are_read(tmp_path):
    path = write(tmp_path / "log.csv", HEADER + ROW * 30_000 + "b,0.25,0.5,30.5\n")
    log = read_log(path)
    assert log.outcomes[-1] == 0.25
    assert log.contexts[-1, 0] == 30.5


def test_ten_thousand_distinct_actions(tmp_path):
    pq.write_table(pa.table({"action": np.arange(10_000), "outcome": np.zeros(10_000)}), tmp_path / "log.parquet")
    message = refused(tmp_path / "log.parquet")
    assert "column 'action' has 10,000 distinct actions, and at most 1,000 are read" in message
    assert "give action=" in message


def test_just_too_many_actions_and_just_enough(tmp_path):
    pq.write_table(pa.table({"action": np.arange(1_001), "outcome": np.zeros(1_001)}), tmp_path / "log.parquet")
    assert "1,001 distinct actions" in refused(tmp_path / "log.parquet")
    pq.write_table(pa.table({"action": np.arange(1_000), "outcome": np.zeros(1_000)}), tmp_path / "log.parquet")
    assert read_log(tmp_path / "log.parquet").n_actions == 1_000


def test_a_column_named_twice(tmp_path):
    path = write(tmp_path / "log.csv", "action,outcome,age,age\na,1,2,3\n")
    assert "log.csv, line 1: the column 'age' is named twice" in refused(path)
    table = pa.table([pa.array([0]), pa.array([1.0]), pa.array([2.0])], names=["action", "outcome", "outcome"])
    pq.write_table(table, tmp_path / "log.parquet")
    assert "log.parquet: the column 'outcome' is named twice" in refused(tmp_path / "log.parquet")
    assert "the column 'outcome' is named twice" in refused(table)
    assert "the column 'outcome' is named twice" in refused(table.to_pandas())
    path = write(tmp_path / "log.jsonl", '{"action": 1, "outcome": 1, "outcome": 2}\n')
    assert "log.jsonl" in refused(path)
    assert "outcome" in refused(path)


def test_columns_that_differ_only_in_case(tmp_path):
    path = write(tmp_path / "log.csv", "action,outcome,Age,age\na,1,2,3\n")
    assert "the columns 'Age' and 'age' differ only in case" in refused(path)


def test_a_file_without_a_header(tmp_path):
    assert "log.csv, line 1: looks like data" in refused(write(tmp_path / "log.csv", "1,0,0.5\n2,1,0.5\n"))


def test_files_with_different_columns(tmp_path):
    write(tmp_path / "a.csv", HEADER + ROW)
    write(tmp_path / "b.csv", "action,outcome,p,height\na,1,0.5,30\n")
    assert "b.csv: the columns differ from those of" in refused(str(tmp_path / "*.csv"))


def test_text_that_is_not_utf8(tmp_path):
    (tmp_path / "log.csv").write_bytes(HEADER.encode() + b"caf\xe9,1,0.5,30\n")
    assert "log.csv" in refused(tmp_path / "log.csv")


def test_a_line_that_is_not_json(tmp_path):
    good = '{"action": "a", "outcome": 1}\n'
    path = write(tmp_path / "log.jsonl", good * 2 + '{"action": "a", "outc\n' + good)
    assert "log.jsonl, line 3: not JSON" in refused(path)
    path = write(tmp_path / "late.jsonl", good * 30_000 + "[1, 2]\n")
    assert "late.jsonl, line 30001: not a JSON object: '[1, 2]'" in refused(path)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("1:x:0.5 | a", "expected action:cost:probability, got '1:x:0.5'"),
        ("one | a", "expected action:cost:probability, got 'one'"),
        ("1:1:0.5:9 | a", "expected action:cost:probability"),
        ("1:1:0.5 2:1:0.5 | a", "costs of two actions"),
        ("1:1:0.5", "no '|' before the features"),
        ("1:1:0.5 | a:nan", "the value of feature 'a' must be finite"),
        ("1:1:0.5 |n:x a", "expected a number, got 'x'"),
    ],
)
def test_a_line_that_is_not_vowpal_wabbit(tmp_path, line, what):
    message = refused(write(tmp_path / "log.vw", f"1:0:0.5 | a b:2\n{line}\n"))
    assert "log.vw, line 2: " in message
    assert what in message


def test_two_costs_in_one_decision_with_candidates(tmp_path):
    path = write(tmp_path / "log.vw", "shared | a\n0:1:0.5 | x\n0:1:0.5 | y\n\n")
    assert "log.vw, line 3: a second candidate with a cost" in refused(path)


def test_features_without_end(tmp_path):
    path = write(tmp_path / "log.vw", "".join(f"1:0:0.5 | word{i}\n" for i in range(1_200)))
    assert "line 1001: more than 1000 different features" in refused(path)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"_label_cost": 1, ', "not JSON"),
        ("[]", "not a JSON object"),
        ('{"_label_cost": "x", "_labelIndex": 0, "c": {}}', "'_label_cost' must be a number, got 'x'"),
        ('{"_label_cost": 1, "c": {}}', "which action was taken?"),
        ('{"_label_cost": 1, "_labelIndex": 0, "a": [1, 2], "p": [1], "c": {}}', "2 actions and 'p' 1 probabilities"),
        ('{"_label_cost": 1, "_labelIndex": 5, "c": {"_multi": [{}, {}]}}', "action 5 of 2 candidates"),
        ('{"_label_cost": 1, "_labelIndex": 0, "c": {"age": "old"}}', "'age' is 'old' here and a number before"),
    ],
)
def test_a_line_that_is_not_dsjson(tmp_path, line, what):
    good = '{"_label_cost": -1, "_label_probability": 0.5, "_labelIndex": 0, "c": {"age": 3}}'
    message = refused(write(tmp_path / "log.dsjson", f"{good}\n{line}\n"))
    assert "log.dsjson, line 2: " in message
    assert what in message


def test_a_column_that_does_not_exist(tmp_path):
    path = write(tmp_path / "log.csv", HEADER + ROW)
    message = refused(path, contexts=["agee"])
    assert "there is no column 'agee'; did you mean 'age'? columns: action, outcome, propensity, age" in message


def test_something_that_is_no_source():
    assert "a log cannot be read from int: give a path" in refused(3)


def test_options_outside_their_range(tmp_path):
    path = write(tmp_path / "log.csv", HEADER + ROW)
    with pytest.raises(OptionError, match="missing must be 'fill', 'drop' or 'error'"):
        scan_log(path, missing="ignore")
    with pytest.raises(OptionError, match="memory_limit must be a size like '256MB'"):
        scan_log(path, memory_limit="plenty")
    with pytest.raises(OptionError, match="threads must be at least 1"):
        scan_log(path, threads=0)
    with pytest.raises(LogError, match="contexts must be a list of column names"):
        scan_log(path, contexts="age")


def test_more_rows_than_asked_for_points_to_scan_log(tmp_path):
    path = write(tmp_path / "log.csv", HEADER + ROW * 10)
    assert "10 rows are more than max_rows=9; scan_log(...)" in refused(path, max_rows=9)
