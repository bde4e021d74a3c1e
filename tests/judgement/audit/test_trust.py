"""Trust: a weight and a bias bound per action, with reasons."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import headstart as hs
from headstart.estimates.summary import Summary
from headstart.judgement.audit.audit import audit
from headstart.judgement.audit.trust import FACTORS, Signs, Trust, suggest_trust, weigh


def signs(**changes) -> Signs:
    given = {
        "action_names": ("a", "b"),
        "is_logged": True,
        "has_contexts": True,
        "faults": (),
        "faults_of": (),
        "confounding": np.array([0.3, 0.1]),
        "unseen": np.zeros(2),
    }
    return Signs(**{**given, **changes})


def test_a_log_without_a_fault_is_trusted_by_four_fifths():
    trust = weigh(signs())
    np.testing.assert_allclose(trust.weights, [0.8, 0.8])
    np.testing.assert_array_equal(trust.bias_bounds, [0.0, 0.0])  # who logs its chances has no hidden confounder


def test_doubt_is_shared_by_many_actions():
    """A log of four actions is as often wrong about one of them as one of two: 1 - 0.2 * 2 / 4."""
    many = dataclasses.replace(
        signs(), action_names=("a", "b", "c", "d"), confounding=np.zeros(4), unseen=np.zeros(4)
    )
    np.testing.assert_allclose(weigh(many).weights, 0.9)


def test_faults_by_hand():
    """Odds 4 times 0.4 (a large imbalance) are 1.6, w = 1.6 / 2.6; for b also times 0.5: 0.8, w = 0.8 / 1.8."""
    of_b = (1, "no overlap", "half never saw it")
    trust = weigh(signs(faults=(("large imbalance", "x is off"),), faults_of=(of_b,)))
    np.testing.assert_allclose(trust.weights, [1.6 / 2.6, 0.8 / 1.8])
    assert "x is off: its odds times 0.4" in trust.reasons
    assert "half never saw it: the odds for b times 0.5" in trust.reasons


def test_the_same_fault_counts_once():
    twice = weigh(signs(faults=(("imbalance", "x"), ("imbalance", "y"))))
    assert twice.weights[0] == weigh(signs(faults=(("imbalance", "x"),))).weights[0]


def test_estimated_propensities_bound_the_bias_by_what_observed_columns_do():
    trust = weigh(signs(is_logged=False))
    np.testing.assert_array_equal(trust.bias_bounds, [0.3, 0.1])
    assert any("could move the mean of a by 0.3" in reason for reason in trust.reasons)
    assert weigh(signs(is_logged=False, has_contexts=False)).weights[0] == pytest.approx(0.6)


def test_the_bias_bound_widens_the_errors_by_hand():
    """s.e. 0.4, V = 0.3 sqrt(3): sqrt(0.16 + 0.09) = 0.5."""
    summary = Summary(np.array([1.0]), np.array([0.4]), np.array([1.0]))
    trust = Trust(np.array([0.9]), np.array([0.3 * np.sqrt(3)]), ())
    np.testing.assert_allclose(trust.applied_to(summary).standard_errors, [0.5])


def test_an_audit_s_findings_lower_trust():
    """A randomised log is trusted; the same with propensities cut by half is not."""
    rng = np.random.default_rng(0)
    contexts = rng.standard_normal((3000, 2))
    actions = rng.integers(0, 2, 3000)
    outcomes = 0.5 * contexts[:, 0] + 0.3 * actions + rng.standard_normal(3000)
    honest = suggest_trust(audit(hs.Log(actions, outcomes, contexts, np.full(3000, 0.5))))
    np.testing.assert_allclose(honest.weights, 0.8)
    wrong = suggest_trust(audit(hs.Log(actions, outcomes, contexts, np.full(3000, 0.25))))
    odds = wrong.weights / (1 - wrong.weights)
    assert (odds <= 4 * FACTORS["wrong propensities"] + 1e-9).all()
    assert any("too small" in reason for reason in wrong.reasons)
    estimated = suggest_trust(audit(hs.Log(actions, outcomes, contexts)))
    assert (estimated.bias_bounds >= 0.0).all()
    assert "estimated" in estimated.reasons[0]
