"""The same code on a real Spark, in local mode: the same sums, evaluators, samples and rows as in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.estimates.propensity import LogisticPropensity
from headstart.logs.log import Log
from headstart.logs.tables.batches import read_first
from headstart.logs.tables.table import LogTable
from tests.logs.tables.agreement import CHECKS
from tests.logs.tables.twins import as_multiset, as_spark_table, as_table, assert_same_sums, make_log


@pytest.fixture(scope="module")
def log() -> Log:
    return make_log()


@pytest.fixture(scope="module")
def table(log: Log, spark: Any, tmp_path_factory: pytest.TempPathFactory) -> LogTable:
    return as_spark_table(log, spark, tmp_path_factory.mktemp("log") / "rows")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_what_spark_computes_is_what_the_rows_say(check: Callable[[Any, Log], None], table: LogTable, log: Log):
    check(table, log)


def test_the_first_rows_cost_one_task_and_no_shuffle(spark: Any):
    """A glance looks at the actions of some rows: a log of a thousand partitions is not to begin them all."""
    session = spark._session
    frame = session.range(800, numPartitions=8).selectExpr("CAST(id % 3 AS STRING) AS ad")
    frame.createOrReplaceTempView("ads_in_eight")
    session.sparkContext.setJobGroup("first", "")
    first = read_first(spark.table("ads_in_eight"), 5)
    assert first["ad"].to_pylist() == ["0", "1", "2", "0", "1"]
    tracker = session.sparkContext.statusTracker()
    stages = [stage for job in tracker.getJobIdsForGroup("first") for stage in tracker.getJobInfo(job).stageIds]
    assert [tracker.getStageInfo(stage).numTasks for stage in stages] == [1]
    assert read_first(spark.table("ads_in_eight").limit(0), 5).num_rows == 0


def test_rows_come_back_whole_and_in_portions(table: LogTable, log: Log):
    assert as_multiset(table.to_log()) == as_multiset(log)
    portions = list(table.batches(150))
    assert max(map(len, portions)) <= 150
    rows = sorted(row for portion in portions for row in as_multiset(portion))
    assert rows == as_multiset(log)


@pytest.mark.parametrize("n_values", [3, 10**9])
def test_spark_and_duckdb_draw_the_same_sample(n_values: int, spark: Any, tmp_path: Path):
    """Whether rows are often equal or all different; the files and the threads are others."""
    log = make_log(3_000, n_values=n_values)
    ours = as_spark_table(log, spark, tmp_path / "rows").sample(200, rng=7)
    theirs = as_table(log).sample(200, rng=7)
    np.testing.assert_array_equal(ours.contexts, theirs.contexts)
    np.testing.assert_array_equal(ours.outcomes, theirs.outcomes)
    np.testing.assert_array_equal(ours.actions, theirs.actions)
    np.testing.assert_array_equal(ours.propensities, theirs.propensities)


def test_propensities_of_a_model_are_computed_by_spark(table: LogTable, log: Log):
    model = LogisticPropensity(log)
    expected = log.with_propensities(np.array([model(row) for row in log.contexts]))
    assert_same_sums(table.with_propensities_from(model).action_sums(), expected.action_sums())
