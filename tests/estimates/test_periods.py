"""Periods: equal parts of the time, in which order is none of time, and time as one more confounder."""

import numpy as np
import pytest

import headstart as hs
from headstart.estimates.periods import (
    PERIOD,
    Periods,
    compare_shares,
    cut_periods,
    find_periods,
    needs_periods,
    number_rows,
    with_periods,
)


def changed_policy(n=3000, seed=0, times=True, **more):
    """The chance of action 1 goes from 0.3 to 0.7 in the middle of the log."""
    rng = np.random.default_rng(seed)
    actions = (rng.random(n) < np.where(np.arange(n) < n // 2, 0.3, 0.7)).astype(int)
    contexts = {"age": rng.normal(40.0, 10.0, n), "city": rng.choice(["Oslo", "Rome"], n)}
    when = np.arange(n) if times else None
    return hs.Log(actions, rng.standard_normal(n), contexts, n_actions=2, times=when, **more)


def same_policy(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    return hs.Log(rng.integers(0, 2, n), rng.standard_normal(n), rng.standard_normal((n, 2)), n_actions=2)


def test_periods_have_equal_numbers_of_rows_in_the_order_of_time():
    """12 rows at times 11, 10, ..., 0 in three periods: the last four rows are the first period."""
    found = cut_periods(np.arange(12.0)[::-1], 3)
    assert found.labels.tolist() == [2] * 4 + [1] * 4 + [0] * 4
    assert found.starts == (0.0, 4.0, 8.0)
    assert found.rows.tolist() == [4, 4, 4]


def test_rows_of_one_time_are_not_parted_and_small_periods_join_their_neighbours():
    """Ten rows of time 0, one of time 1, nine of time 2: time 1 is too short for a period of its own."""
    times = np.repeat([0.0, 1.0, 2.0], [10, 1, 9])
    found = cut_periods(times, 4)
    assert [len(set(found.labels[times == time])) for time in (0.0, 1.0, 2.0)] == [1, 1, 1]
    assert found.n_periods == 2
    assert min(found.rows) >= 9


def test_one_time_is_no_period():
    assert cut_periods(np.zeros(500), 5) is None
    assert find_periods(hs.Log([0, 1] * 60, np.zeros(120), times=np.arange(120))) is None  # too few rows for two


def test_the_numbers_of_rows_stand_for_time_where_nobody_sorted_them():
    log = changed_policy(times=False)
    assert number_rows(log).times.tolist() == list(range(3000))
    assert number_rows(changed_policy()).times is not None


@pytest.mark.parametrize("by", ["action", "outcome", "number", "category"])
def test_a_sorted_file_has_no_order_of_time(by):
    """Sorted by action the shares move from 0 to 1, by outcome every mean moves: neither is a change."""
    log = changed_policy(times=False)
    keys = {
        "action": log.actions,
        "outcome": log.outcomes,
        "number": log.contexts[:, 0],
        "category": log.contexts[:, 1],
    }
    rows = log.take(np.argsort(keys[by], kind="stable"))
    assert number_rows(rows).times is None
    assert with_periods(rows) is rows


def test_a_shuffled_log_needs_no_periods():
    log = changed_policy(times=False)
    shuffled = log.take(np.random.default_rng(1).permutation(len(log)))
    assert with_periods(shuffled) is shuffled


def test_a_chi_square_by_hand():
    """Counts 60/40 and 40/60: each cell is 10 off 50, so the sum is 4 * 100 / 50 = 8 on 1 degree, p = 0.004678."""
    periods = Periods(np.repeat([0, 1], 100), (0.0, 1.0))
    actions = np.repeat([0, 1, 0, 1], [60, 40, 40, 60])
    assert compare_shares(periods, actions, 2) == pytest.approx(0.0046777, rel=1e-4)


def test_rows_of_one_unit_are_no_evidence_of_a_change():
    """20 users with one action each and 50 rows of one period: 13 of 20 against 7 of 20 users are nothing, 650 of
    1,000 rows against 350 would be certainty."""
    users = np.arange(40).repeat(50)
    actions = np.r_[np.ones(13), np.zeros(7), np.ones(7), np.zeros(13)].repeat(50).astype(int)
    periods = Periods(np.repeat([0, 1], 1000), (0.0, 1.0))
    assert compare_shares(periods, actions, 2) < 1e-9
    assert compare_shares(periods, actions, 2, users) > 0.01


def test_false_alarms_are_as_rare_as_stated():
    """1 in 500: of 200 logs whose policy did not change 0.4 are to be expected, 4 or more have a chance of 0.1 %."""
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(300, 2000))
        log = hs.Log(rng.choice(4, n, p=[0.6, 0.3, 0.08, 0.02]), np.zeros(n), times=np.arange(n), n_actions=4)
        alarms += needs_periods(log)
    assert alarms <= 3


def test_the_period_is_one_categorical_column_that_is_left_out_whole():
    log = changed_policy()
    wider = with_periods(log)
    assert wider.encoding.columns == ("age", "city", PERIOD)
    assert wider.context_names[:3] == log.context_names
    assert wider.context_names[3:] == tuple(f"period={p}" for p in range(1, 11))
    np.testing.assert_array_equal(wider.contexts[:, 3:].sum(axis=1), 1.0)
    again = wider.without([PERIOD])
    assert again.context_names == log.context_names
    np.testing.assert_array_equal(again.contexts, log.contexts)
    assert with_periods(wider) is wider


def test_logged_propensities_know_what_the_policy_was():
    assert not needs_periods(changed_policy(propensities=np.full(3000, 0.5)))
    assert needs_periods(changed_policy())
    assert not needs_periods(same_policy().with_times(np.arange(3000)))
