"""Stochastic delayed bandits: a base fed from queues, a heuristic while it waits."""

import numpy as np
import pytest

import headstart as hs


def test_without_delay_it_is_the_base():
    """Each outcome comes before the next play, so the base sees the sequence it would see alone."""
    outcomes = np.random.default_rng(0).random((200, 3))
    alone, queued = hs.UCB(3), hs.StochasticDelayedBandit(hs.UCB(3))
    for row in outcomes:
        action = alone.play()
        assert queued.play() == action
        alone.update(None, action, row[action])
        queued.update(None, action, row[action])


def test_a_log_in_the_queues_by_hand():
    """UCB wants 0, then 1 (neither played). Queue of 0: [0.9, 0.8]; of 1: [0.1].

    It learns 0.9 for 0 and 0.1 for 1; then, with n = 2, index 0.9 + sqrt(2 ln 2) against 0.1 + sqrt(2 ln 2),
    wants 0 again, learns 0.8: means 0.85 (n = 2) and 0.1 (n = 1). With n = 3:
    0.85 + sqrt(2 ln 3 / 2) = 1.898, 0.1 + sqrt(2 ln 3) = 1.582: wants 0, whose queue is empty. Plays 0.
    """
    oracle = hs.StochasticDelayedBandit(hs.UCB(2))
    for action, outcome in ((0, 0.9), (0, 0.8), (1, 0.1)):
        oracle.update(None, action, outcome)
    assert oracle.play() == 0
    readings = oracle.base.readings()
    assert readings.counts.tolist() == [2.0, 1.0]
    assert readings.means == pytest.approx([0.85, 0.1])


def test_the_heuristic_decides_while_the_base_waits():
    """UCB wants action 0 first; while that play is in flight, the heuristic (uniform) decides."""
    oracle = hs.StochasticDelayedBandit(hs.UCB(2), hs.ABTest(2, rng=1))
    assert oracle.probabilities().tolist() == [1.0, 0.0]
    assert oracle.play() == 0
    oracle.expect(None, 0)
    assert oracle.probabilities().tolist() == [0.5, 0.5]
    assert {oracle.play() for _ in range(20)} == {0, 1}
    oracle.release(None, 0)
    assert oracle.probabilities().tolist() == [1.0, 0.0]


def test_two_plays_may_be_in_flight():
    oracle = hs.StochasticDelayedBandit(hs.UCB(2), hs.ABTest(2, rng=1), max_waiting=2)
    oracle.expect(None, 0)
    assert oracle.probabilities().tolist() == [1.0, 0.0]
    oracle.expect(None, 0)
    assert oracle.probabilities().tolist() == [0.5, 0.5]


def test_plays_that_nobody_answers_leave_nothing_in_flight():
    """Virtual plays are plays without an outcome where the log has none; they had counted as in flight for ever."""
    log = hs.Log([0, 0, 1], [1.0, 0.0, 1.0], propensities=[0.5, 0.5, 0.5])
    oracle = hs.StochasticDelayedBandit(hs.UCB(2), hs.ABTest(2, rng=1))
    policy = hs.WarmStart(oracle, hs.IPSWeighting(log), rng=1)
    for _ in range(5):
        chances = policy.probabilities()
        assert sorted(chances) == [0.0, 1.0]  # the base's wish
        policy.update(None, policy.play(), 1.0)


def test_an_action_the_base_wants_but_may_not_play_is_left_to_the_heuristic():
    oracle = hs.StochasticDelayedBandit(hs.UCB(3))
    assert oracle.play(None, [2]) == 2


def test_a_restored_oracle_has_the_same_future():
    rng = np.random.default_rng(1)
    oracle = hs.StochasticDelayedBandit(hs.ThompsonGaussian(3, rng=1), hs.ABTest(3, rng=2))
    for _ in range(20):
        oracle.update(None, oracle.play(), rng.random())
    twin = hs.StochasticDelayedBandit(hs.ThompsonGaussian(3, rng=9), hs.ABTest(3, rng=9))
    twin.set_state(oracle.get_state())
    for outcome in rng.random(50):
        action = oracle.play()
        assert twin.play() == action
        oracle.update(None, action, outcome)
        twin.update(None, action, outcome)


def test_base_and_heuristic_must_have_the_same_actions():
    with pytest.raises(hs.errors.OptionError, match="base has 2 actions, heuristic 3"):
        hs.StochasticDelayedBandit(hs.UCB(2), hs.UCB(3))
