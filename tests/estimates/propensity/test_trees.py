"""Boosted trees: tried where the regression's residuals ask for it, used where rows left out say so."""

import numpy as np
import pytest

import headstart as hs
from headstart.estimates.propensity.curves import expand, is_curved
from headstart.estimates.propensity.missing import CURVE, LINE, TREES, fill_missing, fill_with_sample
from headstart.estimates.propensity.trees import is_off
from headstart.estimates.weighted import weigh_sums


def draw(chances, rng):
    return (rng.random((len(chances), 1)) > chances.cumsum(axis=1)).sum(axis=1)


def by_tree(n, seed=0):
    """Four cells of two columns, with chances of 0.1 to 0.7; the outcome goes by the cell, and by 0.3 an action."""
    rng = np.random.default_rng([seed, 1])
    x = rng.standard_normal((n, 4))
    cell = 2 * (x[:, 0] > 0) + (x[:, 1] > 0.3)
    chances = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [0.2, 0.7, 0.1], [0.6, 0.1, 0.3]])[cell]
    actions = draw(chances, rng)
    effect = np.array([0.0, 1.0, 1.0, 0.0])[cell]
    outcomes = 0.3 * actions + effect + rng.standard_normal(n)
    return hs.Log(actions, outcomes, x, n_actions=3), chances, effect.mean()


def by_line(n, seed=0, n_actions=3):
    rng = np.random.default_rng([seed, 2])
    x = rng.standard_normal((n, 4))
    scores = np.exp(x @ rng.standard_normal((4, n_actions)) / 2.0)
    chances = scores / scores.sum(axis=1, keepdims=True)
    actions = draw(chances, rng)
    return hs.Log(actions, 0.3 * actions + rng.standard_normal(n), x, n_actions=n_actions), chances


@pytest.mark.parametrize("n", [1000, 5000])
def test_a_tree_shaped_policy_is_followed(n):
    """The regression's chances are off by 0.17 on average, whatever n; trees learn them."""
    log, truth, _ = by_tree(n)
    filled = fill_missing(log)
    assert filled.how == TREES
    assert "boosted trees" in filled.note
    off = np.abs(filled.log.propensity_matrix - truth).mean()
    line = np.abs(fill_missing(log, tries_others=False).log.propensity_matrix - truth).mean()
    assert off < line / 2


def test_weighted_means_are_right_where_the_regression_s_are_not():
    """At 5,000 rows a mean has a standard error of about 0.04."""
    log, _, centre = by_tree(5000)
    truth = 0.3 * np.arange(3) + centre
    means = weigh_sums(fill_missing(log).log.action_sums()).means
    plain = weigh_sums(fill_missing(log, tries_others=False).log.action_sums()).means
    assert np.abs(means - truth).max() < 0.16
    assert np.abs(means - truth).max() < np.abs(plain - truth).max()


@pytest.mark.parametrize("n_actions", [2, 3, 5])
def test_a_policy_that_is_a_line_is_left_to_the_regression(n_actions):
    for seed in range(5):
        log, _ = by_line(1000, seed, n_actions)
        assert fill_missing(log).how == LINE


def test_the_look_is_at_cells_of_two_columns():
    """True chances are not off, be they of a tree; the shares alone are."""
    log, truth, _ = by_tree(4000)
    shares = np.tile(np.bincount(log.actions) / 4000, (4000, 1))
    assert not is_off(log, truth)
    assert is_off(log, shares)


def test_true_chances_are_called_off_no_more_often_than_stated():
    """1 in 100 of 50 logs: 4 or more have a chance of 0.2 %."""
    found = [is_off(log, truth) for log, truth in (by_line(1000, seed) for seed in range(50))]
    assert sum(found) <= 3


def test_the_same_seed_gives_the_same_chances():
    log, _, _ = by_tree(1000)
    one, two = (fill_missing(log, 3).log.propensity_matrix for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_an_action_of_three_rows_has_a_chance_in_every_row():
    log, _, _ = by_tree(1000)
    actions = log.actions.copy()
    actions[:3] = 3
    filled = fill_missing(hs.Log(actions, log.outcomes, log.contexts, n_actions=4))
    assert (filled.log.propensities > 0.0).all()
    np.testing.assert_allclose(filled.log.propensity_matrix.sum(axis=1), 1.0, atol=1e-6)


def test_where_trees_cannot_go_the_sample_stands_for_the_log():
    log, _, _ = by_tree(3000)
    whole, part, note = fill_with_sample(log, log.take(np.arange(2000)), 0)
    assert whole is part
    assert "cannot be done to all 3,000 rows, so 2,000 drawn by lot stand for them" in note


def test_a_policy_that_is_a_bowl_is_followed_by_curves():
    """P goes by x^2: a line has nothing to say of it. The chances are off by a third of the line's at most."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2000, 2))
    chance = 1.0 / (1.0 + np.exp(1.5 - x[:, 0] ** 2))
    actions = (rng.random(2000) < chance).astype(int)
    log = hs.Log(actions, rng.standard_normal(2000), x, n_actions=2)
    filled = fill_missing(log)
    assert filled.how == CURVE
    assert "curves" in filled.note
    off, line = (
        np.abs(one.log.propensity_matrix[:, 1] - chance).mean()
        for one in (filled, fill_missing(log, tries_others=False))
    )
    assert off < line / 3


def test_lines_are_seldom_called_curved():
    """1 in 20 of 40 logs by true chances: 8 or more have a chance of 0.04 %."""
    found = []
    for seed in range(40):
        log, truth = by_line(600, seed)
        found.append(is_curved(log, truth, expand(log)))
    assert sum(found) <= 7


def test_an_action_s_chances_add_up_to_its_rows():
    """Calibrated on rows left out: to 1 % after ten turns. They are estimated, and the log says so."""
    log, _, _ = by_tree(1000)
    filled = fill_missing(log)
    np.testing.assert_allclose(filled.log.propensity_matrix.sum(axis=0), np.bincount(log.actions), rtol=0.01)
    assert filled.log.is_estimated
    assert not filled.log.with_propensities(filled.log.propensity_matrix).is_estimated
    assert not filled.log.without_propensities().is_estimated
