"""Outcomes that are missing: of one action more than of another, or all of a sudden."""

import numpy as np
import pytest

from headstart.serve.telling.missing import find_uneven, tell_missing
from headstart.serve.telling.timeline import Timeline


def line_of(shown, heard):
    """Buckets of two actions, (buckets, 2) each."""
    line = Timeline(2)
    line.shown[: len(shown)], line.heard[: len(heard)] = shown, heard
    return line


def test_one_bucket_by_hand():
    """40 of 100 and 60 of 100 answered: 10 fewer than half of 100; variance 100 100 100 100 / (200^2 199)."""
    apart, errors = find_uneven(line_of([[100, 100]], [[40, 60]]))
    assert apart == pytest.approx([-0.1, 0.1])
    assert errors == pytest.approx([-10 / (1e8 / (4e4 * 199)) ** 0.5, 10 / (1e8 / (4e4 * 199)) ** 0.5])


def test_what_is_shown_more_of_late_does_not_seem_to_lack_outcomes():
    """Nine of ten are answered in the first bucket and one of ten, so far, in the second: of either action."""
    apart, _ = find_uneven(line_of([[9000, 1000], [1000, 9000]], [[8100, 900], [100, 900]]))
    assert apart == pytest.approx([0.0, 0.0])


def test_an_action_that_is_answered_less_is_named():
    rng = np.random.default_rng(1)
    shown = np.full((50, 2), 100.0)
    heard = np.stack([rng.binomial(100, 0.5, 50), rng.binomial(100, 0.4, 50)], axis=1)
    told = tell_missing(line_of(shown, heard), ["mail", "banner"], 0, 1, 1)
    assert [each.split(" have")[0].partition(" % ")[2] for each in told] == [
        "of the decisions for mail", "of the decisions for banner",
    ]  # fmt: skip
    assert "less than others of the same time: is it reported when nothing happens?" in told[1]


def test_equal_shares_and_small_differences_are_no_alarm():
    """400 runs at one in ten thousand: one alarm among them would be a chance of 4 %."""
    rng = np.random.default_rng(2)
    shown = np.full((20, 2), 50.0)
    for _ in range(400):
        assert tell_missing(line_of(shown, rng.binomial(50, 0.3, (20, 2))), ["a", "b"], 0, 1, 1) == []
    assert tell_missing(line_of([[10**6, 10**6]], [[500_000, 510_000]]), ["a", "b"], 0, 1, 1) == []


def test_reports_that_stop_are_told():
    line = Timeline(2)
    assert tell_missing(line, ["a", "b"], 199, 5000, 10_000) == []
    assert tell_missing(line, ["a", "b"], 1000, 90, 10_000) == []  # ten were to be expected
    assert tell_missing(line, ["a", "b"], 1000, 4500, 10_000) == [
        "No outcome was reported since 1,000 decisions; before, 4,500 came of 9,000: do reports still reach the "
        "service?"
    ]
