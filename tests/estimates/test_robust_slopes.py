"""Doubly robust slopes: by hand, against a weighted regression, and calibrated where the policy is strong."""

from __future__ import annotations

import numpy as np
from benchmarks.subset import draw, standardised_errors

import headstart as hs
from headstart.estimates.robust_slopes import AdjustedRows, adjust_rows, robust_slopes, sum_adjusted


def test_slopes_by_hand():
    """Four rows of one action at x = -1, 1, -1, 1, even shares, a regression that says 0. B = 1 and a ridge of
    1 / 4: y = 2x has the slope 2 / (1 + 1/4) = 1.6. Where the regression says 2x nothing is left, and it is 2."""
    x = np.array([[-1.0], [1.0], [-1.0], [1.0]])
    actions, shares = np.zeros(4, dtype=np.int64), np.full(4, 0.25)
    for says, slope in ((0.0 * x, 1.6), (2.0 * x, 2.0)):
        rows = AdjustedRows(actions, 2.0 * x[:, 0], says, shares, None)
        found = robust_slopes(x, rows, 0)
        np.testing.assert_allclose(found.slopes, [slope])
        assert found.size == 4.0
    # Scatter: y - 2x is 0, and of what nobody knows 1e-9 of the outcomes' variance of 4 is left.
    np.testing.assert_allclose(found.covariance, [[4e-9]])


def test_an_unseen_action_and_a_column_that_stands_still_say_nothing():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.standard_normal(50), np.zeros(50)])
    rows = AdjustedRows(np.zeros(50, dtype=np.int64), rng.random(50), np.zeros((50, 2)), np.full(50, 0.02), None)
    sums = sum_adjusted(x, rows)
    assert not sums.spread[1].any()
    assert not sums.n[1]
    assert sums.spread[0, 0, 0] > 0.0
    assert not sums.spread[0, 1].any()
    assert not sums.moment[0, 1]


def test_rows_of_one_unit_count_once():
    """Every row ten times, as one unit: ten times the rows, the same error of the slope but for how few it was of."""
    rng = np.random.default_rng(1)
    x, actions = rng.standard_normal((200, 2)), rng.integers(0, 2, 200)
    outcomes = x.sum(axis=1) + rng.standard_normal(200)
    log = hs.Log(actions, outcomes, x, np.full(200, 0.5))
    rows = adjust_rows(log)
    ten = np.repeat(np.arange(200), 10)
    copies = AdjustedRows(actions[ten], outcomes[ten], rows.predicted[ten], rows.shares[ten] / 10.0, ten)
    centred = x - x.mean(axis=0)
    once, often = robust_slopes(centred, rows, 0), robust_slopes(centred[ten], copies, 0)
    np.testing.assert_allclose(np.diag(often.covariance), np.diag(once.covariance), rtol=0.25)
    apart = robust_slopes(centred[ten], copies._replace(units=None), 0)
    assert (np.diag(apart.covariance) < 0.2 * np.diag(once.covariance)).all()


def test_a_hidden_column_does_not_confound_the_slope():
    """x and z go together in the rows of the action and not among users; y = z. Its line in x is flat: 4,000 rows, of
    which the action has half, know a slope to 2 / sqrt(4,000) = 0.03 or so; 0.15 are 5 of these. Plainly 0.3."""
    rng = np.random.default_rng(2)
    x, z = rng.standard_normal((2, 4000))
    chances = 1.0 / (1.0 + np.exp(-2.0 * np.sign(x * z)))
    actions = (rng.random(4000) < chances).astype(int)
    log = hs.Log(actions, z, np.column_stack([x, z]), np.column_stack([1.0 - chances, chances]))
    taken = actions == 1
    assert np.cov(x[taken], z[taken])[0, 1] > 0.3
    found = robust_slopes((x - x.mean())[:, None], adjust_rows(log), 1)
    assert abs(found.slopes[0]) < 0.15


def test_slopes_of_a_subset_are_calibrated():
    """The standardised errors' deviation is 0.9 to 1.15 (`python -m benchmarks.subset`: 40 logs); here 40 logs of 5
    actions under the very strong policy, whose errors go together: as 80, a deviation is known to 1 / sqrt(160) =
    0.08, and 3.5 of that are 0.28. With weights alone it was 1.7."""
    found = []
    for i in range(40):
        rng = np.random.default_rng([4, i])
        found.append(standardised_errors(*draw(rng, 500, 5, 4, 2.5, has_propensities=True))[1])
    assert 0.9 - 0.28 < np.std(found) < 1.15 + 0.28
