"""Drift: what changed over time is found, said, and adjusted for; a log without change is left alone."""

import numpy as np
import pytest

from headstart.judgement.audit.audit import audit
from headstart.logs.log import Log
from headstart.reports.audit_page import make_page
from tests.judgement.audit.planted import Making, draw_actions


def flipped(seed, n=5000, times=True, sign=-1.0):
    """Two actions by coin; 1 is better by 0.3 and, after 60 % of the log, worse by as much."""
    rng = np.random.default_rng([seed, 1])
    when, actions, x = np.arange(n) / n, rng.integers(0, 2, n), rng.standard_normal((n, 2))
    outcomes = np.where(when < 0.6, 0.3, sign * 0.3) * actions + 0.3 * x[:, 0] + rng.standard_normal(n)
    return Log(actions, outcomes, x, np.full(n, 0.5), n_actions=2, times=when if times else None)


def confounded_by_time(seed, n=5000, times=True):
    """Action 0 is better by 0.2. From the middle on outcomes are higher by 1, and action 1 has 0.8, not 0.2."""
    rng = np.random.default_rng([seed, 2])
    when, x = np.arange(n) / n, rng.standard_normal((n, 2))
    actions = (rng.random(n) < np.where(when < 0.5, 0.2, 0.8)).astype(int)
    outcomes = -0.2 * actions + (when >= 0.5) + 0.3 * x[:, 0] + rng.standard_normal(n)
    return Log(actions, outcomes, x, n_actions=2, times=when if times else None)


def of_one_month(seed, n=5000):
    """The third action is drawn in the last tenth of the log only."""
    rng = np.random.default_rng([seed, 5])
    when, x = np.arange(n) / n, rng.standard_normal((n, 2))
    actions = draw_actions(np.where((when < 0.9)[:, None], [[0.5, 0.5, 0.0]], [[0.35, 0.35, 0.3]]), rng)
    return Log(actions, 0.2 * actions + rng.standard_normal(n), x, n_actions=3, times=when)


def of_two_versions(seed, n=5000):
    """Propensities of today's policy in all rows, though the first 30 % were drawn by another."""
    rng = np.random.default_rng([seed, 6])
    chances = np.where((np.arange(n) < 0.3 * n)[:, None], [[0.7, 0.2, 0.1]], [[0.2, 0.3, 0.5]])
    actions = draw_actions(chances, rng)
    logged = np.array([0.2, 0.3, 0.5])[actions]
    return Log(actions, rng.standard_normal(n), rng.standard_normal((n, 2)), logged, n_actions=3, times=np.arange(n))


def rules_of(found):
    return {(reason.rule, reason.severity) for reason in found.verdict.reasons}


@pytest.mark.parametrize("times", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_a_best_action_that_flipped_is_no_bare_use_it(seed, times):
    """The change of 0.6 is 0.6 / (2 / sqrt(5,000 * 0.24)) = 10 standard errors."""
    found = audit(flipped(seed, times=times))
    assert found.verdict.decision == "use it with a cap"
    assert ("change over time", "cap") in rules_of(found)
    assert found.drift.clock == ("time" if times else "row number")
    assert found.drift.late_best == 0
    text = next(reason.text for reason in found.verdict.reasons if reason.rule == "change over time")
    assert "in the last periods 0 is best" in text


def test_the_bias_that_a_cap_allows_for_is_the_change_to_the_last_periods():
    """Action 1 is 0.3 for 60 % and -0.3 for 40 % of the time, 0.06 on the whole: in the last 30 % it is 0.36 lower.
    Four standard errors of 1 / sqrt(750) are 0.15. An outcome varies by 1 + 0.3^2 + 0.3^2 (1 - 0.2^2) = 1.18, which
    2,500 rows know to 0.033."""
    found = audit(flipped(0))
    assert found.drift.bias[1] == pytest.approx(0.36, abs=0.15)
    assert found.verdict.caps[1] <= (1.18 + 4 * 0.033) / found.drift.bias[1] ** 2


def test_a_difference_that_stayed_is_left_alone():
    for seed in range(3):
        found = audit(flipped(seed, sign=1.0))
        assert found.verdict.decision == "use it"
        assert found.drift.bias == (0.0, 0.0)


@pytest.mark.parametrize("times", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_time_is_adjusted_for_where_shares_moved(seed, times):
    """Without the period action 1 looks better by 0.4; with it 0 is, by 0.2, five standard errors."""
    found = audit(confounded_by_time(seed, times=times))
    assert found.actions.best == 0
    assert found.actions.lead == pytest.approx(0.2, abs=0.15)
    assert found.drift.is_adjusted
    assert ("time", "note") in rules_of(found)
    assert found.facts.context_names == ("x0", "x1")


def test_an_action_of_one_month_is_capped_and_said():
    found = audit(of_one_month(0))
    assert found.verdict.decision == "use it with a cap"
    assert ("part of the time", "cap") in rules_of(found)
    assert found.drift.actions[2].missing_share == pytest.approx(0.9)
    assert [action.missing_share for action in found.drift.actions[:2]] == [0.0, 0.0]


@pytest.mark.parametrize("seed", range(3))
def test_propensities_of_another_version_for_part_of_the_time_stop_the_log(seed):
    found = audit(of_two_versions(seed))
    assert found.verdict.decision == "do not use it"
    assert ("wrong propensities", "stop") in rules_of(found)
    period, _ = found.drift.worst
    assert period < 3


def test_clean_logs_show_no_change():
    """Five tests of 1 in 500: of 40 logs 0.4 are to be expected, 4 or more have a chance of 0.1 %."""
    alarms = 0
    for seed in range(40):
        log, _ = Making(n=1000, n_actions=2 + seed % 3, is_binary=bool(seed % 2)).draw(seed)
        alarms += audit(log.with_times(np.arange(1000))).drift.is_changed
    assert alarms <= 3


def test_without_times_an_order_without_change_is_not_spoken_of():
    log, _ = Making(n=1000).draw(0)
    assert audit(log).drift is None
    assert audit(Log([0, 1] * 20, np.arange(40.0), propensities=[0.5] * 40, times=np.arange(40))).drift is None


def test_the_page_shows_what_changed():
    page = make_page(audit(flipped(0)))
    assert "Did anything change over time?" in page
    assert "Outcome of each action over time, and how often each was used" in page
    assert "Did anything change over time?" not in make_page(audit(Making(n=500).draw(0)[0]))


def test_an_action_of_one_month_is_a_cap_though_its_chances_say_nothing_of_the_others():
    """Used with chance 0.5 in the last tenth only, as logged for those rows: they stand for a tenth of the users."""
    rng = np.random.default_rng(4)
    n = 5000
    is_late = np.arange(n) >= 0.9 * n
    chances = np.where(is_late[:, None], [[0.25, 0.25, 0.5]], [[0.5, 0.5, 0.0]])
    actions = draw_actions(chances, rng)
    logged = chances[np.arange(n), actions]
    log = Log(actions, rng.standard_normal(n), rng.standard_normal((n, 2)), logged, n_actions=3, times=np.arange(n))
    found = audit(log)
    assert ("part of the time", "cap") in rules_of(found)
    assert found.verdict.decision == "use it with a cap"
