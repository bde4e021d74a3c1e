"""Refutations pass on an honest log and fail where the adjustment is wrong."""

import numpy as np
import pytest

from headstart.evaluators import DoublyRobust, IPSWeighting
from headstart.judgement.audit.audit import audit
from headstart.judgement.audit.checks.effects import robust_effect, weighted_effect
from headstart.logs.log import Log
from tests.judgement.audit.planted import Making, of_wrong_action


def test_the_weighted_difference_is_the_evaluator_s():
    log, _ = Making().draw(0)
    means = IPSWeighting(log).means
    assert weighted_effect(log, 2, 0).difference == pytest.approx(means[2] - means[0])


def test_the_robust_difference_agrees_with_the_evaluator_s():
    """The same estimator with other folds: apart by a fraction of the standard error."""
    log, _ = Making().draw(0)
    evaluator = DoublyRobust(log)
    found = robust_effect(log, 2, 0)
    assert found.difference == pytest.approx(evaluator.means[2] - evaluator.means[0], abs=0.3 * found.standard_error)


def test_the_robust_difference_finds_the_truth():
    """0.6 between actions 2 and 0, within four standard errors, which are below 0.05."""
    found = robust_effect(Making(n=20_000).draw(1)[0], 2, 0)
    assert found.standard_error < 0.05
    assert found.difference == pytest.approx(0.6, abs=4 * found.standard_error)


def test_an_honest_log_passes_all_five():
    found = audit(Making().draw(0)[0]).refutations
    assert [test.name for test in found.refutations] == [
        "permuted outcomes",
        "placebo outcome",
        "random common cause",
        "random halves",
        "weighting against doubly robust",
    ]
    assert found.failed == ()


def test_wrong_propensities_fail_the_placebo_outcome():
    names = [test.name for test in audit(of_wrong_action(0)).refutations.failed]
    assert "placebo outcome" in names


def test_no_difference_is_told_from_chance():
    rng = np.random.default_rng(0)
    log = Log(rng.integers(2, size=2000), rng.standard_normal(2000), rng.random((2000, 2)), [0.5] * 2000)
    assert audit(log).refutations.chance_p_value > 0.01
    log = Log(log.actions, log.outcomes + log.actions, log.contexts, log.propensities)
    assert audit(log).refutations.chance_p_value == pytest.approx(1 / 201)  # none of 200 permutations


def test_too_few_rows_are_not_tried():
    log = Log([0, 1] * 10, np.arange(20.0), propensities=[0.5] * 20)
    assert audit(log).refutations.refutations == ()
