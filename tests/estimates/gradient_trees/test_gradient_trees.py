"""Boosted trees: by hand, beside scikit-learn's, and compiled beside interpreted."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from headstart.estimates.gradient_trees import boost_classes, boost_numbers
from headstart.estimates.gradient_trees.bins import UNSEEN, find_bins
from headstart.estimates.gradient_trees.boosting import softmax
from headstart.estimates.gradient_trees.growing import add_scores, add_tree, new_room, new_trees
from headstart.kernels import call
from headstart.threads import one_native_thread

THEIRS = {
    "learning_rate": 0.1,
    "max_leaf_nodes": 15,
    "min_samples_leaf": 20,
    "l2_regularization": 1.0,
    "early_stopping": False,
    "random_state": 0,
}


def draw(n, d, n_actions, seed=0):
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(n, d))
    contexts[:, 0] = rng.integers(0, 9, n)  # few values, beside columns of more than there are bins
    actions = rng.integers(0, n_actions, n)
    targets = np.sin(contexts[:, 0]) * (actions % 3) + contexts[:, 1] ** 2 + rng.normal(size=n)
    return contexts, actions, targets


def test_few_values_are_cut_halfway_and_many_by_their_number_of_rows():
    few = find_bins(np.array([[3.0], [1.0], [1.0], [2.0]]), None, 0)
    assert few.cuts[0].tolist() == [1.5, 2.5]
    assert few.assign(np.array([[1.0], [1.5], [1.6], [9.0]])).tolist() == [[0, 0, 1, 2]]
    rows = np.arange(1000.0)[:, None]
    many = find_bins(rows, None, 0)
    assert many.counts.tolist() == [255]
    assert set(np.bincount(many.assign(rows)[0])) <= {3, 4}


def test_a_category_that_was_not_learnt_from_has_a_bin_of_its_own():
    bins = find_bins(np.zeros((3, 1)), np.array([0, 2, 2]), 3)
    assert bins.as_bins(np.array([0, 1, 2])).tolist() == [0, UNSEEN, 2]
    assert bins.counts.tolist() == [1, 3]


def test_one_split_by_hand():
    """40 rows of 0 and 20 of 3: mean 1, and the sides are worth 40 / 41 less and 40 / 21 more; a tenth is taken."""
    contexts = np.repeat([0.0, 1.0], [40, 20])[:, None]
    targets = np.repeat([0.0, 3.0], [40, 20])
    found = boost_numbers(contexts, targets, 1).score(np.array([[0.0], [1.0]]), (1,))[:, 0, 0]
    assert found.tolist() == pytest.approx([1.0 - 0.1 * 40 / 41, 1.0 + 0.1 * 40 / 21])


def test_rows_that_no_leaf_of_twenty_parts_keep_their_mean():
    contexts, targets = np.arange(39.0)[:, None], np.arange(39.0)
    assert boost_numbers(contexts, targets, 3).score(contexts, (3,))[:, 0, 0].tolist() == [19.0] * 39


def test_rows_without_columns_keep_their_mean():
    assert boost_numbers(np.empty((60, 0)), np.arange(60.0), 2).score(np.empty((1, 0)), (2,)).tolist() == [[[29.5]]]


def test_a_category_that_was_not_seen_goes_with_more_rows():
    contexts = np.zeros((70, 1))
    categories, targets = np.repeat([0, 1], [30, 40]), np.repeat([0.0, 1.0], [30, 40])
    trees = boost_numbers(contexts, targets, 1, categories, 3)
    first, second, unseen = trees.score_categories(contexts[:1], 1)[0]
    assert first < second == unseen


def test_two_classes_by_hand():
    """One in three: log 1/2 to begin with. Gradients 1/3 and -2/3, curvatures 2/9 a row."""
    contexts, classes = np.repeat([0.0, 1.0], [40, 20])[:, None], np.repeat([0, 1], [40, 20])
    scores = boost_classes(contexts, classes, 2, 1).score(np.array([[0.0], [1.0]]), (1,))[:, 0]
    assert scores[:, 0].tolist() == [0.0, 0.0]
    below, above = 0.1 * (40 / 3) / (40 * 2 / 9 + 1), 0.1 * (20 * 2 / 3) / (20 * 2 / 9 + 1)
    assert scores[:, 1] == pytest.approx([np.log(0.5) - below, np.log(0.5) + above], rel=1e-6)


@pytest.mark.parametrize(("n", "d", "k"), [(300, 2, 3), (2000, 5, 10), (1000, 3, 60), (6000, 4, 2)])
def test_numbers_are_those_of_scikit_learn(n, d, k):
    contexts, actions, targets = draw(n, d, k)
    users, theirs, _ = draw(200, d, k, seed=1)
    found = boost_numbers(contexts, targets, 20, actions, k).score(users, (5, 20), theirs)[:, :, 0]
    model = HistGradientBoostingRegressor(max_iter=20, categorical_features=[d], **THEIRS)
    with one_native_thread():
        staged = list(model.fit(np.column_stack([contexts, actions]), targets).staged_predict(
            np.column_stack([users, theirs])
        ))  # fmt: skip
    assert found == pytest.approx(np.column_stack([staged[4], staged[19]]), abs=1e-12)


@pytest.mark.parametrize(("n", "d", "k"), [(300, 2, 2), (2000, 4, 3), (2000, 4, 8)])
def test_chances_are_those_of_scikit_learn(n, d, k):
    contexts, actions, _ = draw(n, d, k)
    users = draw(200, d, k, seed=1)[0]
    scores = boost_classes(contexts, actions, k, 20).score(users, (5, 20))
    with one_native_thread():
        model = HistGradientBoostingClassifier(max_iter=20, **THEIRS).fit(contexts, actions)
        staged = list(model.staged_predict_proba(users))
    for stage, expected in enumerate((staged[4], staged[19])):
        found = softmax(scores[:, stage].T).T
        assert found == pytest.approx(expected, abs=1e-12)


def test_every_category_is_scored_as_by_itself():
    contexts, actions, targets = draw(400, 3, 4)
    trees = boost_numbers(contexts, targets, 6, actions, 4)
    each = trees.score_categories(contexts, 6)
    assert np.array_equal(each[np.arange(400), actions], trees.score(contexts, (6,), actions)[:, 0, 0])


def test_more_rounds_than_were_grown_are_refused():
    contexts, actions, targets = draw(60, 2, 2)
    trees = boost_numbers(contexts, targets, 2, actions, 2)
    with pytest.raises(AssertionError, match="checks no index"):
        trees.score(contexts, (1, 3), actions)
    with pytest.raises(AssertionError, match="checks no index"):
        trees.score_categories(contexts, 3)


def test_compiled_and_interpreted_grow_the_same_tree():
    contexts, actions, targets = draw(150, 2, 4)
    bins = find_bins(contexts, actions, 4)
    rows = bins.assign(contexts)
    rows[-1] = bins.as_bins(actions)
    pulls = np.column_stack([targets.mean() - targets, np.ones(150)]).astype(np.float32)
    grown = []
    for run in (call, lambda function, *arguments: function(*arguments)):
        trees, scores = new_trees(1), np.zeros(150)
        run(add_tree, rows, bins.counts, 2, pulls, new_room(150, bins.counts), trees, 0, scores)
        walked = np.zeros(150)
        run(add_scores, rows, trees, 0, 1, 1, walked)
        assert np.array_equal(walked, scores)
        grown.append((*trees, scores))
    assert (grown[0][1] >= 0).sum() > 2  # splits
    for compiled, interpreted in zip(*grown, strict=True):
        assert np.array_equal(compiled, interpreted)
