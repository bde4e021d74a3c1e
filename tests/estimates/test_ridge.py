"""The hierarchical ridge: against a slow twin and a refit for each row."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from headstart.estimates.ridge import (
    Regressions,
    fit,
    predict_actions,
    predict_left_out,
    predict_own_left_out,
    sum_rows,
)


def penalised(contexts, outcomes, actions, k: int, penalties) -> np.ndarray:
    """The slow twin: one least squares with a column per intercept, common slope and own slope. (k, d + 1)"""
    n, d = contexts.shape
    design = np.zeros((n, k + d + k * d))
    for i, a in enumerate(actions):
        design[i, a] = 1.0
        design[i, k : k + d] = contexts[i]
        design[i, k + d + a * d : k + d + (a + 1) * d] = contexts[i]
    weights = np.concatenate([np.zeros(k), np.full(d, penalties[0]), np.repeat(penalties[1], d)])
    theta = np.linalg.lstsq(design.T @ design + np.diag(weights), design.T @ outcomes, rcond=None)[0]
    own = theta[k + d :].reshape(k, d)
    return np.column_stack([theta[:k], theta[k : k + d] + own])


@pytest.fixture
def rows():
    rng = np.random.default_rng(5)
    contexts, actions = rng.standard_normal((40, 3)), rng.integers(0, 3, 40)
    outcomes = contexts @ [1.0, -0.5, 0.0] + contexts[:, 2] * actions + rng.standard_normal(40)
    return contexts, actions, outcomes


PENALTIES = (2.0, np.array([1.0, 3.0, 10.0]))


def test_the_regression_is_its_slow_twin(rows):
    contexts, actions, outcomes = rows
    fitted = fit(sum_rows(contexts, outcomes, actions, 3), PENALTIES)
    slow = penalised(contexts, outcomes, actions, 3, PENALTIES)
    np.testing.assert_allclose(fitted.slopes, slow[:, 1:], rtol=1e-8)
    np.testing.assert_allclose(fitted.intercepts, slow[:, 0], rtol=1e-8)


def test_leaving_a_row_out_is_a_refit_without_it(rows):
    contexts, actions, outcomes = rows
    fitted = fit(sum_rows(contexts, outcomes, actions, 3), PENALTIES)
    quick = predict_left_out(fitted, contexts, actions, outcomes)
    for i in range(40):
        kept = np.arange(40) != i
        slow = penalised(contexts[kept], outcomes[kept], actions[kept], 3, PENALTIES)
        np.testing.assert_allclose(quick[i], slow[:, 0] + slow[:, 1:] @ contexts[i], rtol=1e-8, atol=1e-10)
    own = predict_own_left_out(fitted, contexts, actions, outcomes)
    assert own.tolist() == quick[np.arange(40), actions].tolist()


def test_an_action_s_only_row_is_predicted_by_the_others():
    """Outcomes 1, 2, 3 of action 0 and 9 of action 1, no contexts: without itself, the 9 is predicted by 2."""
    actions, outcomes = np.array([0, 0, 0, 1]), np.array([1.0, 2.0, 3.0, 9.0])
    fitted = fit(sum_rows(np.empty((4, 0)), outcomes, actions, 2))
    predicted = predict_left_out(fitted, np.empty((4, 0)), actions, outcomes)
    np.testing.assert_allclose(predicted, [[2.5, 9.0], [2.0, 9.0], [1.5, 9.0], [2.0, 2.0]])
    own = predict_own_left_out(fitted, np.empty((4, 0)), actions, outcomes)
    np.testing.assert_allclose(own, [2.5, 2.0, 1.5, 2.0])


def test_an_action_without_rows_has_the_common_slopes_through_everybody(rows):
    contexts, actions, outcomes = rows
    fitted = fit(sum_rows(contexts, outcomes, actions, 4))
    assert isinstance(fitted, Regressions)
    assert np.isfinite(predict_actions(fitted, contexts)).all()
    np.testing.assert_allclose(predict_actions(fitted, contexts.mean(axis=0)[None])[0, 3], outcomes.mean(), rtol=1e-9)


def test_slopes_that_differ_are_kept_apart_and_equal_ones_pooled():
    """1,000 rows an action: own slopes where the truth has them; 10 rows beside 200: nearly the common ones."""
    rng = np.random.default_rng(1)
    contexts, actions = rng.standard_normal((2000, 2)), np.arange(2000) % 2
    outcomes = np.where(actions == 0, 1.0, -1.0) * contexts[:, 0] + 0.1 * rng.standard_normal(2000)
    slopes = fit(sum_rows(contexts, outcomes, actions, 2)).slopes
    # Each is an average of 1,000 rows of noise 0.1: 5 standard errors are 0.016.
    np.testing.assert_allclose(slopes, [[1.0, 0.0], [-1.0, 0.0]], atol=0.016)
    pooled, alone = [], []
    for _ in range(50):
        contexts, actions = rng.standard_normal((210, 2)), np.where(np.arange(210) < 10, 1, 0)
        outcomes = contexts[:, 0] + rng.standard_normal(210)
        pooled.append(fit(sum_rows(contexts, outcomes, actions, 2)).slopes[1] - [1, 0])
        alone.append(LinearRegression().fit(contexts[:10], outcomes[:10]).coef_ - [1, 0])
    # 1/7 per slope alone (Wishart: 1 / (10 - 1 - 2)); a third is far from noise at 100 slopes (s.e. of a ratio 0.2).
    assert np.mean(np.square(pooled)) < np.mean(np.square(alone)) / 3
