"""Outcomes over time: means of periods, and whether levels and differences moved."""

from dataclasses import replace

import numpy as np
import pytest

from headstart.estimates.over_time import (
    TimedRows,
    compare_contrast,
    compare_level,
    is_missing_by_chance,
    weigh_periods,
)


def drawn(seed=0, n=4000, k=2, effect=0.0, level=0.0, users=None):
    """Two or more actions by lot in ten periods; from the sixth on, `effect` is added to action 0, `level` to all."""
    rng = np.random.default_rng([seed, 3])
    labels = np.arange(n) * 10 // n
    units = None if users is None else rng.integers(0, users, n)
    actions = rng.integers(0, k, n) if units is None else units % k
    late = labels >= 5
    outcomes = effect * (late & (actions == 0)) + level * late + rng.standard_normal(n)
    if units is not None:
        outcomes += 2.0 * rng.standard_normal(users)[units]
    return TimedRows(labels, 10, actions, k, outcomes, np.full(n, float(k)), units)


def test_means_of_periods_by_hand():
    """Weights 1 and 3, outcomes 0 and 4: the mean is 3 and the effective size 16 / 10. The other has one row."""
    weights, outcomes = np.array([1.0, 3.0, 1.0]), np.array([0.0, 4.0, 5.0])
    found = weigh_periods(TimedRows(np.array([0, 0, 1]), 2, np.zeros(3, int), 1, outcomes, weights, None))
    assert found.means[:, 0].tolist() == [3.0, 5.0]
    assert found.sizes[:, 0] == pytest.approx([1.6, 1.0])
    assert found.rows[:, 0].tolist() == [2, 1]


def test_an_error_of_a_period_is_that_of_a_mean():
    """400 rows of spread 1 in each of ten periods: 0.05, which ten draws of a spread of 400 rows know to 4 %."""
    found = weigh_periods(drawn(k=1, n=4000))
    assert found.errors[:, 0] == pytest.approx(np.full(10, 0.05), rel=0.16)


@pytest.mark.parametrize("users", [None, 200])
def test_false_alarms_are_no_more_than_stated(users):
    """5 % of 100 logs are 5; 13 or more have a chance of 0.2 %."""
    logs = (drawn(seed, n=2000, users=users) for seed in range(100))
    p_values = [(compare_contrast(rows, 0), compare_level(rows)[2]) for rows in logs]
    assert (np.array(p_values) < 0.05).sum(axis=0).max() <= 12


def test_rows_of_one_user_taken_one_by_one_would_be_an_alarm():
    """Who came in which period is by lot here; each user of five rows in one period would be one draw, not five."""
    alarms = honest = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 5])
        users = np.arange(400).repeat(5)
        outcomes = rng.standard_normal(400)[users] + 0.1 * rng.standard_normal(2000)
        rows = TimedRows(users // 40, 10, users % 2, 2, outcomes, np.full(2000, 2.0), users)
        honest += compare_level(rows)[2] < 0.05
        alarms += compare_level(replace(rows, units=None))[2] < 0.05
    assert honest <= 7  # 2 are to be expected; 8 or more have a chance of 0.1 %
    assert alarms >= 30


def test_a_change_of_a_difference_is_found_and_one_of_the_level_is_none():
    """0.4 in half of 4,000 rows is 0.4 / (2 * 2 / sqrt(4,000)) = 6.3 standard errors; a level is no difference."""
    assert max(compare_contrast(drawn(s, effect=0.4), 0) for s in range(5)) < 0.002
    assert min(compare_contrast(drawn(s, level=3.0), 0) for s in range(5)) > 0.002
    assert max(compare_level(drawn(s, level=0.3))[2] for s in range(5)) < 0.002


def test_few_rows_of_a_rare_success_are_taken_together_or_not_judged():
    """One success in 200 and 100 rows a period: no chi-square of ten periods knows what to make of it."""
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng([seed, 4])
        rows = drawn(seed, n=2000)
        alarms += compare_contrast(replace(rows, outcomes=(rng.random(2000) < 0.005).astype(float)), 0) < 0.01
    assert alarms <= 4  # 1 is to be expected; 5 or more have a chance of 0.4 %


def test_an_action_missing_by_chance_by_hand():
    """Ten rows miss a tenth of the time with a chance of 0.9^10."""
    assert is_missing_by_chance(10, 0.1, 1) == pytest.approx(0.9**10)
    assert is_missing_by_chance(10, 0.1, 10) == 1.0
