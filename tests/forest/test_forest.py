"""The forest as a user meets it: accuracy, threads, adding rows, saving, variance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.forest import GRF, draw_data

from headstart.errors import HeadstartError
from headstart.forest import ForestOptions, HonestForest, find_leaf, predict_context

from .test_regularity import confounded_rows


@pytest.mark.parametrize("data", ["friedman", "steps"])
def test_error_is_within_five_per_cent_of_grfs(data: str):
    """n = 2,000, five seeds, 500 trees, grf's defaults; n = 20,000 stands in benchmarks/forest.py."""
    errors = []
    for seed in range(5):
        x, y, test, expected = draw_data(data, 2_000, seed)
        forest = HonestForest(ForestOptions(n_trees=500), seed=seed).fit(x, np.zeros(2_000, int), y, 1)
        errors.append(np.mean((forest.predict(test)[:, 0] - expected) ** 2))
    assert np.mean(errors) < 1.05 * np.mean(GRF[data, 2_000])


def test_threads_do_not_change_a_bit():
    x, a, y = confounded_rows(3_000, 0)
    options = ForestOptions(n_trees=40)
    one = HonestForest(options, seed=4).fit(x, a, y, 2)
    three = HonestForest(options, seed=4, n_threads=3).fit(x, a, y, 2)
    for mine, theirs in zip(one.arrays, three.arrays, strict=True):
        assert mine.tobytes() == theirs.tobytes()
    assert one.predict(x).tobytes() == three.predict(x).tobytes()
    assert one.predict_variance(x).tobytes() == three.predict_variance(x).tobytes()


def test_seeds_change_the_forest():
    x, a, y = confounded_rows(200, 0)
    options = ForestOptions(n_trees=10)
    first, second = (HonestForest(options, seed=seed).fit(x, a, y, 2).predict(x) for seed in (0, 1))
    assert (first != second).any()


def test_one_context_kernels_and_tables_agree():
    x, a, y = confounded_rows(500, 1)
    forest = HonestForest(ForestOptions(n_trees=30), seed=0).fit(x, a, y, 2)
    table, leaves, out = forest.predict(x[:20]), forest.leaf_of(x[:20]), np.empty(2)
    for row in range(20):
        np.testing.assert_array_equal(forest.predict_one(x[row]), table[row])
        predict_context(forest.arrays, x[row], out)
        np.testing.assert_array_equal(out, table[row])
        assert [find_leaf(forest.arrays, tree, x[row]) for tree in range(30)] == leaves[:, row].tolist()


def test_how_many_contexts_are_asked_about_together_does_not_change_a_bit():
    """Four go down a tree together, the last one to three alone; a block ends after 2,048."""
    x, a, y = confounded_rows(2_051, 1)
    forest = HonestForest(ForestOptions(n_trees=10), seed=0).fit(x[:500], a[:500], y[:500], 2)
    table, leaves = forest.predict(x), forest.leaf_of(x)
    for n in (1, 2, 3, 4, 5, 7):
        assert forest.predict(x[-n:]).tobytes() == table[-n:].tobytes()
        assert forest.leaf_of(x[-n:]).tobytes() == np.ascontiguousarray(leaves[:, -n:]).tobytes()
    assert forest.predict(x[:0]).shape == (0, 2)


def test_prediction_is_the_mean_over_trees_of_leaf_means():
    x, a, y = confounded_rows(500, 2)
    forest = HonestForest(ForestOptions(n_trees=30), seed=0).fit(x, a, y, 2)
    means = forest.arrays.sums / forest.arrays.counts
    np.testing.assert_allclose(forest.predict(x), means[forest.leaf_of(x)].mean(axis=0), rtol=1e-12)


def test_added_rows_equal_leaf_means_computed_anew():
    x, a, y = confounded_rows(600, 3)
    forest = HonestForest(ForestOptions(n_trees=20), seed=0).fit(x[:400], a[:400], y[:400], 2)
    sums, counts = forest.arrays.sums.copy(), forest.arrays.counts.copy()
    for row in range(400, 600):
        forest.add(x[row : row + 1], a[row : row + 1], y[row : row + 1])
    for leaves in forest.leaf_of(x[400:]):
        np.add.at(sums, (leaves, a[400:]), y[400:])
        np.add.at(counts, (leaves, a[400:]), 1.0)
    np.testing.assert_array_equal(forest.arrays.counts, counts)
    np.testing.assert_allclose(forest.arrays.means, sums / counts, rtol=1e-10)


def test_a_saved_forest_comes_back_whole(tmp_path: Path):
    x, a, y = confounded_rows(300, 4)
    forest = HonestForest(ForestOptions(n_trees=10, min_leaf=2), seed=6).fit(x, a, y, 2)
    forest.save(tmp_path / "forest.npz")
    again = HonestForest.load(tmp_path / "forest.npz")
    assert (again.options, again.seed, again.n_features) == (forest.options, 6, 5)
    assert again.predict(x).tobytes() == forest.predict(x).tobytes()
    again.add(x[:5], a[:5], y[:5])


def test_a_file_that_is_no_forest_is_refused(tmp_path: Path):
    np.savez(tmp_path / "other.npz", something=np.arange(3))
    with pytest.raises(HeadstartError, match=r"other\.npz must be a forest"):
        HonestForest.load(tmp_path / "other.npz")


def test_relabelling_the_actions_permutes_the_answer():
    """Up to rounding: the gains of three actions are summed in another order."""
    rng = np.random.default_rng(0)
    x, a = rng.random((500, 4)), rng.integers(3, size=500)
    y = x[:, 0] * a + rng.standard_normal(500)
    options, order = ForestOptions(n_trees=20), np.array([2, 0, 1])
    before = HonestForest(options, seed=0).fit(x, a, y, 3).predict(x)
    after = HonestForest(options, seed=0).fit(x, order[a], y, 3).predict(x)
    np.testing.assert_allclose(after[:, order], before, rtol=1e-9)


def test_three_actions_together_beat_one_forest_per_action():
    """A confounded log whose actions share a jagged baseline: each forest alone sees a third of the rows."""
    joint, apart = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n = 900
        x, test = rng.random((n, 8)), rng.random((1_000, 8))

        def mean(x: np.ndarray) -> np.ndarray:
            base = 3.0 * (x[:, 0] > 0.5) + 2.0 * ((x[:, 1] > 0.4) & (x[:, 2] > 0.5))
            return base[:, None] + np.stack([0 * x[:, 3], x[:, 3], 1.0 - x[:, 3]], axis=1)

        chances = np.exp(2.0 * np.stack([x[:, 0], 1.0 - x[:, 0], x[:, 1]], axis=1))
        chances /= chances.sum(axis=1, keepdims=True)
        a = (rng.random(n)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
        y = mean(x)[np.arange(n), a] + rng.standard_normal(n)
        options = ForestOptions(n_trees=200)
        joint.append(np.mean((HonestForest(options, seed=seed).fit(x, a, y, 3).predict(test) - mean(test)) ** 2))
        alone = [
            HonestForest(options, seed=seed).fit(x[a == k], a[a == k] * 0, y[a == k], 1).predict(test)[:, 0]
            for k in range(3)
        ]
        apart.append(np.mean((np.stack(alone, axis=1) - mean(test)) ** 2))
    assert np.mean(joint) < np.mean(apart)
    assert sum(j < s for j, s in zip(joint, apart, strict=True)) >= 5
