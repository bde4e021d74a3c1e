"""Whether logged propensities are true."""

import numpy as np
import pytest

from headstart.judgement.audit.audit import audit
from headstart.logs.log import Log
from tests.judgement.audit.planted import Making, draw_actions, make_log, of_wrong_action, scaled


def test_ratios_by_hand():
    """Three rows of a with p = 1/2 and one of b with p = 1/4, n = 4: W_a / n = 6/4, W_b / n = 4/4.

    mean(1/p) / K = 10 / 4 / 2.
    """
    found = audit(Log(["a", "a", "a", "b"], [0.0, 1.0, 0.0, 1.0], propensities=[0.5, 0.5, 0.5, 0.25])).propensities
    assert [action.ratio for action in found.actions] == [1.5, 1.0]
    assert found.overall_ratio == 1.25
    assert found.actions[0].expected_rows == 2.0


def test_chi_square_of_counts_is_pearson_s_when_everybody_has_the_same_chances():
    """Chances (0.2, 0.3, 0.5), 50 rows counted (14, 11, 25): 16/10 + 16/15 + 0 = 2.667 on 2 degrees of freedom."""
    log = Log(np.repeat([0, 1, 2], [14, 11, 25]), np.ones(50), propensities=np.tile([0.2, 0.3, 0.5], (50, 1)))
    found = audit(log).propensities
    assert found.is_chi_square_of_counts
    assert (found.chi_square, found.degrees) == (pytest.approx(16 / 10 + 16 / 15), 2)
    assert found.p_value == pytest.approx(0.26360, abs=1e-5)


def test_chi_square_of_weights_is_neyman_s_when_everybody_has_the_same_chances():
    """The same counts with only the propensity of the action taken: 16/14 + 16/11 + 0."""
    actions = np.repeat([0, 1, 2], [14, 11, 25])
    log = Log(actions, np.ones(50), propensities=np.array([0.2, 0.3, 0.5])[actions])
    found = audit(log).propensities
    assert not found.is_chi_square_of_counts
    assert (found.chi_square, found.degrees) == (pytest.approx(16 / 14 + 16 / 11), 2)


