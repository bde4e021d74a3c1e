"""The sums that people look at."""

import math

import numpy as np
import pytest

from headstart.serve.telling.report import Report
from tests.serve.telling.plain_sums import PlainSums


def test_means_by_hand():
    """1 at p = 0.5 and 0 at p = 0.25: weights 2 and 4, mean 2/6, N = 36/20, s.e. sqrt(N / (N - 1) (4 (2/3)^2 +
    16 (1/3)^2)) / 6."""
    sums = PlainSums("ab")
    sums.add_outcome(0.0, 0, 0.5, 1.0, is_holdout=False)
    sums.add_outcome(1.0, 0, 0.25, 0.0, is_holdout=False)
    found = Report(sums.sums).weighed()
    assert found.means[0] == pytest.approx(1 / 3)
    assert found.standard_errors[0] == pytest.approx(math.sqrt(2.25 * (4 * (2 / 3) ** 2 + 16 * (1 / 3) ** 2)) / 6)
    assert math.isnan(found.means[1])
    assert found.sizes[0] == pytest.approx(36 / 20)


def test_draws_from_the_logged_probabilities_pass_the_chi_square():
    """Its p-value is uniform: over 400 reports, the share below 0.05 is within 3.5 s.e. (0.038) of 0.05."""
    rng = np.random.default_rng(1)
    low = 0
    for _ in range(400):
        sums = PlainSums("abc")
        for _ in range(150):
            chances = rng.dirichlet(np.ones(3))
            sums.add_decision(0.0, int(rng.choice(3, p=chances)), chances)
        low += Report(sums.sums).chi_square()[2] < 0.05
    assert abs(low / 400 - 0.05) < 0.038


def test_draws_from_other_probabilities_fail_the_chi_square():
    rng = np.random.default_rng(1)
    sums = PlainSums("ab")
    for _ in range(1000):
        sums.add_decision(0.0, int(rng.random() < 0.6), np.array([0.5, 0.5]))
    assert Report(sums.sums).chi_square()[2] < 1e-6


def test_a_certain_action_has_nothing_to_test():
    sums = PlainSums("ab")
    sums.add_decision(0.0, 0, np.array([1.0, 0.0]))
    assert Report(sums.sums).chi_square() == (0.0, 0, 1.0)


def test_history_stays_bounded_and_loses_nothing():
    sums = PlainSums("ab")
    for t in range(5000):
        sums.add_decision(1e9 + 7.0 * t, t % 2, np.array([0.5, 0.5]))
        sums.add_outcome(1e9 + 7.0 * t, t % 2, 0.5, 1.0, is_holdout=t % 10 == 0)
    history = Report(sums.sums).history()
    assert 100 <= len(history["times"]) <= 240
    assert sums.sums.timeline.shown.sum() == 5000
    assert history["value"][-1] == 1.0
    assert history["holdout"][-1] == 1.0
    assert history["regret"][-1] == pytest.approx(0.0)
    assert Report(sums.sums).value(is_holdout=True)["n"] == 500


def test_regret_by_hand():
    """Means 1 and 0 and 10 users at (0.5, 0.5): each loses 0.5 on average."""
    sums = PlainSums("ab")
    for t in range(10):
        sums.add_decision(float(t), t % 2, np.array([0.5, 0.5]))
        sums.add_outcome(float(t), t % 2, 0.5, 1.0 - t % 2, is_holdout=False)
    assert Report(sums.sums).history()["regret"][-1] == pytest.approx(5.0)
