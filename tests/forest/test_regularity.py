"""Definitions 1 and 2, asserted on grown trees."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headstart.forest import ForestOptions, HonestForest

from .grown import replay_draws, splits_of


def confounded_rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.random((n, 5))
    a = (rng.random(n) < 0.2 + 0.6 * x[:, 0]).astype(int)
    return x, a, x[:, 0] + a * (x[:, 1] > 0.5) + 0.5 * rng.standard_normal(n)


@pytest.mark.parametrize(("n", "m", "alpha"), [(400, 1, 0.05), (400, 4, 0.2), (6_000, 3, 0.05)])
def test_every_split_is_regular_on_the_estimation_half(n: int, m: int, alpha: float):
    """Each split leaves alpha of I's node on each side, each leaf m rows of I of each action.

    6,000 rows make the upper nodes binned (J has 1,500 rows; a node is sorted from 2,048 on for two actions,
    so n_bins = 64 is asked for, which lowers that to 512).
    """
    x, a, y = confounded_rows(n, 1)
    options = ForestOptions(n_trees=20, min_leaf=m, alpha=alpha, n_bins=64)
    arrays = HonestForest(options, seed=5).fit(x, a, y, 2).arrays
    n_splits = 0
    for group, (_, i) in enumerate(replay_draws(options, 5, n)):
        for split in splits_of(arrays, 2 * group, x, i):
            least = max(1, math.ceil(alpha * (split.left.size + split.right.size)))
            assert min(split.left.size, split.right.size) >= least
            for side in (split.left, split.right):
                assert np.bincount(a[side], minlength=2).min() >= m
            n_splits += 1
    assert n_splits > 50
    assert arrays.counts.min() >= m  # all trees, as the leaves themselves say


def test_leaf_statistics_are_those_of_the_estimation_half():
    """The first tree of each group: sums and counts of I, leaf by leaf; no row of J is in them."""
    x, a, y = confounded_rows(300, 2)
    options = ForestOptions(n_trees=10)
    forest = HonestForest(options, seed=9).fit(x, a, y, 2)
    leaves = forest.leaf_of(x)
    for group, (_, i) in enumerate(replay_draws(options, 9, 300)):
        sums, counts = np.zeros_like(forest.arrays.sums), np.zeros_like(forest.arrays.counts)
        np.add.at(sums, (leaves[2 * group, i], a[i]), y[i])
        np.add.at(counts, (leaves[2 * group, i], a[i]), 1.0)
        mine = slice(*forest.arrays.leaf_starts[2 * group : 2 * group + 2])
        np.testing.assert_allclose(forest.arrays.sums[mine], sums[mine], atol=1e-12)
        np.testing.assert_array_equal(forest.arrays.counts[mine], counts[mine])


@pytest.mark.parametrize("n", [200, 5_000])
def test_outcomes_of_the_estimation_half_never_move_a_split(n: int):
    """One tree: other outcomes in I leave every bit of the structure as it was; other ones in J do not."""
    x, a, y = confounded_rows(n, 3)
    options = ForestOptions(n_trees=1, group_size=1, n_bins=32)
    ((j, i),) = replay_draws(options, 11, n)
    before = HonestForest(options, seed=11).fit(x, a, y, 2).arrays
    for half, is_same in ((i, True), (j, False)):
        changed = y.copy()
        changed[half] = 1e6 * np.random.default_rng(0).standard_normal(half.size)
        after = HonestForest(options, seed=11).fit(x, a, changed, 2).arrays
        assert (before.nodes.tobytes() == after.nodes.tobytes()) is is_same


def test_outcomes_of_the_splitting_half_never_enter_an_estimate():
    """J's outcomes scaled by 2 leave the order of gains, so the structure, and then every leaf's sum."""
    x, a, y = confounded_rows(400, 4)
    options = ForestOptions(n_trees=1, group_size=1)
    ((j, _),) = replay_draws(options, 2, 400)
    before = HonestForest(options, seed=2).fit(x, a, y, 2).arrays
    doubled = y.copy()
    doubled[j] *= 2.0
    after = HonestForest(options, seed=2).fit(x, a, doubled, 2).arrays
    assert before.nodes.tobytes() == after.nodes.tobytes()
    np.testing.assert_array_equal(before.sums, after.sums)
    np.testing.assert_array_equal(before.counts, after.counts)


def test_a_rare_action_does_not_stop_the_others_from_being_split():
    """Three rows of action 1 among 400, m = 5: no tree can keep five, so the demand is waived for it."""
    x, _, y = confounded_rows(400, 6)
    a = np.zeros(400, int)
    a[:3] = 1
    arrays = HonestForest(ForestOptions(n_trees=20, min_leaf=5), seed=0).fit(x, a, y, 2).arrays
    assert (np.diff(arrays.leaf_starts) > 3).all()
    assert arrays.counts[:, 0].min() >= 5
