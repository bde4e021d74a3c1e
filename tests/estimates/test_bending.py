"""Which regression of the outcome: lines stay where they are as good, curves and trees come where outcomes bend."""

import numpy as np
import pytest

import headstart as hs
from headstart.estimates.bending import CURVES, LINES, TREES
from headstart.estimates.boosting import Rows, boost
from headstart.estimates.propensity.missing import fill_missing
from headstart.estimates.regression import predict_others


def draw(shape, n, seed=0, k=2):
    """A log by lot whose outcomes are shape(x) + 0.3 a + noise."""
    rng = np.random.default_rng([seed, n, k])
    x = rng.standard_normal((n, 3))
    actions = rng.integers(k, size=n)
    outcomes = shape(x) + 0.3 * actions + rng.standard_normal(n)
    return hs.Log(actions, outcomes, x, np.full((n, k), 1.0 / k), n_actions=k)


def line(x):
    return x @ [1.0, -0.5, 0.2]


def bowl(x):
    return x[:, 0] ** 2 + np.abs(x[:, 1])


def board(x):
    return np.where((x[:, 0] > 0.3) == (x[:, 1] > -0.3), 1.0, -1.0) + (x[:, 2] > 1.0)


def test_lines_stay_where_outcomes_are_lines():
    """Curves must be better by a standard error, and they are worse in the mean: 20 logs, at most one in six by
    chance, of which 10 or more have a chance of 1 in 1,000."""
    found = [predict_others(draw(line, 500, seed)).how for seed in range(20)]
    assert sum(how != LINES for how in found) < 10
    assert TREES not in found


@pytest.mark.parametrize(("shape", "n", "how"), [(bowl, 1500, CURVES), (board, 2500, TREES)])
def test_outcomes_that_bend_are_followed(shape, n, how):
    log = draw(shape, n)
    found = predict_others(log)
    assert found.how == how
    rows, truth = np.arange(n), shape(log.contexts) + 0.3 * log.actions
    off = np.mean((found.inside[rows, log.actions] - truth) ** 2)
    straight = predict_others(log, hs_lines(), rng=0)
    assert off < np.mean((straight.inside[rows, log.actions] - truth) ** 2) / 3


def hs_lines():
    from sklearn.linear_model import LinearRegression

    return LinearRegression()


def test_few_rows_and_no_columns_have_lines():
    assert predict_others(draw(bowl, 60)).how == LINES
    bare = hs.Log([0, 1] * 100, np.arange(200.0), propensities=np.full(200, 0.5))
    assert predict_others(bare).how == LINES


def test_trees_never_see_the_fold_that_they_predict():
    """Moving a row's outcome by 50 changes no prediction in its own fold, and some in every other fold."""
    log = draw(board, 400)
    folds = np.arange(400) % 4
    outcomes = log.outcomes.copy()
    outcomes[8] += 50.0
    found = []
    for y in (log.outcomes, outcomes):
        rows = Rows(log.actions, y, 2, log.contexts, log.contexts)
        boosted = boost(rows, np.ones(400), folds)
        found.append(boosted._replace(rounds=5).predict_rows(rows))
    moved = np.abs(found[0] - found[1]).max(axis=1) > 1e-9
    assert not moved[folds == 0].any()
    assert all(moved[folds == fold].any() for fold in (1, 2, 3))


def test_own_predictions_are_those_of_all_actions():
    log = draw(board, 400)
    rows = Rows(log.actions, log.outcomes, 2, log.contexts, log.contexts)
    boosted = boost(rows, np.ones(400), np.arange(400) % 5)
    predicted = boosted.predict_rows(rows)
    np.testing.assert_allclose(predicted[np.arange(400), log.actions], boosted.own)
    users = boosted.predict_users(log.contexts[:7], log.contexts[:7])
    assert users.shape == (7, 2)


def test_rows_of_one_unit_are_in_one_fold():
    """Every row twice: were copies in different folds, trees would know the noise of half of the rows."""
    log = draw(line, 400)
    twice = hs.Log(
        np.tile(log.actions, 2),
        np.tile(log.outcomes, 2),
        np.tile(log.contexts, (2, 1)),
        np.tile(log.propensity_matrix, (2, 1)),
        n_actions=2,
        units=np.tile(np.arange(400), 2),
    )
    assert predict_others(twice).how != TREES


def test_a_bent_policy_without_propensities_is_undone():
    """Outcome and policy go by one board of two columns. Lines are off by 0.4, at 4,000 rows ten standard errors or
    more; the chosen regression and trees for the chances bring the means within four."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((4000, 3))
    bend = board(x)
    chances = 1.0 / (1.0 + np.exp(-bend))
    actions = (rng.random(4000) < chances).astype(int)
    outcomes = bend + rng.standard_normal(4000)
    truth = board(np.random.default_rng(6).standard_normal((2_000_000, 3))).mean()
    log = fill_missing(hs.Log(actions, outcomes, x, n_actions=2)).log
    found = hs.DoublyRobust(log)
    assert found.regression == TREES
    assert (np.abs(found.means - truth) < 4.0 * found.summary().standard_errors).all()
    straight = hs.DoublyRobust(fill_missing(log.without_propensities(), tries_others=False).log, hs_lines())
    assert (np.abs(straight.means - truth) > 10.0 * straight.standard_errors).all()
