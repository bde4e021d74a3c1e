"""Totals judged without a normal limit: by hand, against exact laws, and as often wrong as is said."""

import numpy as np
import pytest
from scipy.special import pdtr, pdtrc

from headstart.estimates.totals import (
    cluster_squares,
    judge_counts,
    judge_sums,
    judge_totals,
    least_chances,
    worst_of_many,
)


def judge_one(total, variance, largest, users):
    return float(judge_totals(*(np.array(float(value)) for value in (total, variance, largest, users, users))))


def test_no_row_where_some_were_expected_has_poisson_s_chance():
    """Weights of 30 and 90 users, none seen: 3 rows were expected, e^-3 is the chance of none; two-sided twice."""
    assert judge_one(0.0, 0.0, 30.0, 90.0) == pytest.approx(2.0 * np.exp(-3.0))


@pytest.mark.parametrize("seen", [1, 2, 8, 12])
def test_equal_weights_with_poisson_s_variance_are_garwood_s_exact_limits(seen):
    """Rows of weight 10 and 40 users: 4 rows expected. With v = sum of w^2 the tails are Poisson's own."""
    tail = pdtr(seen, 4.0) if seen < 4 else pdtrc(seen - 1, 4.0)
    assert judge_one(10.0 * seen, 100.0 * seen, 10.0, 40.0) == pytest.approx(min(1.0, 2.0 * tail))


def test_a_total_between_the_fewest_and_the_most_is_as_good_as_any():
    p = judge_totals(np.array([80.0]), np.array([10.0]), np.array([2.0]), np.array([70.0]), np.array([100.0]))
    assert p[0] == 1.0


def test_an_action_without_weights_is_not_judged():
    found = judge_totals(np.array([0.0, 5.0]), np.zeros(2), np.array([np.nan, 1.0]), np.array(5.0), np.array(5.0))
    assert np.isnan(found[0])
    assert worst_of_many(found) == 1.0


def test_so_few_is_no_less_likely_than_that_the_others_have_their_own_actions():
    """A policy that explores 5 % of the time did not in 10 rows of two actions, all of p = 0.96, four of the first:
    its total is no larger if the other six have their own actions again, 0.96^6. The second group has one row."""
    codes = np.array([0] * 4 + [1] * 6 + [2])
    found = least_chances(np.array([0.96] * 10 + [0.3]), codes, (2, 2))
    np.testing.assert_allclose(found, [[0.96**6, 0.96**4], [1.0, 0.3]])
    weights, users = np.array([4 / 0.96, 6 / 0.96]), np.full(2, 10.0)
    p = judge_totals(weights, weights * (1 / 0.96 - 1), np.full(2, 1 / 0.96), users, users, found[0])
    np.testing.assert_allclose(p, np.minimum(1.0, 2.0 * found[0]))
    without = judge_totals(weights, weights * (1 / 0.96 - 1), np.full(2, 1 / 0.96), users, users)
    assert (without < [0.001, 0.05]).all()


def test_what_was_certain_may_not_fail():
    """Ten rows that had to happen, nine of them seen."""
    assert judge_counts(np.array([9.0]), np.array([10.0]), np.array([0.0]), np.array([10.0]))[0] == 0.0
    assert judge_counts(np.array([10.0]), np.array([10.0]), np.array([0.0]), np.array([10.0]))[0] == 1.0


def test_units_by_hand():
    """Unit 0 has weights 2 and 2 of action 0 and a row of action 1 with 3, unit 1 one row of action 1 with 4.

    Centres are the numbers of rows, 3 and 1. Action 0: (4 - 3)^2 + (0 - 1)^2 = 2; 1: (3 - 3)^2 + (4 - 1)^2 = 9.
    """
    units, actions = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])
    squares, largest = cluster_squares(units, actions, np.array([2.0, 2.0, 3.0, 4.0]), np.ones(4), 3)
    assert squares == pytest.approx([2.0, 9.0, 10.0])
    assert largest[:2] == pytest.approx([4.0, 4.0])
    assert np.isnan(largest[2])


CHANCES = {
    "rare": lambda n: np.full(n, 1.0 / 30.0),
    "epsilon-greedy": lambda n: np.where(np.arange(n) < n // 5, 0.933, 0.0333),
    "even": lambda n: np.full(n, 0.5),
    "common": lambda n: np.full(n, 0.9),
    "spread": lambda n: 0.05 + 0.9 * np.linspace(0.0, 1.0, n) ** 2,
}


@pytest.mark.parametrize("kind", CHANCES)
@pytest.mark.parametrize("n", [20, 60, 200])
def test_true_chances_are_doubted_no_more_often_than_is_said(kind, n):
    """20,000 groups of n users: rates at 1 % and 0.1 %, with four standard errors of leave."""
    rng = np.random.default_rng(n)
    p = CHANCES[kind](n)
    taken, w = rng.random((20_000, n)) < p, 1.0 / p
    ways = (
        judge_totals(taken @ w, taken @ (w * (w - 1.0)), np.array(w.max()), np.array(float(n)), np.array(float(n))),
        judge_counts(taken.sum(axis=1) * 1.0, np.array(p.sum()), np.array((p * (1 - p)).sum()), np.array(float(n))),
    )
    for p_values in ways:
        for alpha in (0.01, 0.001):
            assert (p_values < alpha).mean() <= alpha + 4.0 * np.sqrt(alpha / 20_000)


def test_a_skewed_sum_is_not_taken_for_a_normal_one():
    """Sums of 200 terms, 50 with a chance of 1/50 and else -1: of 0.1 % the normal limit makes 0.25 %."""
    rng = np.random.default_rng(0)
    sums = 50.0 * rng.binomial(200, 0.02, 50_000) - 200.0
    variance, step = 200 * 49.0, (0.02 * 49.0**3 + 0.98) / 49.0
    rate = (judge_sums(sums, np.array(variance), np.array(step)) < 0.001).mean()
    assert rate <= 0.001 + 4.0 * np.sqrt(0.001 / 50_000)
    assert (np.abs(sums) > 3.29 * np.sqrt(variance)).mean() > 0.002
