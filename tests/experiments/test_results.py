"""RESULTS.md is written from results/, and other seeds agree with it."""

import math
from pathlib import Path

import pytest

from headstart.experiments.running.catalogue import all_experiments, get_experiment
from headstart.experiments.running.experiment import run_experiment
from headstart.experiments.running.results import read_rows, results_page

ROOT = Path(__file__).parent.parent.parent
# Quick ones, one for each kind of part; the whole list is a campaign (make campaigns).
QUICK = ["ucb-ipsw", "ucb-psm", "batch", "bias", "logging-policy", "outcome-function", "linucb-lr", "bounds"]


def test_the_page_is_what_its_rows_say():
    assert (ROOT / "RESULTS.md").read_text() == results_page(ROOT / "results")


def test_every_experiment_has_its_results():
    assert {path.stem for path in (ROOT / "results").glob("*.jsonl")} == set(all_experiments())


@pytest.mark.parametrize("name", QUICK)
def test_another_seed_agrees(name):
    """Each mean within 4.5 combined standard errors: with some 70 means compared, right programs fail 1 in 2,000."""
    known = {(row["series"], str(row["setting"])): row for row in read_rows(ROOT / "results", name)}
    results = list(run_experiment(get_experiment(name), runs=400, seed=99, n_jobs=2))
    assert len(results) == len(known)
    for result in results:
        row = known[result.series, str(dict(result.setting))]
        limit = 4.5 * math.hypot(result.curve.se, row["se"])
        assert abs(result.curve.mean - row["mean"]) <= limit, (result.series, result.setting, result.curve.mean, row)
