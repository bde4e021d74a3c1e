"""Calibration: predicted against observed shares."""

import numpy as np
import pytest

import headstart as hs
from headstart.errors import LogError, OptionError
from headstart.estimates.propensity import calibration


def test_two_bins_by_hand():
    """Action 1 has chance 0.2 in four rows, of which one took it, and 0.75 in four, of which two did. Its errors are
    0.05 and 0.25; so are action 0's. A mean of four Bernoulli draws of 0.2 has s.e. sqrt(0.16 / 4) = 0.2."""
    p = np.array([0.2] * 4 + [0.75] * 4)
    log = hs.Log([1, 0, 0, 0, 1, 1, 0, 0], np.zeros(8), None, np.column_stack([1 - p, p]), n_actions=2)
    seen = calibration(log, n_bins=2)
    np.testing.assert_array_equal(seen.counts, [[4, 4], [4, 4]])
    np.testing.assert_allclose(seen.predicted, [[0.25, 0.8], [0.2, 0.75]])
    np.testing.assert_allclose(seen.observed, [[0.5, 0.75], [0.25, 0.5]])
    np.testing.assert_allclose(seen.standard_errors[1], [0.2, np.sqrt(0.1875 / 4)])
    assert seen.error == pytest.approx(0.15)
    assert seen.error_by_chance == pytest.approx(np.sqrt(2 / np.pi) * (0.2 + np.sqrt(0.1875 / 4)) / 2)
    assert seen.action_names == (0, 1)


def test_equal_chances_share_a_bin():
    log = hs.Log([0, 1, 1, 1], np.zeros(4), None, [[0.25, 0.75]] * 4, n_actions=2)
    seen = calibration(log)
    assert seen.counts.sum(axis=1).tolist() == [4, 4]
    assert (seen.counts > 0).sum(axis=1).tolist() == [1, 1]
    assert np.isnan(seen.predicted).sum() == 18
    assert seen.error == pytest.approx(0.0)


def test_true_chances_are_calibrated_and_squared_ones_are_not():
    """20,000 rows: under true chances the 30 z-scores are normal, and none is above 5 but with chance 2e-5."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet([2.0, 1.0, 1.0], 20_000)
    actions = (np.log(p) + rng.gumbel(size=p.shape)).argmax(axis=1)
    log = hs.Log(actions, np.zeros(20_000), None, p, n_actions=3)
    seen = calibration(log)
    assert (np.abs(seen.observed - seen.predicted) < 5 * seen.standard_errors).all()
    # |normal| has a relative standard deviation of 0.76: the mean of 30, one of 0.14, so 2 is 7 of them away.
    assert seen.error < 2 * seen.error_by_chance
    wrong = log.with_propensities(p**2 / (p**2).sum(axis=1, keepdims=True))
    assert calibration(wrong).error > 10 * calibration(wrong).error_by_chance


def test_estimated_propensities_are_calibrated():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((5_000, 2))
    actions = (x @ [1.0, -1.0] + rng.logistic(size=5_000) > 0).astype(int)
    seen = calibration(hs.estimate_propensities(hs.Log(actions, np.zeros(5_000), x, n_actions=2)))
    assert (np.abs(seen.observed - seen.predicted) < 5 * seen.standard_errors).all()


def test_rejects():
    with pytest.raises(LogError, match="calibration needs the chance of every action in every row"):
        calibration(hs.Log([0, 1], [0.0, 0.0], None, [0.5, 0.5]))
    with pytest.raises(OptionError, match="n_bins must be at least 1, got 0"):
        calibration(hs.Log([0, 1], [0.0, 0.0], None, [[0.5, 0.5]] * 2), n_bins=0)
