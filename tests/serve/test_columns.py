"""Columns and ranges as they are declared."""

from __future__ import annotations

import pytest

from headstart.errors import OptionError
from headstart.serve.columns import read_columns, read_range
from headstart.serve.config import load_config, read_experiment

TABLE = {
    "actions": ["a", "b"],
    "contexts": {"age": {"range": [0, 120]}, "income": "number", "likes": ["cats", "dogs"]},
    "outcome_range": [0, 1],
    "outside": "clip",
}


def test_a_number_may_have_a_range():
    kinds, ranges = read_columns("contexts", TABLE["contexts"])
    assert kinds == {"age": "number", "income": "number", "likes": ("cats", "dogs")}
    assert ranges == {"age": (0.0, 120.0)}
    assert read_range("x", (1, 2.5)) == (1.0, 2.5)


def test_ranges_are_part_of_the_configuration_event():
    config = read_experiment("ads", TABLE)
    assert (config.ranges, config.outcome_range, config.outside) == ({"age": (0.0, 120.0)}, (0.0, 1.0), "clip")
    assert config.as_dict()["contexts"]["age"] == {"range": [0.0, 120.0]}
    assert list(config.as_dict()["contexts"]) == ["age", "income", "likes"]
    assert read_experiment("ads", config.as_dict()) == config


def test_without_ranges_the_configuration_event_is_the_one_of_old_stores():
    plain = read_experiment("ads", {"actions": ["a", "b"], "contexts": {"age": "number"}}).as_dict()
    assert not {"outcome_range", "outside", "ranges"} & set(plain)
    assert plain["contexts"] == {"age": "number"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"contexts": {"age": {"range": [3]}}}, r"contexts\.age\.range must be \[low, high\]"),
        ({"contexts": {"age": {"range": [3, 3]}}}, r"contexts\.age\.range must be .* low below high, got \[3, 3\]"),
        ({"contexts": {"age": {"range": [0, "x"]}}}, r"contexts\.age\.range must be a number"),
        (
            {"contexts": {"age": {"rnge": [0, 1]}}},
            r"contexts\.age has no setting 'rnge'; did you mean 'range'. known: range",
        ),
        ({"contexts": {"age": {}}}, r"contexts\.age\.range must be \[low, high\], got None"),
        ({"contexts": {"age": "whole"}}, r'contexts\.age must be "number", \{ range'),
        ({"outcome_range": 1}, r"outcome_range must be \[low, high\]"),
        ({"outcome_range": [0, float("inf")]}, r"outcome_range must be a finite number"),
        ({"outside": "drop"}, r"outside must be 'refuse' or 'clip', got 'drop'"),
        (
            {"outcome_range": [0, 1], "outcome_window": 5, "default_outcome": -1},
            r"default_outcome must be a finite number in \[0, 1\]",
        ),
    ],
)
def test_a_bad_range_is_refused_by_name(settings, message):
    with pytest.raises(OptionError, match=rf"experiments\.ads\.{message}"):
        load_config({"experiments": {"ads": {"actions": ["a", "b"], **settings}}})
