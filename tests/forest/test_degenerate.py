"""Input that is small, flat or wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headstart.errors import ContextError, LogError, OptionError
from headstart.forest import ForestOptions, HonestForest
from headstart.forest.planting import make_limits

FEW = ForestOptions(n_trees=10)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 12])
def test_a_handful_of_rows_gives_an_answer(n: int):
    """One row is its own prediction; more lie within the outcomes' range, or are NaN for want of rows."""
    rng = np.random.default_rng(n)
    x, y = rng.random((n, 3)), rng.standard_normal(n)
    found = HonestForest(FEW, seed=0).fit(x, np.zeros(n, int), y, 1).predict(x)
    assert ((found >= y.min() - 1e-12) & (found <= y.max() + 1e-12)).all()


def test_constant_features_leave_one_leaf():
    y = np.random.default_rng(0).standard_normal(200)
    forest = HonestForest(FEW, seed=0).fit(np.ones((200, 3)), np.zeros(200, int), y, 1)
    np.testing.assert_array_equal(np.diff(forest.arrays.leaf_starts), 1)


def test_a_constant_outcome_is_never_split_on_rounding():
    x = np.random.default_rng(0).random((500, 3))
    forest = HonestForest(FEW, seed=0).fit(x, np.zeros(500, int), np.full(500, 0.1), 1)
    np.testing.assert_array_equal(np.diff(forest.arrays.leaf_starts), 1)
    np.testing.assert_allclose(forest.predict(x), 0.1)


def test_duplicated_rows_are_never_parted():
    """Three distinct contexts make at most three leaves."""
    x = np.repeat(np.arange(3.0), 100)[:, None]
    y = np.random.default_rng(0).standard_normal(300) + x[:, 0]
    forest = HonestForest(FEW, seed=0).fit(x, np.zeros(300, int), y, 1)
    assert np.diff(forest.arrays.leaf_starts).max() <= 3


def test_an_absent_action_is_predicted_nan_and_stops_nothing():
    rng = np.random.default_rng(0)
    x, a, y = rng.random((300, 2)), 2 * rng.integers(2, size=300), rng.standard_normal(300)
    forest = HonestForest(FEW, seed=0).fit(x, a, y, 3)
    found = forest.predict(x)
    assert np.isnan(found[:, 1]).all()
    assert np.isnan(forest.predict_variance(x)[:, 1]).all()
    assert np.isfinite(found[:, [0, 2]]).all()
    assert (np.diff(forest.arrays.leaf_starts) > 1).all()
    forest.add(x[:1], [1], [5.0])
    assert forest.predict_one(x[0])[1] == 5.0


def test_a_rare_actions_trees_without_it_are_left_out_of_its_mean():
    """One row of action 1, outcome 7: every tree that saw it in I says 7, the others say nothing."""
    rng = np.random.default_rng(0)
    x, y, a = rng.random((60, 2)), rng.standard_normal(60), np.zeros(60, int)
    a[5], y[5] = 1, 7.0
    forest = HonestForest(ForestOptions(n_trees=100), seed=0).fit(x, a, y, 2)
    assert forest.predict_one(x[5])[1] == pytest.approx(7.0)


def test_values_at_the_ends_of_the_floating_line_are_split():
    x = np.array([[-1e308], [1e308]] * 100)
    y = (x[:, 0] > 0).astype(float)
    found = HonestForest(FEW, seed=0).fit(x, np.zeros(200, int), y, 1).predict(x)[:, 0]
    np.testing.assert_array_equal(found, y)


def test_read_only_and_strided_input_gives_the_same_bits():
    """A log's arrays are read-only; numba would compile everything anew for them."""
    rng = np.random.default_rng(0)
    x, a, y = rng.random((50, 4)), rng.integers(2, size=50), rng.standard_normal(50)
    expected = HonestForest(FEW, seed=0).fit(x, a, y, 2).predict(x)
    locked, wide = np.asfortranarray(x), np.repeat(y, 2)
    locked.setflags(write=False)
    found = HonestForest(FEW, seed=0).fit(locked, a.astype(np.int32), wide[::2], 2).predict(locked)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_wrong_number_is_named_by_row_and_column(value: float):
    x = np.zeros((4, 3))
    x[2, 1] = value
    with pytest.raises(LogError, match=f"row 2, column 1 must be a finite number, got {value}"):
        HonestForest(FEW, seed=0).fit(x, [0] * 4, [0.0] * 4, 1)
    forest = HonestForest(FEW, seed=0).fit(np.zeros((4, 3)), [0] * 4, [0.0] * 4, 1)
    with pytest.raises(ContextError, match="row 2, column 1"):
        forest.predict(x)
    with pytest.raises(ContextError, match="column 1"):
        forest.predict_one(x[2])


@pytest.mark.parametrize(
    ("contexts", "actions", "outcomes", "text"),
    [
        (np.zeros((2, 1)), [0, 3], [0.0, 0.0], "action in row 1 must be in 0..1, got 3"),
        (np.zeros((2, 1)), [0.5, 1.0], [0.0, 0.0], "actions must be whole numbers"),
        (np.zeros((2, 1)), [0, 1], [0.0, math.nan], "outcome in row 1 must be a finite number"),
        (np.zeros((2, 1)), [0], [0.0, 0.0], r"actions must have shape \(2,\)"),
        (np.zeros((0, 1)), np.zeros(0, int), [], "n and d at least 1"),
        ([["a"]], [0], [0.0], "contexts must be numbers"),
    ],
)
def test_malformed_rows_are_refused(contexts, actions, outcomes, text):
    with pytest.raises(LogError, match=text):
        HonestForest(FEW, seed=0).fit(contexts, actions, outcomes, 2)


def test_an_unfitted_forest_says_so():
    with pytest.raises(LogError, match="must be fitted first"):
        HonestForest(FEW, seed=0).predict([[0.0]])


def test_contexts_of_the_wrong_length_are_refused():
    forest = HonestForest(FEW, seed=0).fit(np.zeros((4, 3)), [0] * 4, [0.0] * 4, 1)
    with pytest.raises(ContextError, match=r"shape \(n, 3\), got \(1, 2\)"):
        forest.predict([[0.0, 1.0]])
    with pytest.raises(ContextError, match=r"shape \(3,\), got \(2,\)"):
        forest.predict_one([0.0, 1.0])


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"n_trees": 0}, "n_trees must be a whole number of at least 1, got 0"),
        ({"n_trees": 5}, "n_trees must be a multiple of group_size"),
        ({"sample_fraction": 0.7}, r"sample_fraction must be in \(0, 0.5\]"),
        ({"subsample_exponent": 1.5}, "subsample_exponent must be in"),
        ({"honesty_fraction": 1.0}, "honesty_fraction must be in"),
        ({"alpha": 0.3}, r"alpha must be in \[0, 0.2\], got 0.3"),
        ({"mtry": 0.0}, "mtry must be positive"),
        ({"n_bins": 300}, "n_bins must be in 2..256"),
    ],
)
def test_options_out_of_range_are_refused(wrong, text):
    with pytest.raises(OptionError, match=text):
        ForestOptions(**wrong)


def test_rows_per_tree_follow_the_options():
    """n = 1,000: half of it; 1000^0.8 = 251.19 rounded up; J takes honesty_fraction of them."""
    assert make_limits(ForestOptions(), 2, 1_000, 1).n_tree == 500
    assert make_limits(ForestOptions(subsample_exponent=0.8), 2, 1_000, 1).n_tree == 252
    assert make_limits(ForestOptions(honesty_fraction=0.25), 2, 1_000, 1).n_split == 125
