"""Shares that are cut and calibrated, and the errors of corrected means, by hand."""

import numpy as np
import pytest

from headstart.estimates.shares import calibrate, cut
from headstart.estimates.summary import correct_means, tails_of, variance_within


def test_calibrated_shares_by_hand():
    """Rows at -1 and 1 with shares 1/2; the mean is 0, the covariance 1, the ridge 1 * (1/4 + 1/4) = 1/2. Towards
    0.3: l = 0.3 / 1.5 = 0.2, shares 1/2 (1 -+ 0.2) = 0.4 and 0.6, whose mean is 0.2: as near as two rows are
    trusted.
    """
    shares = calibrate(np.array([0.5, 0.5]), np.array([[-1.0], [1.0]]), np.array([0.3]))
    np.testing.assert_allclose(shares, [0.4, 0.6])


def test_variance_within_by_hand():
    """Action 0: 1, 3; action 1: 5: squares 1 + 1 + 0 over 3 - 2 rows. One row each: the variance of 1 and 5 is 8."""
    assert variance_within(np.array([0, 0, 1]), np.array([1.0, 3.0, 5.0]), 3) == 2.0
    assert variance_within(np.array([0, 1]), np.array([1.0, 5.0]), 2) == 8.0
    assert variance_within(np.array([0]), np.array([1.0]), 2) == 0.0


def test_heavy_tails_by_hand():
    """Nine 0 and a 10: around 1 the squares are nine 1 and an 81, mean 9, so the kurtosis is (9 + 81^2) / 10 / 81 =
    8.11, and (8.11 - 1) / 2 = 3.56 outcomes tell what one normal one does. A coin has light tails: 1."""
    assert tails_of(np.zeros(10, int), np.r_[np.zeros(9), 10.0], 1) == pytest.approx((6570 / 810 - 1) / 2)
    assert tails_of(np.array([0, 0, 1, 1]), np.array([0.0, 1.0, 5.0, 6.0]), 2) == 1.0
    assert tails_of(np.zeros(3, int), np.ones(3), 1) == 1.0


def test_normal_outcomes_have_normal_tails():
    """The kurtosis of n normal values has a standard error of sqrt(24 / n): 0.05 of 10,000, half of it of tails."""
    rng = np.random.default_rng(1)
    assert tails_of(rng.integers(3, size=10_000), rng.standard_normal(10_000), 3) < 1.0 + 4 * 0.025


def test_an_action_that_showed_no_variance_has_the_others_where_tails_are_heavy():
    """Two actions of 200 rows; 1 in 50 pays 50 for the first, nobody for the second: 4 squares of 49^2 and 196 of 1,
    so the variance within both is 9800 / 398, the kurtosis (4 * 49^4 + 196) / 400 / 24.5^2 = 96.04. The pooled one
    counts as 2 (96.04 - 1) / 2 = 95.04 rows beside 200: the second action has a third of it, where 2 rows would have
    left it a hundredth."""
    actions, outcomes = np.repeat([0, 1], 200), np.zeros(400)
    outcomes[:4] = 50.0
    found = correct_means(actions, outcomes, np.full(400, 1 / 200), np.zeros((400, 2))).summary
    assert found.tails == pytest.approx(95.0408 / 2, rel=1e-6)
    assert found.variances[1] == pytest.approx(9800 / 398 * 95.0408 / 295.0408, rel=1e-6)


def test_huge_weights_are_cut_by_hand():
    """16 rows, one with 10,000 times the weight of the others: at most 1/4 of the shares, 3/4 for the other 15."""
    shares = cut(np.r_[10000.0, np.ones(15)] / 10015, 0.25)
    np.testing.assert_allclose(shares, np.r_[0.25, np.full(15, 0.05)])
    # Only the first is over; what it loses lifts the second over it.
    np.testing.assert_allclose(cut(np.array([0.6, 0.25, 0.1, 0.05]), 0.3), [0.3, 0.3, 0.8 / 3, 0.4 / 3])
    np.testing.assert_allclose(cut(np.array([1.0, 0.0]), 0.7), [0.5, 0.5])
    np.testing.assert_allclose(cut(np.array([0.5, 0.5]), 0.5), [0.5, 0.5])


def test_estimated_means_of_a_plain_average():
    """No prediction and equal shares: the plain mean, and Student's quantile over the normal's widens the error."""
    outcomes = np.array([1.0, 2.0, 3.0, 4.0])
    estimate = correct_means(np.zeros(4, int), outcomes, np.full(4, 0.25), np.zeros((4, 1)))
    assert estimate.summary.means[0] == 2.5
    assert estimate.summary.standard_errors[0] / estimate.errors[0] == pytest.approx(2.5706 / 1.95996, rel=1e-4)
