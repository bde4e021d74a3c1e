"""Refutations pass on an honest log and fail where the adjustment is wrong."""

import numpy as np
import pytest

from headstart.estimates.propensity.missing import fill_missing
from headstart.evaluators import DoublyRobust, IPSWeighting
from headstart.judgement.audit.audit import audit
from headstart.judgement.audit.checks.effects import robust_effect, weighted_effect
from headstart.judgement.audit.checks.refutations import refute
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


def test_an_honest_log_passes_both():
    found = audit(Making().draw(0)[0]).refutations
    assert [test.name for test in found.refutations] == ["placebo outcome", "weighting against doubly robust"]
    assert found.failed == ()


def test_wrong_propensities_fail_the_placebo_outcome():
    names = [test.name for test in audit(of_wrong_action(0)).refutations.failed]
    assert "placebo outcome" in names


def test_by_units_their_rows_are_one():
    """Every row ten times: by units the error is that of the rows once, by rows too small by sqrt(10).

    To 5 %: the regressions' penalties and N / (N - 1) are of ten times the rows.
    """
    log, _ = Making(n=500).draw(0)
    copies = log.take(np.repeat(np.arange(500), 10))
    once, by_rows = refute(log, 2, 0).refutations, refute(copies, 2, 0).refutations
    by_units = refute(copies.with_units(np.repeat(range(500), 10)), 2, 0).refutations
    for one, rows, units in zip(once, by_rows, by_units, strict=True):
        assert units.error == pytest.approx(one.error, rel=0.05)
        assert rows.error == pytest.approx(one.error / np.sqrt(10), rel=0.05)


@pytest.mark.parametrize("is_logged", [True, False])
def test_honest_logs_are_rarely_refuted(is_logged):
    """120 logs of 400 rows at a stated rate of 1 in 1,000 each of two: 3 or more fail with a chance of 0.2 %."""
    failed = 0
    for seed in range(120):
        log, _ = Making(n=400, strength=1.5).draw(seed)
        if not is_logged:
            log = fill_missing(Log(log.actions, log.outcomes, log.contexts, n_actions=3)).log
        failed += bool(refute(log, 2, 1).failed)
    assert failed <= 2


def test_too_few_rows_are_not_tried():
    log = Log([0, 1] * 10, np.arange(20.0), propensities=[0.5] * 20)
    assert audit(log).refutations.refutations == ()
