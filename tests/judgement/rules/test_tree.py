"""Growing a small tree: what it asks, by hand and against all trees of one split."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.judgement.rules.columns import AtMost, Categories, IsAmong, IsMissing, Numbers, round_between
from headstart.judgement.rules.tree import Leaf, Split, grow_rules, leaves


def test_a_threshold_by_hand():
    """Users of 1, 2, 3, 4; action 1 is 1 better above 2.5 and 1 worse below: one split, nothing is lost."""
    losses = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    tree = grow_rules([Numbers("x", np.array([1.0, 2.0, 3.0, 4.0]), 0.0, is_mark=False)], losses, 8)
    assert tree == Split(AtMost("x", 2.0, 0.0), Leaf(0, 0.5), Leaf(1, 0.5))


def test_what_is_lost_decides_and_not_how_many_lose():
    """Three users lose 1 each by action 1, one loses 10 by action 0: a single leaf is action 1."""
    losses = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [10.0, 0.0]])
    column = [Numbers("x", np.arange(4.0), 0.0, is_mark=False)]
    assert grow_rules(column, losses, 1) == Leaf(1, 1.0)
    assert grow_rules(column, losses, 2) == Split(AtMost("x", 2.0, 0.0), Leaf(0, 0.75), Leaf(1, 0.25))


def test_nothing_to_tell_apart_is_one_leaf():
    assert grow_rules([Numbers("x", np.arange(5.0), 0.0, is_mark=False)], np.tile([0.0, 1.0], (5, 1)), 8) == Leaf(
        0, 1.0
    )
    assert grow_rules([], np.array([[1.0, 0.0]]), 8) == Leaf(1, 1.0)


def test_categories_are_split_into_lists():
    """Levels a and c want action 1, b and d action 0, whatever the order of the letters."""
    places = np.array([0, 1, 2, 3] * 5)
    losses = np.where((places % 2 == 0)[:, None], [1.0, 0.0], [0.0, 1.0])
    tree = grow_rules([Categories("c", places, ("a", "b", "c", "d"))], losses, 4)
    assert isinstance(tree, Split)
    assert isinstance(tree.question, IsAmong)
    assert set(tree.question.levels) in ({"a", "c"}, {"b", "d"})
    assert len(list(leaves(tree))) == 2


def test_a_value_of_no_level_is_never_in_the_list():
    """The place after the last level is no level: the question lists the others, whichever side that is."""
    places = np.array([0, 1, 2] * 6)  # two levels, and none of them
    losses = np.where((places == 2)[:, None], [1.0, 0.0], [0.0, 1.0])
    tree = grow_rules([Categories("c", places, ("a", "b"))], losses, 4)
    assert tree == Split(IsAmong("c", ("a", "b"), ("a", "b")), Leaf(0, 2 / 3), Leaf(1, 1 / 3))


def test_a_mark_of_missing_asks_for_it():
    mark = np.array([0.0, 1.0] * 5)
    losses = np.where((mark == 1.0)[:, None], [1.0, 0.0], [0.0, 1.0])
    tree = grow_rules([Numbers("x", mark, 0.0, is_mark=True)], losses, 4)
    assert tree == Split(IsMissing("x"), Leaf(1, 0.5), Leaf(0, 0.5))


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_the_first_split_is_the_best_of_all(seed: int):
    """Against every cut between two values of every column, by plain loops."""
    rng = np.random.default_rng(seed)
    values, losses = rng.integers(5, size=(12, 2)).astype(float), rng.random((12, 3))
    tree = grow_rules([Numbers(f"x{j}", values[:, j], 0.0, is_mark=False) for j in range(2)], losses, 2)
    least = losses.sum(axis=0).min()
    for j in range(2):
        for cut in range(4):
            below = values[:, j] <= cut
            if below.any() and not below.all():
                least = min(least, losses[below].sum(axis=0).min() + losses[~below].sum(axis=0).min())
    chosen = np.full(12, tree.action) if isinstance(tree, Leaf) else None
    if isinstance(tree, Split):
        assert isinstance(tree.question, AtMost)
        assert isinstance(tree.yes, Leaf)
        assert isinstance(tree.no, Leaf)
        below = values[:, int(tree.question.column[1])] <= tree.question.most
        chosen = np.where(below, tree.yes.action, tree.no.action)
    np.testing.assert_allclose(losses[np.arange(12), chosen].sum(), least)


@given(a=st.floats(-1e6, 1e6), b=st.floats(-1e6, 1e6))
def test_a_rounded_threshold_is_still_between(a: float, b: float):
    low, high = min(a, b), max(a, b)
    if low < high:
        assert low <= round_between(low, high) < high
