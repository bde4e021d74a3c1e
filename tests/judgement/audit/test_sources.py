"""Rows in memory, DuckDB and Spark give the same audit and the same verdict."""

import numpy as np
import pytest

from headstart.judgement.audit.audit import audit
from headstart.logs.log import Log
from tests.judgement.audit.planted import Making, scaled, without_overlap
from tests.logs.tables.twins import as_spark_table, as_table

LOGS = {
    "healthy": lambda: Making(n=2000).draw(0)[0],
    "binary": lambda: Making(n=2000, is_binary=True).draw(1)[0],
    "scaled": lambda: scaled(0, 0.5, Making(n=2000)),
    "no overlap": lambda: without_overlap(0, 0.0, Making(n=6000)),
    "without propensities": lambda: _bare(Making(n=2000, strength=0.3).draw(0)[0]),
}


def _bare(log):
    return Log(log.actions, log.outcomes, log.contexts, n_actions=log.n_actions)


def assert_same(one, two, place="audit"):
    """Equal, numbers to nine digits: two engines add in two orders. Tiny ones are differences of equal numbers."""
    if isinstance(one, dict):
        assert one.keys() == two.keys(), place
        for key in one:
            assert_same(one[key], two[key], f"{place}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(two), place
        for i, parts in enumerate(zip(one, two, strict=True)):
            assert_same(*parts, f"{place}[{i}]")
    elif isinstance(one, float):
        assert one == pytest.approx(two, rel=1e-9, abs=1e-9), place
    else:
        assert one == two, place


@pytest.mark.parametrize("name", LOGS)
def test_duckdb_gives_the_same_audit(name):
    log = LOGS[name]()
    assert_same(audit(as_table(log)).as_dict(), audit(log).as_dict())


@pytest.mark.parametrize("name", ["healthy", "no overlap", "without propensities"])
def test_spark_gives_the_same_audit(name, spark, tmp_path):
    log = LOGS[name]()
    assert_same(audit(as_spark_table(log, spark, tmp_path / "rows")).as_dict(), audit(log).as_dict())


def test_a_sample_from_duckdb_and_from_spark_gives_the_same_audit(spark, tmp_path):
    log = LOGS["healthy"]()
    ours = audit(as_spark_table(log, spark, tmp_path / "rows"), n_sample=700)
    assert_same(audit(as_table(log), n_sample=700).as_dict(), ours.as_dict())


@pytest.mark.parametrize("name", LOGS)
def test_a_sample_gives_the_same_verdict_as_all_rows(name):
    log = LOGS[name]()
    few = audit(as_table(log), n_sample=len(log) // 2)
    assert few.facts.n_sampled == len(log) // 2
    assert few.verdict.decision == audit(log).verdict.decision


def test_whole_propensity_vectors_are_used_wherever_they_are():
    log, chances = Making(n=1000).draw(0)
    log = log.with_propensities(chances)
    found = audit(as_table(log))
    assert found.propensities.is_chi_square_of_counts
    assert_same(found.as_dict(), audit(log).as_dict())


def test_a_model_of_the_sample_weights_the_whole_table():
    log = _bare(Making(n=4000).draw(0)[0])
    ours, theirs = audit(log, n_sample=1500), audit(as_table(log), n_sample=1500)
    assert theirs.facts.n_rows == 4000
    for one, two in zip(ours.actions.actions, theirs.actions.actions, strict=True):
        assert one.mean == pytest.approx(two.mean, abs=3 * two.standard_error)  # two samples, two models
    assert np.isfinite([action.standard_error for action in theirs.actions.actions]).all()
