"""LogTable speaks a log's language: names, encodings, rows in portions, errors."""

from __future__ import annotations

import ibis
import numpy as np
import pytest

from headstart.errors import ActionError, LogError, OptionError
from headstart.logs.encoding import Encoding
from headstart.logs.log import Log
from headstart.logs.tables.table import LogTable
from tests.logs.tables.twins import as_arrow, as_multiset, as_table, make_log


@pytest.fixture(scope="module")
def log() -> Log:
    return Log(
        ["b", "a", "b", "c"],
        [1.0, 0.0, 2.0, 3.0],
        {"age": [20.0, 30.0, 40.0, 50.0], "sex": ["f", "m", "f", "f"]},
        [0.5, 0.25, 0.5, 1.0],
    )


@pytest.fixture(scope="module")
def table(log: Log) -> LogTable:
    return as_table(log)


def test_a_table_has_the_logs_names_and_encoding(table: LogTable, log: Log):
    for name in ("n_actions", "action_names", "context_names", "n_features", "has_propensities", "encoding"):
        assert getattr(table, name) == getattr(log, name)
    assert table.action_index("c") == log.action_index("c") == 2
    user = {"age": 25.0, "sex": "m"}
    np.testing.assert_array_equal(table.context(user), log.context(user))
    with pytest.raises(ActionError, match="unknown action 'd'; known: 'a', 'b', 'c'"):
        table.action_index("d")


def test_nothing_is_counted_before_it_is_asked_for(log: Log):
    table = as_table(log)
    assert "rows not yet counted" in repr(table)
    assert len(table) == 4
    assert repr(table) == "LogTable(4 rows, 3 actions, 3 context columns, with propensities, on duckdb)"


def test_to_log_is_the_log(table: LogTable, log: Log):
    rows = table.to_log()
    assert (rows.action_names, rows.encoding) == (log.action_names, log.encoding)
    for name in ("actions", "outcomes", "contexts", "propensities"):
        np.testing.assert_array_equal(getattr(rows, name), getattr(log, name))
    np.testing.assert_array_equal(rows.context({"age": 1.0, "sex": "f"}), [1.0, 1.0, 0.0])


def test_whole_propensity_vectors_come_back():
    log = make_log(50)
    np.testing.assert_array_equal(as_table(log).to_log().propensity_matrix, log.propensity_matrix)
    assert as_table(log, vectors=False).to_log().propensity_matrix is None


def test_batches_are_all_rows_in_portions():
    log = make_log(1_000)
    portions = list(as_table(log).batches(300))
    assert max(map(len, portions)) <= 300
    assert sorted(row for portion in portions for row in as_multiset(portion)) == as_multiset(log)
    assert all(portion.n_actions == log.n_actions for portion in portions)


def test_a_loop_over_batches_may_be_left_early():
    table = as_table(make_log(1_000))
    next(iter(table.batches(100)))
    assert len(table) == 1_000


def test_filter_keeps_what_the_table_is(table: LogTable):
    part = table.filter(lambda rows: rows.outcome > 0.5)
    assert len(part) == 3
    assert part.action_names == table.action_names
    assert part.encoding == table.encoding


def test_a_sample_as_large_as_the_table_is_the_table(table: LogTable, log: Log):
    assert as_multiset(table.sample(4)) == as_multiset(log)
    assert as_multiset(table.sample(100)) == as_multiset(log)
    with pytest.raises(OptionError, match="n_rows must be at least 1"):
        table.sample(0)


def test_a_frame_in_memory_is_a_table_too(log: Log):
    """An Ibis memtable is registered only when Ibis runs it: portions must not come too early."""
    table = LogTable(ibis.memtable(as_arrow(log)), encoding=log.encoding, action_names=log.action_names)
    assert as_multiset(next(iter(table.batches(10)))) == as_multiset(log)
    assert table.action_sums().n.tolist() == [1.0, 2.0, 1.0]


def test_a_missing_column_is_named(log: Log):
    rows = ibis.memtable(as_arrow(log).drop_columns(["outcome"]))
    with pytest.raises(LogError, match="the canonical table has no column 'outcome'; it has action, x0"):
        LogTable(rows, encoding=log.encoding, action_names=log.action_names)
    with pytest.raises(LogError, match="no column 'x3'"):
        LogTable(
            ibis.memtable(as_arrow(log)), encoding=Encoding(("a", "b", "c", "d"), {}), action_names=log.action_names
        )


def test_an_action_without_a_name_is_an_error(log: Log):
    table = LogTable(ibis.memtable(as_arrow(log)), encoding=log.encoding, action_names=("a", "b"))
    for ask in (table.action_sums, table.to_log, table.outcome_counts):
        with pytest.raises(LogError, match=r"the table has an action outside 0\.\.1: 2"):
            ask()


def test_an_empty_table_has_no_rows_to_give(table: LogTable):
    empty = table.filter(lambda rows: rows.outcome > 10.0)
    assert len(empty) == 0
    assert empty.action_sums().n.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(LogError, match="the log is empty"):
        empty.to_log()
    with pytest.raises(LogError, match="the log is empty"):
        empty.outcome_range  # noqa: B018
