"""Trust: a weight per action by what was found, the same for an audit and for a start."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
from headstart.judgement.audit.audit import audit
from headstart.judgement.audit.findings import CHECKS
from headstart.judgement.audit.reasons import Reason
from headstart.judgement.audit.rules import RULES
from headstart.judgement.audit.trust import overlooked, suggest_trust, weigh_reasons

NAMES = ("a", "b")


def reason(rule: str, text: str, odds: float, action: int | None = None) -> Reason:
    return Reason(rule, "balance", "cap", text, "look", action, odds)


def weights(reasons=(), basis: str = "logged", names=NAMES) -> list[float]:
    return weigh_reasons(names, basis, reasons).weights.tolist()


def drawn(n: int = 3000, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    contexts = rng.standard_normal((n, 2))
    actions = rng.integers(0, 2, n)
    return actions, 0.5 * contexts[:, 0] + 0.3 * actions + rng.standard_normal(n), contexts


def test_a_log_without_a_fault_is_trusted_by_nine_tenths():
    assert weights() == pytest.approx([0.9, 0.9])
    assert weights(basis="estimated") == pytest.approx([0.9, 0.9])
    assert weights(basis="nothing") == pytest.approx([0.6, 0.6])


def test_doubt_is_shared_by_many_actions():
    """A log of four actions is as often wrong about one of them as one of two: 1 - 0.1 * 2 / 4."""
    assert weights(names=("a", "b", "c", "d")) == pytest.approx([0.95] * 4)


def test_reasons_by_hand():
    """Odds 9 times 0.4 are 3.6, w = 3.6 / 4.6; for b also times 0.5: 1.8, w = 1.8 / 2.8. Odds of 1 are no matter."""
    found = (
        reason("imbalance", "x is off", 0.4),
        reason("no overlap", "half never saw it", 0.5, action=1),
        reason("estimated", "they were estimated", 1.0),
    )
    trust = weigh_reasons(NAMES, "logged", found)
    np.testing.assert_allclose(trust.weights, [3.6 / 4.6, 1.8 / 2.8])
    assert trust.reasons[1:] == (
        "x is off: its odds times 0.4",
        "half never saw it: the odds for b times 0.5",
    )


def test_what_propensities_rule_out_by_hand():
    """Doubt is 0.1; of its half that is confounding a tenth could be overlooked for a, all of it for b:
    0.1 (0.5 + 0.5 x 0.1) = 0.055 and 0.1. A finding multiplies the odds that are then there: 0.945 / 0.055 x 0.4."""
    trust = weigh_reasons(NAMES, "logged", (), overlooked=np.array([0.1, 1.0]))
    np.testing.assert_allclose(trust.weights, [0.945, 0.9])
    assert "0.5 % off would have been seen" in trust.reasons[1]
    doubted = weigh_reasons(NAMES, "logged", (reason("imbalance", "x", 0.4),), overlooked=np.array([0.1, 1.0]))
    odds = 0.945 / 0.055 * 0.4
    np.testing.assert_allclose(doubted.weights[0], odds / (1.0 + odds))


def test_the_more_rows_pass_the_less_could_be_overlooked():
    """Even chances: a total's error is sqrt(1 / n), so of n rows 3.29 / sqrt(n) off would be seen, of 5 % that count.

    W_a / n = 2 n_a / n has exactly that error but for the draw of n_a: within 4 of its own, 2 / n.
    """
    for n in (1000, 40_000):
        actions, outcomes, contexts = drawn(n)
        found = audit(hs.Log(actions, outcomes, contexts, np.full(n, 0.5)))
        hidden = min(1.0, 3.2905 / np.sqrt(n) / 0.05)
        np.testing.assert_allclose(overlooked(found.propensities), hidden, rtol=8.0 / np.sqrt(n))
        np.testing.assert_allclose(suggest_trust(found).weights, 0.9 + 0.05 * (1.0 - hidden), atol=1e-3)
    actions, outcomes, contexts = drawn(40_000)
    estimated = audit(hs.Log(actions, outcomes, contexts))
    assert overlooked(estimated.propensities).tolist() == [1.0, 1.0]


def test_the_same_fault_counts_once_and_of_each_action():
    once = reason("refuted", "halves", 0.6)
    assert weights((once, reason("refuted", "placebo", 0.6))) == weights((once,))
    both = (reason("no overlap", "a", 0.5, action=0), reason("no overlap", "b", 0.5, action=1))
    assert weights(both) == pytest.approx([4.5 / 5.5, 4.5 / 5.5])  # odds 9 x 0.5


def test_rules_of_one_name_speak_once_the_gravest_first():
    actions, outcomes, contexts = drawn()
    found = audit(hs.Log(actions, outcomes, contexts, np.full(3000, 0.25)))
    wrong = [reason for reason in found.verdict.reasons if reason.rule == "wrong propensities"]
    assert [reason.subject for reason in wrong] == ["propensities"]  # and not "totals", which says so too
    assert found.totals.wrong is not None


def test_every_rule_judges_a_check():
    checks = {check.name: check for check in CHECKS}
    assert all(rule.subject in checks for rule in RULES)
    assert all(0.0 < rule.odds <= 1.0 for rule in RULES)


def test_an_audit_s_findings_lower_trust():
    """A randomised log is trusted; the same with propensities cut by half is not."""
    actions, outcomes, contexts = drawn()
    honest = suggest_trust(audit(hs.Log(actions, outcomes, contexts, np.full(3000, 0.5))))
    np.testing.assert_allclose(honest.weights, 0.9)
    wrong = suggest_trust(audit(hs.Log(actions, outcomes, contexts, np.full(3000, 0.25))))
    assert wrong.weights.tolist() == [0.0, 0.0]
    assert any("too small" in reason for reason in wrong.reasons)
    estimated = suggest_trust(audit(hs.Log(actions, outcomes, contexts)))
    assert "estimated" in estimated.reasons[0]


def test_a_start_and_an_audit_trust_a_log_alike():
    """Drawn by lot; by lot without contexts and with wrong chances; by age, with none; by lot, with none."""
    actions, outcomes, contexts = drawn()
    rng = np.random.default_rng(1)
    by_age = (rng.random(3000) < 1 / (1 + np.exp(-contexts[:, 0]))).astype(int)
    half = np.full(3000, 0.5)
    for log in (
        hs.Log(actions, outcomes, contexts, half),
        hs.Log(actions, outcomes, propensities=half / 2),
        hs.Log(by_age, rng.standard_normal(3000), contexts),
        hs.Log(actions, outcomes, contexts),
        hs.Log(actions, outcomes),
    ):
        found, policy = audit(log), hs.start(log, rng=0)
        np.testing.assert_allclose(suggest_trust(found).weights, policy.trust.weights)
        assert found.verdict == policy.audit.verdict
