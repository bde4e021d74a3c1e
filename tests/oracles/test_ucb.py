"""UCB by hand and against its slow twin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headstart as hs
from tests.plain import SlowUCB


def test_bounds_by_hand():
    """Two actions seen 1 and 3 times with means 1 and 2: the bonus is sqrt(2 ln 4 / n): 1.6651 and 0.9613."""
    oracle = hs.UCB(2)
    oracle.update(None, 0, 1.0)
    for outcome in (1.0, 2.0, 3.0):
        oracle.update(None, 1, outcome)
    counts, means, lower, upper = oracle.readings()
    assert counts.tolist() == [1, 3]
    assert means.tolist() == [1.0, 2.0]
    bonus = np.array([math.sqrt(2 * math.log(4)), math.sqrt(2 * math.log(4) / 3)])
    np.testing.assert_allclose(upper, means + bonus, rtol=1e-15)
    np.testing.assert_allclose(lower, means - bonus, rtol=1e-14)
    assert oracle.play() == 1  # 2.9613 against 2.6651
    np.testing.assert_array_equal(oracle.probabilities(), [0.0, 1.0])


def test_beta_scales_the_bonus():
    """With beta = 3 the bonuses are 4.9953 and 2.8840: 5.9953 beats 4.8840. With beta = 0 the better mean wins."""
    for beta, choice in ((3.0, 0), (0.0, 1)):
        oracle = hs.UCB(2, beta=beta)
        oracle.update(None, 0, 1.0)
        for outcome in (1.0, 2.0, 3.0):
            oracle.update(None, 1, outcome)
        assert oracle.play() == choice
        assert oracle.beta == beta


def test_an_action_never_played_comes_first_and_ties_go_to_the_lowest():
    oracle = hs.UCB(3)
    assert oracle.play() == 0
    oracle.update(None, 0, 1e9)
    assert oracle.play() == 1
    assert oracle.play(None, [0, 2]) == 2
    oracle.update(None, 2, 1e9)
    oracle.update(None, 1, 1e9)
    assert oracle.play() == 0
    assert oracle.play(None, [1, 2]) == 1


def test_an_action_never_played_has_no_bounds():
    _, _, lower, upper = hs.UCB(1).readings()
    assert (lower[0], upper[0]) == (-np.inf, np.inf)


def test_the_count_in_the_logarithm_is_of_all_actions_available_or_not():
    """Counts 1, 4, 100: with all n = 105, ln 105 = 4.654, bonuses 3.051 and 1.525, so mean 0 beats mean 1 by
    3.051 to 2.525; with n = 5 alone it would lose: bonuses 1.794 and 0.897, 1.794 to 1.897.
    """
    oracle = hs.UCB(3)
    oracle.update(None, 0, 0.0)
    for _ in range(4):
        oracle.update(None, 1, 1.0)
    for _ in range(100):
        oracle.update(None, 2, 0.0)
    assert oracle.play(None, [0, 1]) == 0


@given(st.lists(st.integers(0, 8), min_size=1, max_size=60), st.sampled_from([0.0, 0.3, 1.0, 2.5]))
def test_plays_are_the_slow_twin_s(eighths: list[int], beta: float):
    """Outcomes of whole eighths, so that both sum without rounding and a tie is a tie."""
    fast, slow = hs.UCB(3, beta=beta), SlowUCB(3, beta=beta)
    for eighth in eighths:
        action = slow.play()
        assert fast.play() == action
        fast.update(None, action, eighth / 8)
        slow.update(None, action, eighth / 8)


def test_two_actions_with_the_same_outcomes_tie_whatever_their_order():
    oracle = hs.UCB(2)
    for a, outcomes in ((1, [0.5, 0.0, 1.0, 0.25]), (0, [1.0, 0.25, 0.5, 0.0])):
        for outcome in outcomes:
            oracle.update(None, a, outcome)
    assert oracle.play() == 0


def test_repr_counts_plays():
    oracle = hs.UCB(2)
    oracle.update(None, 0, 1.0)
    assert repr(oracle) == "UCB(n_actions=2, plays=1)"
    assert pytest.approx(1.0) == oracle.beta
