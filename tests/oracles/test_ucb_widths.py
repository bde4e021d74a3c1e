"""UCBTuned, UCBNormal and KLUCB: bounds by hand, and what they buy over UCB1."""

from __future__ import annotations

import math

import numpy as np
import pytest

import headstart as hs
from headstart.errors import OptionError, OutcomeError

OUTCOMES = {0: [1.0, 2.0, 6.0], 1: [2.0, 2.0, 3.0, 3.0]}  # means 3 and 2.5, variances 14/3 and 1/4


def _taught(oracle):
    for action, outcomes in OUTCOMES.items():
        for outcome in outcomes:
            oracle.update(None, action, outcome)
    return oracle


def test_tuned_bounds_by_hand():
    """n = 7, scale 10: sqrt(ln 7 / n_a min(25, v + 100 sqrt(2 ln 7 / n_a))): both variances are above 25."""
    upper = _taught(hs.UCBTuned(2, scale=10.0)).readings().upper
    np.testing.assert_allclose(upper, [3 + 5 * math.sqrt(math.log(7) / 3), 2.5 + 5 * math.sqrt(math.log(7) / 4)])
    # scale 0.1: v + 0.01 sqrt(2 ln 7 / n_a) against 0.0025.
    upper = _taught(hs.UCBTuned(2, scale=0.1)).readings().upper
    np.testing.assert_allclose(upper[0], 3 + math.sqrt(math.log(7) / 3 * 0.0025))
    quiet = hs.UCBTuned(1)
    for outcome in [0.5, 0.5] * 100:
        quiet.update(None, 0, outcome)
    share = math.log(200) / 200
    assert quiet.readings().upper[0] == pytest.approx(0.5 + math.sqrt(share * min(0.25, math.sqrt(2 * share))))


def test_normal_bounds_by_hand():
    """n = 7: 3 + sqrt(14/3) sqrt(7^(2/1) - 1) = 17.967 and 2.5 + 0.5 sqrt(7^(2/2) - 1) = 3.725."""
    oracle = _taught(hs.UCBNormal(2))
    expected = [3 + math.sqrt(14 / 3 * 48), 2.5 + 0.5 * math.sqrt(6)]
    np.testing.assert_allclose(oracle.readings().upper, expected, rtol=1e-12)
    assert oracle.play() == 0


def test_normal_plays_every_action_three_times_first():
    oracle, rng, actions = hs.UCBNormal(3), np.random.default_rng(0), []
    for _ in range(9):
        actions.append(oracle.play())
        oracle.update(None, actions[-1], rng.normal())
    assert sorted(actions) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_normal_choices_do_not_depend_on_the_unit_of_measurement():
    grams, kilograms, rng = hs.UCBNormal(3), hs.UCBNormal(3), np.random.default_rng(1)
    for _ in range(200):
        action = kilograms.play()
        assert grams.play() == action
        outcome = rng.normal(action)
        kilograms.update(None, action, outcome)
        grams.update(None, action, 1024.0 * outcome)


def test_kl_bounds_by_hand():
    """4 plays, 2 of each action with means 0 and 1/2: 2 kl(0, q) = ln 4 gives q = 1 - 4^(-1/2) = 1/2;
    2 kl(1/2, q) = ln 4 gives 1/4 = 4 q (1 - q) / 4, q = (1 + sqrt(3/4)) / 2.
    """
    oracle = hs.KLUCB(2)
    for action, outcome in ((0, 0.0), (0, 0.0), (1, 1.0), (1, 0.0)):
        oracle.update(None, action, outcome)
    _, _, lower, upper = oracle.readings()
    kl = 0.5 * math.log(0.25 / (upper[1] * (1 - upper[1])))
    assert upper[0] == pytest.approx(0.5, rel=1e-14)
    assert 2 * kl == pytest.approx(math.log(4), rel=1e-12)
    assert lower[0] == 0.0
    assert lower[1] == pytest.approx(1 - upper[1], rel=1e-12)


def test_kl_refuses_what_is_outside_the_unit_interval():
    with pytest.raises(OutcomeError, match=r"outcome must be in \[0, 1\] for KLUCB"):
        hs.KLUCB(2).update(None, 0, 1.5)
    with pytest.raises(OptionError, match="c must be"):
        hs.KLUCB(2, c=-1.0)
    with pytest.raises(OptionError, match="scale must be"):
        hs.UCBTuned(2, scale=0.0)


def test_widths_that_follow_the_data_have_less_regret_than_ucb1():
    """Binary outcomes 0.5 and 0.75, 2,000 rounds, 60 runs: UCB1 has about 30, the others 5 to 20 (s.e. below 3)."""
    world = hs.worlds.Synthetic(n_actions=2, outcome="binary")
    policies = {
        "UCB": lambda w, log, rng: hs.UCB(2),
        "UCBTuned": lambda w, log, rng: hs.UCBTuned(2),
        "KLUCB": lambda w, log, rng: hs.KLUCB(2),
    }
    curves = hs.simulate(world, policies, rounds=2000, runs=60, seed=3)
    for name in ("UCBTuned", "KLUCB"):
        apart = curves["UCB"].mean - curves[name].mean
        assert apart > 3 * math.hypot(curves["UCB"].se, curves[name].se)
