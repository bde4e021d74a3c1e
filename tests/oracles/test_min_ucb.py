"""MinUCB and MinLinUCB: the rule by hand, its limits, and the study's facts."""

from __future__ import annotations

import math

import numpy as np
import pytest

import headstart as hs
from headstart import features
from headstart.errors import OptionError
from headstart.estimates.summary import Summary
from headstart.evaluators.linear_model import linear_sums

NOTHING = Summary(np.full(2, np.nan), np.full(2, np.inf), np.full(2, np.nan))


def _summary(means, sizes, variance: float = 1.0) -> Summary:
    sizes = np.array(sizes, dtype=float)
    return Summary(np.array(means, dtype=float), np.sqrt(variance / sizes), np.full(sizes.size, variance))


def _taught(oracle):
    for action, outcome in ((0, 1.0), (0, 2.0), (1, 0.0)):
        oracle.update(None, action, outcome)
    return oracle


def test_bounds_by_hand():
    """Users: action 0 has 1 and 2, action 1 has 0; the log: means 4 and 1 worth 6 and 8 plays; t = 3, n = 17.

    Action 0: online 1.5 + sqrt(2 ln 3 / 2) = 2.5481; pooled (3 + 24) / 8 + sqrt(2 ln 17 / 8) = 4.2166: the least is
    2.5481. Action 1: online sqrt(2 ln 3) = 1.4823; pooled 8/9 + sqrt(2 ln 17 / 9) = 1.6824: the least is 1.4823.
    """
    oracle = _taught(hs.MinUCB(2, _summary([4.0, 1.0], [6, 8])))
    assert oracle.readings().upper == pytest.approx([1.5 + math.sqrt(math.log(3)), math.sqrt(2 * math.log(3))])
    slander = _taught(hs.MinUCB(2, _summary([-4.0, 1.0], [6, 8])))
    pooled = (3 - 24) / 8 + math.sqrt(2 * math.log(17) / 8)
    assert slander.readings().upper[0] == pytest.approx(pooled)
    doubted = _taught(hs.MinUCB(2, _summary([-4.0, 1.0], [6, 8]), bias_bound=[2.0, 0.0]))
    assert doubted.readings().upper[0] == pytest.approx(pooled + 2.0 * 6 / 8)  # V times the log's share
    assert slander.play() == 1
    assert oracle.play() == 0


def test_the_log_is_capped_and_ages():
    """After 3 online plays, cap 2: 2 ln(e + 3) = 3.489 plays; half-life 3: 6 / 2 = 3."""
    capped = _taught(hs.MinUCB(2, _summary([4.0, 1.0], [6, 8]), cap=2.0))
    assert capped.log_sizes == pytest.approx([2 * math.log(math.e + 3)] * 2)
    aged = _taught(hs.MinUCB(2, _summary([4.0, 1.0], [6, 8]), half_life=3.0))
    assert aged.log_sizes == pytest.approx([3.0, 4.0])


def test_without_a_log_it_is_ucb():
    rng, guarded, bare = np.random.default_rng(0), hs.MinUCB(2, NOTHING), hs.UCB(2)
    for _ in range(300):
        action = bare.play()
        assert guarded.play() == action
        outcome = rng.normal(0.3 * action)
        for oracle in (guarded, bare):
            oracle.update(None, action, outcome)


def test_a_withdrawn_log_is_no_log():
    oracle, bare = hs.MinUCB(2, _summary([4.0, 1.0], [60, 80])), hs.UCB(2)
    _taught(oracle)
    for action in (0, 1):
        oracle.withdraw(action)
    _taught(bare)
    assert oracle.readings().upper == pytest.approx(bare.readings().upper)
    assert oracle.log_sizes.tolist() == [0.0, 0.0]


def test_forced_plays_come_whatever_the_log_says():
    """After t users every action has at least forced ln t plays: 2 ln 500 = 12.4."""
    oracle = hs.MinUCB(2, _summary([-50.0, 1.0], [1000, 1000]), forced=2.0)
    for _ in range(500):
        action = oracle.play()
        oracle.update(None, action, 1.0)
    assert oracle.readings().counts[0] - oracle.log_sizes[0] == 13


def test_widths_of_the_observed_variance_by_hand():
    """Action 0 pooled: 2 users with squared deviations 1/2, 6 plays of the log with variance 1, means 1.5 and 4:
    squares 1/2 + 6 + 2 * 6/8 * 2.5^2 = 15.875 over 8 plays; online 2 plays say nothing of a variance.
    """
    oracle = _taught(hs.MinUCB(2, _summary([4.0, 1.0], [6, 8]), follows_variance=True))
    width = math.sqrt(15.875 / 8 * math.expm1(2 * math.log(17) / 6))
    assert oracle.readings().upper[0] == pytest.approx(27 / 8 + width)


