"""Greedy, EpsilonGreedy and ABTest by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import headstart as hs


def test_greedy_prefers_data_over_none_and_the_lowest_among_equals():
    oracle = hs.Greedy(4)
    assert oracle.play() == 0
    assert oracle.play(None, [2, 3]) == 2
    oracle.update(None, 3, -5.0)
    assert oracle.play() == 3  # the only one with data, however bad
    oracle.update(None, 1, -5.0)
    assert oracle.play() == 1
    np.testing.assert_array_equal(oracle.probabilities(None, [0, 3]), [0, 0, 0, 1])
    np.testing.assert_array_equal(oracle.probabilities(None, [0, 2]), [1, 0, 0, 0])


def test_epsilon_is_shared_by_the_available_actions():
    """epsilon = 0.3, means 0, 1, 2: 0.1, 0.1, 0.1 + 0.7; without action 2: 0.15, 0.15 + 0.7."""
    oracle = hs.EpsilonGreedy(3, epsilon=0.3, rng=1)
    for action in range(3):
        oracle.update(None, action, float(action))
    np.testing.assert_allclose(oracle.probabilities(), [0.1, 0.1, 0.8], rtol=1e-15)
    np.testing.assert_allclose(oracle.probabilities(None, [0, 1]), [0.15, 0.85, 0.0], rtol=1e-15)


def test_decreasing_epsilon_is_c_over_t():
    """c = 2: t = 1 and 2 have epsilon 1; t = 3 has 2/3, t = 5 has 2/5; t is the number of outcomes plus one."""
    oracle = hs.EpsilonGreedy(2, decay=2.0, rng=1)
    for n, epsilon in enumerate([1.0, 1.0, 2 / 3, 2 / 4, 2 / 5]):
        chances = oracle.probabilities()
        best = int(n > 0)  # action 0 is never played at n = 0; then action 1 is the one never played, then the better
        np.testing.assert_allclose(chances[best], 1 - epsilon / 2, rtol=1e-15)
        oracle.update(None, 0 if n == 0 else 1, 0.0 if n == 0 else 1.0)


def test_epsilon_is_a_tenth_by_default():
    oracle = hs.EpsilonGreedy(2)
    np.testing.assert_allclose(oracle.probabilities(), [0.95, 0.05], rtol=1e-15)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=25), st.sets(st.integers(0, 3), min_size=1))
def test_the_greedy_step_is_its_slow_twin(outcomes: list[tuple[int, int]], available: set[int]):
    oracle = hs.EpsilonGreedy(4, epsilon=0.0, rng=1)
    seen: list[list[float]] = [[], [], [], []]
    for action, quarter in outcomes:
        oracle.update(None, action, quarter / 4)
        seen[action].append(quarter / 4)
    best = max(sorted(available), key=lambda a: (float("inf") if not seen[a] else sum(seen[a]) / len(seen[a]), -a))
    assert oracle.play(None, sorted(available)) == best


def test_an_ab_test_gives_its_verdict_and_keeps_it():
    """Two outcomes: 0 for action 0, 1 for action 1. The test of 2 rounds is over; later outcomes change nothing."""
    oracle = hs.ABTest(2, test_rounds=2, rng=1)
    np.testing.assert_array_equal(oracle.probabilities(), [0.5, 0.5])
    oracle.update(None, 0, 0.0)
    np.testing.assert_array_equal(oracle.probabilities(), [0.5, 0.5])
    oracle.update(None, 1, 1.0)
    for _ in range(20):
        assert oracle.play() == 1
        oracle.update(None, 1, -100.0)
    np.testing.assert_array_equal(oracle.probabilities(), [0.0, 1.0])
    np.testing.assert_array_equal(oracle.probabilities(None, [0]), [1.0, 0.0])
    assert oracle.readings().counts.tolist() == [1, 1]


def test_without_an_end_the_test_goes_on():
    oracle = hs.ABTest(4, rng=1)
    for _ in range(1000):
        oracle.update(None, 0, 1.0)
    np.testing.assert_array_equal(oracle.probabilities(), [0.25] * 4)
    np.testing.assert_array_equal(oracle.probabilities(None, [1, 2]), [0, 0.5, 0.5, 0])


def test_ab_testing_the_log_is_the_plain_causal_estimate():
    """The paper: BanditOracle 0 joined to an evaluator, one round: its means are the evaluator's (T = 1)."""
    log = hs.Log([0, 0, 1, 1], [0.0, 1.0, 2.0, 4.0], propensities=[0.5, 0.25, 0.5, 0.5])
    evaluator = hs.IPSWeighting(log)
    oracle = hs.ABTest(2, rng=1)
    hs.WarmStart(oracle, evaluator, schedule="batch").play(None)
    np.testing.assert_allclose(oracle.readings().means, evaluator.means, rtol=1e-15)
