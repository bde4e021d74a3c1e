"""Per action: means, intervals, effective sizes."""

import numpy as np
import pytest

from headstart.evaluators import IPSWeighting
from headstart.judgement.audit.audit import audit
from headstart.judgement.audit.checks.actions import describe_actions
from headstart.logs.log import Log
from tests.judgement.audit.planted import Making


def describe(log, level=0.95):
    return describe_actions(log.action_sums(), log.action_names, level)


def test_by_hand():
    """Rows of a: y = 1, 3 with p = 1/2, 1/4. Weights 2, 4: mean (2 + 12) / 6 = 7/3, N = 36 / 20 = 1.8.

    s.e. = sqrt(4 (4/3)^2 + 16 (2/3)^2) / 6 = sqrt(128 / 9) / 6, times sqrt(1.8 / 0.8). Rows of b: y = 0, 2 with
    p = 1/2: mean 1, s.e. that of two numbers: 1.
    """
    log = Log(["a", "a", "b", "b"], [1.0, 3.0, 0.0, 2.0], propensities=[0.5, 0.25, 0.5, 0.5])
    found = describe(log)
    a, b = found.actions
    assert (a.rows, a.raw_mean) == (2, 2.0)
    assert a.mean == pytest.approx(7 / 3)
    assert a.effective_size == pytest.approx(1.8)
    assert a.standard_error == pytest.approx(np.sqrt(128 / 9) / 6 * np.sqrt(1.8 / 0.8))
    assert a.heaviest_share == pytest.approx(4 / 6)
    assert b.standard_error == pytest.approx(1.0)
    # Two rows, and the log's variance (2) for two more: (2 * 1 + 2 * 2 / 2) / 4 = 1, three degrees of freedom
    assert (b.low, b.high) == pytest.approx((1 - 3.182446, 1 + 3.182446))
    assert (found.best, found.second) == (0, 1)
    assert found.lead == pytest.approx(4 / 3)


def test_means_and_sizes_are_those_of_the_evaluator():
    log, _ = Making().draw(0)
    evaluator, found = IPSWeighting(log), describe(log)
    assert [action.mean for action in found.actions] == pytest.approx(evaluator.means)
    assert [action.effective_size for action in found.actions] == pytest.approx(evaluator.effective_sizes)


def test_no_success_in_fifty_rows_still_has_an_interval():
    """Wilson's interval for 0 of 50: upper end z^2 / (n + z^2), z the normal quantile."""
    log = Log([0] * 50 + [1] * 50, [0.0] * 50 + [1.0] * 50, propensities=[0.5] * 100)
    none, all_of_them = describe(log).actions
    quantile = 1.959963985
    assert (none.low, none.high) == pytest.approx((0.0, quantile**2 / (50 + quantile**2)), rel=1e-6)
    assert (all_of_them.low, all_of_them.high) == pytest.approx((1 - none.high, 1.0))


def test_an_action_without_rows_has_no_mean_and_no_plays():
    log = Log([0, 0, 1, 1], [1.0, 2.0, 3.0, 5.0], propensities=[0.5] * 4, n_actions=3)
    found = describe(log)
    assert np.isnan(found.actions[2].mean)
    assert found.actions[2].effective_size == 0.0
    assert (found.best, found.second) == (1, 0)


def test_one_action_has_no_second():
    found = describe(Log([0, 0], [1.0, 2.0], propensities=[1.0, 1.0], n_actions=2))
    assert (found.best, found.second) == (0, None)
    assert not found.is_lead_clear


@pytest.mark.parametrize("is_binary", [False, True])
def test_intervals_cover_the_truth_as_often_as_they_say(is_binary):
    """150 logs of 1,000 rows. 95 % cover: 142.5 of 150 expected, s.d. 2.7; five of them below is 129."""
    making = Making(n=1000, is_binary=is_binary)
    x = np.random.default_rng(5).standard_normal((400_000, 2))
    mean = 0.3 + 0.5 * x[:, 0] - 0.3 * x[:, 1]
    truth = (1 / (1 + np.exp(1 - mean))).mean() if is_binary else 0.3  # s.e. 0.0002 at 400,000 draws
    covered = 0
    for seed in range(150):
        action = describe(making.draw(seed)[0]).actions[1]
        covered += action.low <= truth <= action.high
    assert covered >= 129


def coins_of_users(seed, users=300, visits=40):
    """A coin per user, kept for all visits; users differ, the actions do not."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(users), visits)
    x = rng.standard_normal((users, 2))[unit]
    outcomes = 0.5 * x[:, 0] + 0.7 * rng.standard_normal(users)[unit] + rng.standard_normal(unit.size)
    log = Log(rng.integers(2, size=users)[unit], outcomes, x, np.full(unit.size, 0.5), n_actions=2)
    return log, unit.tolist()


def test_errors_are_by_units_where_the_log_has_them():
    """Means of users with s.d. sqrt(0.25 + 0.49 + 1/40) = 0.875: 150 of them err by 0.071, to a sixth of that."""
    log, unit = coins_of_users(0)
    by_rows, by_units = audit(log).actions, audit(log.with_units(unit)).actions
    for rows, units in zip(by_rows.actions, by_units.actions, strict=True):
        assert units.standard_error == pytest.approx(0.071, rel=1 / 6)
        assert rows.standard_error < 0.02
        assert units.effective_size < 500 < rows.effective_size
        assert units.mean == rows.mean
    assert by_units.lead_error == pytest.approx(np.hypot(0.071, 0.071), rel=1 / 6)


def test_a_coin_per_user_without_an_effect_is_used_and_leads_nowhere():
    """10 logs at rates of at most 5 %: more than 3 of a kind have a chance of 0.1 %."""
    refused = led = 0
    for seed in range(10):
        log, unit = coins_of_users(seed)
        found = audit(log.with_units(unit))
        refused += found.verdict.decision != "use it"
        led += found.actions.is_lead_clear
    assert refused <= 3
    assert led <= 3


def test_units_of_one_row_change_nothing_much():
    """Clustered errors are those of rows then, to n / (n - 1) and Kish's factor."""
    log, _ = Making(n=1000).draw(0)
    for one, two in zip(audit(log).actions.actions, audit(log.with_units(range(1000))).actions.actions, strict=True):
        assert two.standard_error == pytest.approx(one.standard_error, rel=0.01)
