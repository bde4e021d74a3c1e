"""OutcomeModel: predictions per action, as many as there are rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, PoissonRegressor, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

import headstart as hs
from headstart.errors import ActionError, ContextError


def counted(n: int = 60, n_actions: int = 2) -> hs.Log:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 2))
    outcomes = rng.poisson(np.exp(1 + 0.3 * x[:, 0])).astype(float)
    return hs.Log(np.arange(n) % n_actions, outcomes, x, n_actions=n_actions)


def test_least_squares_by_hand():
    """Action 0 at x = 0, 1, 2 had 1, 3, 5: y = 1 + 2 x, so x = 10 gives 21, three times and then None."""
    log = hs.Log([0, 0, 0, 1], [1.0, 3.0, 5.0, 7.0], [[0.0], [1.0], [2.0], [5.0]], n_actions=3)
    evaluator = hs.OutcomeModel(log)
    assert [evaluator.get_outcome([10.0], 0) for _ in range(3)] == pytest.approx([21.0] * 3)
    assert evaluator.get_outcome([10.0], 0) is None
    assert evaluator.get_outcome([10.0], 1) == pytest.approx(7.0)
    assert not evaluator.is_exhausted() or evaluator.get_outcome([10.0], 1) is None
    assert evaluator.get_outcome([10.0], 1) is None
    assert evaluator.get_outcome([10.0], 2) is None
    assert evaluator.is_exhausted()


@pytest.mark.parametrize(
    ("estimator", "is_linear"),
    [
        (LinearRegression(), True),
        (LinearRegression(fit_intercept=False), True),
        (Ridge(), True),
        (SVR(kernel="linear"), True),
        (PoissonRegressor(), False),
        (KNeighborsRegressor(3), False),
        (DecisionTreeRegressor(max_depth=3, random_state=0), False),
    ],
    ids=lambda value: repr(value),
)
def test_an_answer_is_the_estimator_s_prediction(estimator, is_linear: bool):
    """A Poisson regression has coef_ and intercept_ too, but its prediction is their exponential."""
    log = counted()
    evaluator = hs.OutcomeModel(log, estimator)
    assert (evaluator.kernel_state is not None) == is_linear
    for a in range(2):
        rows = log.take(log.actions == a)
        model = clone(estimator).fit(rows.contexts, rows.outcomes)
        for context in ([0.5, -0.5], [3.0, 1.0]):
            assert evaluator.get_outcome(context, a) == pytest.approx(model.predict([context])[0], rel=1e-9)


@pytest.mark.parametrize("estimator", [None, KNeighborsRegressor(3)])
def test_each_action_is_answered_as_often_as_it_has_rows(estimator):
    evaluator = hs.OutcomeModel(counted(31), estimator)
    for action, n_rows in ((0, 16), (1, 15)):
        answers = [evaluator.get_outcome([0.0, 0.0], action) for _ in range(20)]
        assert answers.index(None) == n_rows
        assert answers[n_rows:] == [None] * (20 - n_rows)
    assert evaluator.is_exhausted()


def test_without_contexts_the_prediction_is_the_mean():
    evaluator = hs.OutcomeModel(hs.Log([0, 0, 1], [1.0, 2.0, 0.0]))
    assert evaluator.get_outcome([], 0) == 1.5
    assert evaluator.get_outcome([], 1) == 0.0


@pytest.mark.parametrize("estimator", [None, KNeighborsRegressor(1)])
def test_a_rejected_question_uses_no_answer(estimator):
    evaluator = hs.OutcomeModel(hs.Log([0, 1], [1.0, 2.0], [[0.0], [1.0]]), estimator)
    with pytest.raises(ContextError, match=r"context must be 1 numbers, got shape \(2,\)"):
        evaluator.get_outcome([0.0, 0.0], 0)
    with pytest.raises(ContextError, match="context must be 1 numbers, got None"):
        evaluator.get_outcome(None, 0)
    with pytest.raises(ActionError, match=r"action must be an index 0\.\.1, got 5"):
        evaluator.get_outcome([0.0], 5)
    assert evaluator.get_outcome([0.0], 0) == pytest.approx(1.0)


def test_boosted_trees_answer():
    evaluator = hs.OutcomeModel.boosted(counted())
    assert evaluator.kernel_state is None
    assert np.isfinite(evaluator.get_outcome([0.0, 0.0], 0))


def test_a_linear_world_is_recovered_whatever_the_logging_policy():
    """The outcome of the linear world has no noise, so that least squares is the truth to rounding."""
    world = hs.worlds.Synthetic(n_actions=2, n_log=60).draw(np.random.default_rng(6))
    evaluator = hs.OutcomeModel(world.log)
    for i in range(20):
        user = world.draw_user()
        assert evaluator.get_outcome(user, i % 2) == pytest.approx(world.draw_outcome(i % 2), abs=1e-9)