@pytest.mark.parametrize("factor", [0.5, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_scaled_propensities_are_found_and_the_factor_told(factor, seed):
    """p times 2 is cut at 1 for some rows, so the factor comes out a little smaller."""
    found = audit(scaled(seed, factor, Making(n_actions=10, n_columns=6))).propensities
    assert found.fault == "scaled"
    assert found.scale == pytest.approx(factor, rel=0.1)


def test_a_uniform_policy_logged_as_half_is_scaled_beyond_doubt():
    rng = np.random.default_rng(0)
    actions = rng.integers(4, size=400)
    log = Log(actions, rng.random(400), propensities=np.full(400, 0.125), n_actions=4)
    found = audit(log).propensities
    assert (found.fault, found.scale) == ("scaled", pytest.approx(0.5, rel=0.2))
    assert found.overall_ratio == 2.0


@pytest.mark.parametrize("always", [None, 0])
@pytest.mark.parametrize("n_actions", [2, 3])
def test_propensities_of_the_wrong_action_are_told_as_such(always, n_actions):
    found = audit(of_wrong_action(1, Making(n_actions=n_actions), always=always)).propensities
    assert found.fault == "wrong action"
    mistaken = {action.name: action.nearest for action in found.actions if action.nearest is not None}
    if always is None:
        assert mistaken == {a: (a + 1) % n_actions for a in range(n_actions)}
    else:
        assert mistaken == dict.fromkeys(range(1, n_actions), 0)


def test_a_fault_in_one_group_of_users_is_found_though_the_sums_are_right():
    """Chances are 0.3 and 0.7 by x0 < 0, logged as 0.5 throughout: right on average, and by a factor of 0.6 or 1.4
    wrong on either side."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((10_000, 2))
    chance = np.where(x[:, 0] < 0, 0.3, 0.7)
    chances = np.column_stack([1 - chance, chance])
    log = make_log(x, chances, rng)
    found = audit(log.with_propensities(np.full(len(log), 0.5))).propensities
    assert [action.ratio for action in found.actions] == pytest.approx([1.0, 1.0], abs=0.05)
    assert found.fault == "wrong in places"
    assert found.group_spread == pytest.approx(0.4, abs=0.05)  # 0.3 / 0.5 and 0.7 / 0.5


def test_estimated_propensities_are_not_called_logged():
    log, _ = Making(n=2000).draw(0)
    found = audit(Log(log.actions, log.outcomes, log.contexts, n_actions=3))
    assert found.facts.propensities == "estimated"
    assert not found.propensities.is_checked
    assert found.propensities.fault == "none"


def test_calibration_lies_on_the_diagonal_when_propensities_are_true():
    """10 points of some 3,000 users: s.e. at most 0.009 each; the worst of ten within four."""
    curve = audit(Making(n=20_000).draw(4)[0]).calibration
    assert np.abs(np.subtract(curve.claimed, curve.observed)).max() < 0.036
    assert curve.slope == pytest.approx(1.0, abs=0.05)


def test_calibration_shows_propensities_that_ignore_the_contexts():
    log, _ = Making(n=20_000, strength=2.0).draw(4)
    flat = np.bincount(log.actions) / len(log)
    curve = audit(log.with_propensities(flat[log.actions])).calibration
    assert curve.error > 0.1


def test_draw_actions_follows_the_chances():
    drawn = draw_actions(np.tile([0.2, 0.8], (10_000, 1)), np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(0.8, abs=0.016)  # four standard deviations


def test_a_policy_that_had_settled_is_not_called_wrong_if_it_logged_whole_vectors():
    """30 users had each action with chance 1/2, the rest only the second: few saw the first, as was logged."""
    rng = np.random.default_rng(1)
    chances = np.vstack([np.full((30, 2), 0.5), np.tile([0.0, 1.0], (1970, 1))])
    actions = np.where(rng.random(2000) < chances[:, 0], 0, 1)
    outcomes = rng.normal(size=2000)
    assert audit(Log(actions, outcomes, propensities=chances)).propensities.fault == "none"
    lied = np.vstack([np.full((30, 2), 0.5), np.tile([0.5, 0.5], (1970, 1))])
    assert audit(Log(actions, outcomes, propensities=lied)).propensities.fault == "wrong"


@pytest.mark.parametrize("has_vectors", [True, False])
def test_an_epsilon_greedy_policy_with_true_propensities_is_not_called_wrong(has_vectors):
    """Chances of 0.93 and 0.033 on two sides of a line: cells with a row or two of weight 30 are no fault."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((1500, 3))
        chances = np.full((1500, 3), 0.1 / 3)
        chances[np.arange(1500), (x @ rng.standard_normal((3, 3))).argmax(axis=1)] += 0.9
        log = make_log(x, chances, rng)
        if has_vectors:
            log = log.with_propensities(chances)
        assert audit(log).propensities.fault == "none"


def test_propensities_of_an_older_policy_are_found_in_their_time():
    """Even chances until 60 % of the time, then 0.8 and 0.2, logged as even all along; no context knows the time."""
    rng = np.random.default_rng(0)
    n = 2000
    times = np.arange(n) / n
    actions = (rng.random(n) < np.where(times < 0.6, 0.5, np.where(times < 0.8, 0.8, 0.2))).astype(int)
    log = Log(actions, rng.random(n), rng.standard_normal((n, 2)), np.full(n, 0.5), n_actions=2, times=times)
    found = audit(log)
    assert found.verdict.decision == "do not use it"
    assert found.drift.weights_p < 1e-6
    assert found.drift.worst[0] >= 0.6 * len(found.drift.rows)


def test_totals_are_judged_by_units():
    """40 users by lot with 50 rows each, 25 of whom had a: 125 % of the users is a chance of one in nine."""
    unit = np.repeat(np.arange(40), 50)
    log = Log((unit < 25).astype(int), np.arange(2000.0), propensities=np.full(2000, 0.5), n_actions=2)
    assert audit(log).propensities.fault != "none"
    found = audit(log.with_units(unit.tolist())).propensities
    assert found.fault == "none"
    assert found.actions[1].error == pytest.approx(np.sqrt(40) * 50 / 2000)