def test_bad_settings_are_refused():
    good = _summary([0.0, 1.0], [3, 3])
    for settings, message in (
        ({"bias_bound": -1.0}, "bias_bound must be at least 0"),
        ({"bias_bound": [1.0, 2.0, 3.0]}, "bias_bound must be a number or 2"),
        ({"cap": 0.0}, "cap must be"),
        ({"half_life": -1.0}, "half_life must be"),
        ({"forced": -1.0}, "forced must be"),
    ):
        with pytest.raises(OptionError, match=message):
            hs.MinUCB(2, good, **settings)
    with pytest.raises(OptionError, match="summary must be of 3 actions, got 2"):
        hs.MinUCB(3, good)
    with pytest.raises(OptionError, match="summary must be a Summary"):
        hs.MinUCB(2, np.zeros(2))


class Lying:
    """The paper's world, with one action's log raised or lowered."""

    def __init__(self, action: int, bias: float, n_log: int) -> None:
        self.action, self.bias, self.world = action, bias, hs.worlds.Synthetic(n_actions=2, n_log=n_log)

    def draw(self, rng):
        drawn = self.world.draw(rng)
        log = drawn.log
        outcomes = log.outcomes + self.bias * (log.actions == self.action)
        drawn.log = hs.Log(log.actions, outcomes, log.contexts, log.propensities, n_actions=2)
        return drawn


@pytest.mark.parametrize(("bias", "least", "most"), [(0.0, 0.0, 0.4), (0.9, 0.8, 1.25)])
def test_a_good_log_helps_and_a_flattered_action_hardly_hurts(bias: float, least: float, most: float):
    """1,000 rows, gap 0.5, T = 500, 100 runs, ratios to UCB without a log. The study: 0.06 to 0.40, and 1.14 at
    worst; the standard error of a ratio is about 0.04. Pooled UCB has 12 on the same flattering log.
    """
    policies = {
        "cold": lambda w, log, rng: hs.UCB(2),
        "min": lambda w, log, rng: hs.MinUCB(2, hs.IPSWeighting(log).summary()),
    }
    curves = hs.simulate(Lying(0, bias, 1000), policies, rounds=500, runs=100, seed=1)
    assert least <= curves["min"].mean / curves["cold"].mean <= most


def test_linear_rule_with_a_constant_context_is_the_plain_one():
    """phi = 1: V_online = ridge + n, V_pooled = ridge + n + N. Users 1, 2 (action 0), the log 6 rows of mean 4:
    online 3 / 3 + 1 / sqrt 3, pooled (3 + 24) / 9 + 1 / 3 and the log's share 1 - 3/9.
    """
    oracle = hs.MinLinUCB(2, 1, np.full((2, 1, 1), 6.0), np.array([[24.0], [0.0]]), bias_bound=0.0)
    for outcome in (1.0, 2.0):
        oracle.update([1.0], 0, outcome)
    oracle.update([1.0], 1, 1.9)
    # Online 1.5774 for action 0; for action 1: online 0.95 + 1/sqrt 2 = 1.657, pooled 1.9 / 8 + 1 / sqrt 8 = 0.591.
    assert oracle.play([1.0]) == 0
    trusting = hs.MinLinUCB(2, 1, np.full((2, 1, 1), 6.0), np.array([[24.0], [0.0]]), bias_bound=2.0)
    for context, action, outcome in (([1.0], 0, 1.0), ([1.0], 0, 2.0), ([1.0], 1, 1.9)):
        trusting.update(context, action, outcome)
    # Action 1: pooled 0.591 + 2 (1 - (1/8) / (1/2)) = 2.091, so its online bound 1.657 is the least and wins.
    assert trusting.play([1.0]) == 1


def test_linear_rule_without_a_log_is_linucb():
    phi = features.blocks(3, 6)
    guarded = hs.MinLinUCB(3, 6, np.zeros((1, 2, 2)), np.zeros((1, 2)), features=phi)
    bare, rng = hs.LinUCB(3, 6, features=phi), np.random.default_rng(2)
    for _ in range(200):
        context = rng.standard_normal(6)
        action = bare.play(context)
        assert guarded.play(context) == action
        outcome = context[0] + rng.normal()
        for oracle in (guarded, bare):
            oracle.update(context, action, outcome)
    np.testing.assert_allclose(guarded.theta, bare.theta, rtol=1e-12)


def test_linear_rule_starts_from_the_log_s_regression():
    log = hs.worlds.Synthetic(n_actions=3, n_log=50).draw(np.random.default_rng(5)).log
    phi = features.disjoint(3, 6)
    oracle = hs.MinLinUCB(3, 6, *linear_sums(log, phi), ridge=2.0)
    for action in range(3):
        x, y = log.contexts[log.actions == action], log.outcomes[log.actions == action]
        expected = np.linalg.solve(x.T @ x + 2.0 * np.eye(6), x.T @ y)
        np.testing.assert_allclose(oracle.theta[action], expected, rtol=1e-10)


def test_linear_sums_are_checked():
    with pytest.raises(OptionError, match=r"grams must be finite sums of shape \(2, 3, 3\)"):
        hs.MinLinUCB(2, 3, np.zeros((2, 2, 2)), np.zeros((2, 3)))
    with pytest.raises(OptionError, match="not positive"):
        hs.MinLinUCB(2, 1, np.full((2, 1, 1), -5.0), np.zeros((2, 1)))
