"""The variance estimate: against the spread of forests over fresh samples."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.errors import OptionError
from headstart.forest import ForestOptions, HonestForest
from headstart.forest.predicting import group_variance


def test_variance_is_calibrated_over_fresh_samples():
    """40 samples of 500 rows, 25 points: the mean estimate over the true variance lies in (0.6, 1.7).

    The true variance is that of the predictions over the samples, each point's with 39 degrees of freedom;
    averaged over 25 (dependent) points its relative error is about 0.1. The estimate itself holds only to
    first order (it takes the spread over half-samples for that over samples), hence the room around 1.
    """
    points = np.random.default_rng(1).random((25, 4))
    predictions, variances = [], []
    for sample in range(40):
        rng = np.random.default_rng([2, sample])
        x = rng.random((500, 4))
        y = 2.0 * x[:, 0] + rng.standard_normal(500)
        forest = HonestForest(ForestOptions(n_trees=1_000, min_node=10), seed=sample)
        forest.fit(x, np.zeros(500, int), y, 1)
        predictions.append(forest.predict(points)[:, 0])
        variances.append(forest.predict_variance(points)[:, 0])
    ratio = np.mean(variances) / np.mean(np.var(predictions, axis=0, ddof=1))
    assert 0.6 < ratio < 1.7
    # Centred at its own mean, so that bias is left out, a 95 % interval holds 90 % to 99 % of the forests.
    offsets = np.abs(np.array(predictions) - np.mean(predictions, axis=0))
    assert 0.90 <= np.mean(offsets < 1.96 * np.sqrt(variances)) <= 0.99


def test_variance_by_hand():
    """Two groups of two trees: means 1 and 3, within-group variance 0.25 each.

    Between: ((1 - 2)^2 + (3 - 2)^2) / 2 = 1. Less 0.25 / (2 - 1): 0.75, with a standard error of
    1 x sqrt(2 / 2) = 1. The mean of N(0.75, 1) given that it is positive is 0.75 + phi(0.75) / Phi(0.75) =
    0.75 + 0.301137 / 0.773373 = 1.139382.
    """
    found = group_variance(np.array([[2.0]]), np.array([[1.0]]), np.array([[0.25]]), 2)
    assert found[0, 0] == pytest.approx(1.139382, abs=1e-5)


def test_variance_falls_as_rows_come_in():
    rng = np.random.default_rng(0)
    x, y = rng.random((4_000, 3)), rng.standard_normal(4_000)
    few, many = (
        HonestForest(ForestOptions(n_trees=200, min_node=20), seed=0)
        .fit(x[:n], np.zeros(n, int), y[:n], 1)
        .predict_variance(x[:200])
        .mean()
        for n in (200, 4_000)
    )
    assert many < few


def test_a_constant_outcome_has_no_variance():
    x = np.random.default_rng(0).random((100, 2))
    forest = HonestForest(ForestOptions(n_trees=20), seed=0).fit(x, np.zeros(100, int), np.full(100, 0.1), 1)
    np.testing.assert_allclose(forest.predict_variance(x), 0.0, atol=1e-30)


def test_single_trees_have_no_variance():
    forest = HonestForest(ForestOptions(n_trees=3, group_size=1), seed=0).fit([[1.0]], [0], [1.0], 1)
    with pytest.raises(OptionError, match="group_size must be at least 2 for a variance"):
        forest.predict_variance([[1.0]])
