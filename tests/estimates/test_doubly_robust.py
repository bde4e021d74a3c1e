"""Doubly robust terms: by hand, and one answer for audit and off-policy estimates."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import headstart as hs
from headstart import ope
from headstart.estimates.doubly_robust import robust_terms
from headstart.estimates.regression import predict_from, predict_others
from headstart.judgement.audit.checks.effects import robust_effect


def make_log(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 2))
    chance = 1.0 / (1.0 + np.exp(-x[:, 0]))
    actions = (rng.random(n) < chance).astype(int)
    outcomes = actions + x @ [0.5, 0.2] + rng.standard_normal(n)
    return hs.Log(actions, outcomes, x, propensities=np.where(actions == 1, chance, 1.0 - chance), n_actions=2)


def test_terms_by_hand():
    """Predictions 1, 2 and 3, 4; row 0 took action 1 with outcome 5 and weight 2: its term is 2 + 2 (5 - 2) = 8;
    row 1 took action 0 with outcome 3, as predicted: its term is 3."""
    predicted = np.array([[1.0, 2.0], [3.0, 4.0]])
    terms = robust_terms(np.array([1, 0]), np.array([5.0, 3.0]), np.array([2.0, 4.0]), predicted)
    assert terms.tolist() == [[1.0, 8.0], [3.0, 4.0]]
    assert predicted.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_the_audit_and_the_off_policy_estimate_are_one():
    """The audit's doubly robust difference is that of two policies which always play one action, but for the weights
    that `ope` shrinks; rows are the same, so its error is at most the sum of theirs."""
    log = make_log()
    found = robust_effect(log, 1, 0)
    one, other = (ope.doubly_robust(log, np.full(len(log), action)) for action in (1, 0))
    assert found.difference == pytest.approx(one.value - other.value, abs=one.standard_error + other.standard_error)
    same = hs.audit(log).refutations
    assert math.isclose(abs(same.robust), abs(found.difference), rel_tol=1e-9)


def test_an_estimator_never_sees_the_fold_it_predicts():
    """With two folds, moving one outcome changes no prediction inside its own fold."""
    log = make_log(60)
    moved = log.outcomes.copy()
    moved[0] += 100.0
    other = hs.Log(log.actions, moved, log.contexts, log.propensities, n_actions=2)
    before, after = (predict_others(one, LinearRegression(), 2, 3)[0] for one in (log, other))
    changed = np.abs(before - after).max(axis=1) > 1e-9
    assert not changed[0]
    assert changed.sum() == 30


def test_users_are_predicted_by_every_fold_s_model():
    log, users = make_log(60), np.array([[0.0, 0.0], [1.0, -1.0]])
    outside = predict_others(log, LinearRegression(), 4, 3, users).outside
    whole = predict_from(log, users, LinearRegression())
    np.testing.assert_allclose(outside, whole, atol=0.15)  # four models, each of three quarters of the rows
    assert predict_others(log)[1] is None
