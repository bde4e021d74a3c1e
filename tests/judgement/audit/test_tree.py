"""The tree that parts users by what happened to them: by hand, and against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from headstart.judgement.audit.checks.tree import grow_group_tree


def test_first_split_by_hand():
    """Six rows, targets 0 0 1 1 1 0 in the order of x = 1 .. 6.

    All rows: squared counts over rows (9 + 9) / 6 = 3. After the second row 4/2 + (9 + 1)/4 = 4.5, after the fifth
    (4 + 9)/5 + 1 = 3.6, elsewhere less: the threshold is 2.5. Among the last four the split before the sixth row is
    pure: 9/3 + 1 = 4.
    """
    x, targets = np.arange(1.0, 7.0)[:, None], np.array([0, 0, 1, 1, 1, 0])
    tree = grow_group_tree(x, targets, 2, most_leaves=3, fewest_rows=1)
    assert tree.columns.tolist() == [0, -1, 0, -1, -1]
    assert tree.thresholds[[0, 2]].tolist() == [2.5, 5.5]
    assert tree.counts.tolist() == [[3, 3], [2, 0], [1, 3], [0, 3], [1, 0]]
    assert tree.find_leaves(np.array([[2.5], [2.6], [9.0]])).tolist() == [0, 1, 2]


def test_leaf_has_its_fewest_rows():
    """The split at 2.5 would leave two rows on the left; with three at least on each side the middle is left."""
    x, targets = np.arange(1.0, 7.0)[:, None], np.array([0, 0, 1, 1, 1, 0])
    tree = grow_group_tree(x, targets, 2, most_leaves=3, fewest_rows=3)
    assert tree.thresholds.tolist() == [3.5, 0.0, 0.0]
    assert tree.sizes.tolist() == [6, 3, 3]


def test_equal_values_are_not_parted():
    tree = grow_group_tree(np.ones((8, 2)), np.arange(8) % 2, 2, most_leaves=4, fewest_rows=1)
    assert tree.sizes.tolist() == [8]


@pytest.mark.parametrize("seed", range(12))
def test_it_is_scikit_learns_tree(seed):
    """Numbers of single precision, which is what scikit-learn looks at, a 0/1 column and one of five values."""
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(60, 4000)), int(rng.integers(3, 12)), int(rng.integers(2, 8))
    x = rng.standard_normal((n, d)).astype(np.float32).astype(float)
    x[:, 0], x[:, 1] = rng.integers(0, 2, n), rng.integers(0, 5, n)
    raw = np.exp(x[:, [0]] * rng.standard_normal(k) + (x[:, [-1]] > 0.3) * rng.standard_normal(k))
    targets = ((raw / raw.sum(axis=1, keepdims=True)).cumsum(axis=1) > rng.random(n)[:, None]).argmax(axis=1)
    fewest = max(20, n // 32)
    tree = grow_group_tree(x, targets, k, 16, fewest)
    theirs = DecisionTreeClassifier(
        max_leaf_nodes=16, min_samples_leaf=fewest, min_impurity_decrease=1e-4, random_state=0
    ).fit(x, targets)
    assert tree.sizes.tolist() == theirs.tree_.n_node_samples.tolist()
    is_split = tree.lefts >= 0
    np.testing.assert_allclose(tree.thresholds[is_split], theirs.tree_.threshold[is_split], rtol=1e-6)
    assert tree.leaves[tree.find_leaves(x)].tolist() == theirs.apply(x).tolist()
