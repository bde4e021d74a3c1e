"""Do actions come as often as their chances say? A fortune that is a martingale if they do."""

import math

import numpy as np
import pytest

from headstart.estimates.mismatch import CAUTION, log_winnings


def test_two_decisions_by_hand():
    """c = 100. The first bet is even: nothing is won. Then action 0 has come once where 0.5 was expected: its ratio
    is 101 / 100.5, the other's 100 / 100.5, so it wins ln(101 / 100.5) - ln((101 + 100) / 201) when it comes again.
    """
    assert CAUTION == 100.0
    won = log_winnings(np.array([0, 0]), np.full((2, 2), 0.5), np.zeros(2), np.zeros(2))
    assert won == pytest.approx([0.0, math.log(101 / 100.5) - math.log(201 / 201)])


def test_what_could_only_come_so_wins_nothing():
    chances = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert log_winnings(np.array([0, 0]), chances, np.array([9.0, 1.0, 0.0]), np.full(3, 3.0)).tolist() == [0.0, 0.0]


def draw(rng, n, tilt):
    """Chances that wander, and actions drawn from them, the first one more often if tilted."""
    chances = rng.dirichlet([2.0, 1.0, 0.5], n)
    drawn_from = chances * np.array([1.0 + tilt, 1.0, 1.0])
    drawn_from /= drawn_from.sum(axis=1, keepdims=True)
    return (rng.random((n, 1)) > drawn_from.cumsum(axis=1)).sum(axis=1).clip(0, 2), chances


def largest(actions, chances):
    return float(log_winnings(actions, chances, np.zeros(3), np.zeros(3)).cumsum().max())


def test_without_fault_it_is_ever_beyond_twenty_in_at_most_one_of_twenty_runs():
    """400 runs, 2,000 looks each: above 1 / 0.05 in at most 5 %, and 3.3 standard errors of that (8.6 %)."""
    rng = np.random.default_rng(5)
    ever = [largest(*draw(rng, 2000, 0.0)) > math.log(20.0) for _ in range(400)]
    assert np.mean(ever) <= 0.05 + 3.3 * math.sqrt(0.05 * 0.95 / 400)


def test_a_tilt_of_a_fifth_is_found_at_one_in_ten_thousand():
    rng = np.random.default_rng(6)
    assert all(largest(*draw(rng, 20_000, 0.2)) > math.log(1e4) for _ in range(5))
