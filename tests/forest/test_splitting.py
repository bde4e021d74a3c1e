"""The split that is chosen: by hand, and against the slow twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headstart.forest import ForestOptions, HonestForest, planting
from headstart.forest.planting import make_limits
from headstart.forest.sampling import Limits

from .grown import replay_draws, splits_of
from .slow_twin import best_gain, gain_of


def sort_up_to(n_sorted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have nodes of more than n_sorted rows binned, smaller ones sorted."""

    def limits(*args: Any) -> Limits:
        return make_limits(*args)._replace(n_sorted=n_sorted)

    monkeypatch.setattr(planting, "make_limits", limits)


def test_best_split_and_leaf_means_by_hand():
    """x = 0..7, forty rows of each; y = 0 for x <= 2, 10 for x >= 3.

    Per row of each x in J, mean 6.25: the cut at 2|3 gains 3 (0 - 6.25)^2 + 5 (10 - 6.25)^2 = 187.5, the
    next best, 3|4, gains 4 (2.5 - 6.25)^2 + 4 (10 - 6.25)^2 = 112.5. The threshold is halfway, 2.5; both
    sides are then pure, so there is no second split, and the leaves' means are 0 and 10 whatever the draw.
    """
    x = np.repeat(np.arange(8.0), 40)[:, None]
    y = np.where(x[:, 0] <= 2, 0.0, 10.0)
    forest = HonestForest(ForestOptions(n_trees=20, min_node=5), seed=1).fit(x, np.zeros(320, int), y, 1)
    for tree in range(20):
        (split,) = splits_of(forest.arrays, tree, x, np.arange(320))
        assert split.threshold == 2.5
    np.testing.assert_array_equal(forest.predict([[0.0], [2.4], [2.6], [9.0]])[:, 0], [0.0, 0.0, 10.0, 10.0])


def test_gain_of_two_actions_by_hand():
    """Action 0 has outcomes 0, 0 | 6, 6 and action 1 has 1 | 3: 4 x 3^2 + 2 x 1^2 = 38."""
    left = np.array([True, True, False, False, True, False])
    actions, outcomes = np.array([0, 0, 0, 0, 1, 1]), np.array([0.0, 0.0, 6.0, 6.0, 1.0, 3.0])
    assert gain_of(left, actions, outcomes) == pytest.approx(38.0)


@pytest.mark.parametrize("n_actions", [1, 3])
@pytest.mark.parametrize("kind", ["continuous", "tied"])
def test_sorted_nodes_choose_the_slow_twins_split(n_actions: int, kind: str):
    """Every split of the first tree of each of 15 groups has the largest gain that both halves allow."""
    rng = np.random.default_rng(7)
    n, options = 200, ForestOptions(n_trees=30, mtry=400.0, min_leaf=2, alpha=0.1)
    x = rng.random((n, 4)) if kind == "continuous" else rng.integers(0, 5, (n, 4)) / 4.0
    a = rng.integers(n_actions, size=n)
    y = rng.standard_normal(n) + (a + 1) * (x[:, 1] > 0.5)
    forest = HonestForest(options, seed=3).fit(x, a, y, n_actions)
    n_below_the_root = 0
    for group, (j, i) in enumerate(replay_draws(options, 3, n)):
        by_split = splits_of(forest.arrays, 2 * group, x, j)
        by_estimate = splits_of(forest.arrays, 2 * group, x, i)
        for split, estimate in zip(by_split, by_estimate, strict=True):
            jj, ii = np.append(split.left, split.right), np.append(estimate.left, estimate.right)
            expected = best_gain(x[jj], a[jj], y[jj], x[ii], a[ii], n_actions, 0.1, 2)
            chosen = x[jj, split.feature] <= split.threshold
            assert gain_of(chosen, a[jj], y[jj]) == pytest.approx(expected, rel=1e-9)
        n_below_the_root += len(by_split) - 1
    assert n_below_the_root >= 15


@pytest.mark.parametrize("jump", [0.4321, 0.4151])
@pytest.mark.parametrize("n_actions", [1, 2])
def test_binned_nodes_find_the_jump_that_sorted_nodes_find(
    n_actions: int, jump: float, monkeypatch: pytest.MonkeyPatch
):
    """A jump of ten standard deviations: the bins' refined threshold is the exact search's, bit by bit.

    Of 32 bins, 0.4321 lies 13.83 bins up and 0.4151 lies 13.28 up: left and right of the nearest edge.
    """
    rng = np.random.default_rng(2)
    n, options = 4_000, ForestOptions(n_trees=20, mtry=400.0, n_bins=32)
    x, a = rng.random((n, 3)), rng.integers(n_actions, size=n)
    y = 10.0 * (x[:, 2] > jump) + rng.standard_normal(n)
    roots = []
    for n_sorted in (100, 1 << 15):
        sort_up_to(n_sorted, monkeypatch)
        arrays = HonestForest(options, seed=0).fit(x, a, y, n_actions).arrays
        roots.append(arrays.nodes[arrays.roots[::2]])  # later trees of a group start from other random words
    np.testing.assert_array_equal(roots[0]["feature"], 2)
    np.testing.assert_array_equal(roots[0]["threshold"], roots[1]["threshold"])
    np.testing.assert_allclose(roots[0]["threshold"], jump, atol=0.02)


@pytest.mark.parametrize("n_actions", [1, 2])
def test_binned_and_sorted_forests_are_equally_good(n_actions: int, monkeypatch: pytest.MonkeyPatch):
    """On a smooth outcome the two searches may differ by a bin; their errors may not, by more than a tenth."""
    rng = np.random.default_rng(5)
    n = 3_000
    x, a, test = rng.random((n, 4)), rng.integers(n_actions, size=n), rng.random((1_000, 4))
    y = np.sin(6 * x[:, 0]) + x[:, 1] + a + 0.3 * rng.standard_normal(n)
    errors = []
    for n_sorted in (50, 1 << 15):
        sort_up_to(n_sorted, monkeypatch)
        found = HonestForest(ForestOptions(n_trees=100), seed=0).fit(x, a, y, n_actions).predict(test)
        expected = (np.sin(6 * test[:, 0]) + test[:, 1])[:, None] + np.arange(n_actions)
        errors.append(np.mean((found - expected) ** 2))
    assert abs(errors[0] / errors[1] - 1.0) < 0.1


def test_every_feature_is_split_on_by_pure_noise():
    """mtry = 2 of 6: with nothing to find, each feature opens about a sixth of 400 trees.

    A share below 0.08 or above 0.28 has a chance under 1e-5 (binomial, 400 trees, six features).
    """
    rng = np.random.default_rng(0)
    x, y = rng.random((300, 6)), rng.standard_normal(300)
    forest = HonestForest(ForestOptions(n_trees=400, mtry=2.0, group_size=1), seed=0)
    arrays = forest.fit(x, np.zeros(300, int), y, 1).arrays
    shares = np.bincount(arrays.nodes["feature"][arrays.roots], minlength=6) / 400
    assert shares.min() > 0.08
    assert shares.max() < 0.28


def test_coarse_bins_do_not_stop_the_growth():
    """Two bins and 6,000 rows: most nodes lie within one bin of the only feature, and are split all the same."""
    rng = np.random.default_rng(0)
    x = rng.random((6_000, 1))
    y = np.floor(16 * x[:, 0])
    forest = HonestForest(ForestOptions(n_trees=10, n_bins=2), seed=0).fit(x, np.zeros(6_000, int), y, 1)
    assert np.mean((forest.predict(x)[:, 0] - y) ** 2) < 0.05
