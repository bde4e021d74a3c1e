"""Experiments are declared, found, run and reported in one way."""

import json

import pytest

from headstart.errors import OptionError
from headstart.experiments.running.catalogue import all_experiments, get_experiment
from headstart.experiments.running.experiment import count_experiment_steps, run_experiment

KEYS = ["experiment", "series", "setting", "rounds", "runs", "mean", "se", "p20", "p80", "seconds"]


def test_every_experiment_is_found_by_its_name():
    assert {"intro", "ucb-em", "ucb-psm", "ucb-ipsw"} <= set(all_experiments())
    for name, experiment in all_experiments().items():
        assert experiment.name == name
        assert experiment.shows
        assert experiment.claim


def test_an_unknown_experiment_names_the_known_ones():
    with pytest.raises(OptionError, match=r"unknown experiment 'nonsense'; known: .*ucb-ipsw"):
        get_experiment("nonsense")


def test_a_row_is_the_promised_json():
    steps = []
    results = list(run_experiment(get_experiment("ucb-ipsw"), runs=3, seed=1, progress=steps.append))
    assert [r.series for r in results] == ["offline+online", "only online", "only offline"]
    assert sum(steps) == count_experiment_steps(get_experiment("ucb-ipsw"), 3) == 9
    row = json.loads(json.dumps(results[0].as_row()))
    assert list(row) == KEYS
    assert row["rounds"] == 1000
    assert row["runs"] == 3


def test_the_introduction_has_both_widths():
    series = [(r.series, dict(r.setting)) for r in run_experiment(get_experiment("intro"), runs=2, seed=1)]
    assert series == [
        ("empirical average", {}),
        ("causal inference", {}),
        ("A/B test", {}),
        ("UCB", {"width": 0.01}),
        ("headstart", {"width": 0.01}),
        ("UCB", {"width": 2.0}),
        ("headstart", {"width": 2.0}),
    ]


def test_the_number_of_jobs_changes_nothing():
    rows = [
        [
            {**r.as_row(), "seconds": None}
            for r in run_experiment(get_experiment("ucb-ipsw"), runs=20, seed=4, n_jobs=jobs)
        ]
        for jobs in (1, 3)
    ]
    assert rows[0] == rows[1]
