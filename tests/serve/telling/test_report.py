"""The sums that people look at."""

import math

import numpy as np
import pytest

from headstart.serve.config import read_experiment
from headstart.serve.telling.gain import find_gain
from headstart.serve.telling.next_log import judge_next_log
from headstart.serve.telling.report import FREE, Report
from headstart.serve.telling.stopping import judge_stopping
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
        drawn = rng.dirichlet(np.ones(3), 150)
        actions = (rng.random((150, 1)) > drawn.cumsum(axis=1)[:, :2]).sum(axis=1)
        for action, chances in zip(actions.tolist(), drawn, strict=True):
            sums.add_decision(0.0, action, chances)
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
    assert Report(sums.sums).value(is_holdout=True)["n"] == 500


def _told(outcomes, *, propensity=0.5, bounds=FREE):
    """Actions a and b in turn, with the outcomes in their order."""
    sums = PlainSums("ab")
    for t, outcome in enumerate(outcomes):
        sums.add_decision(float(t), t % 2, np.array([0.5, 0.5]))
        sums.add_outcome(float(t), t % 2, propensity, outcome, is_holdout=t % 5 == 0)
    return Report(sums.sums, bounds)


def test_no_interval_reaches_beyond_the_outcomes_range():
    rng = np.random.default_rng(1)
    revenue = np.where(rng.random(400) < 0.2, rng.lognormal(0.0, 2.0, 400), 0.0)
    free, held = _told(revenue), _told(revenue, bounds=(0.0, 5.0))
    assert (free.limits().low < 0.0).any()
    assert (held.limits().low >= 0.0).all()
    assert (held.limits().high <= 5.0).all()
    assert all(action["low"] >= 0.0 for action in held.actions())
    assert held.value(is_holdout=False)["low"] >= 0.0


def test_few_purchases_have_a_mean_and_no_interval():
    told = _told([0.0] * 30 + [3.5, 2.0])
    assert [action["interval_text"] for action in told.actions()] == ["-", "-"]
    assert told.actions()[0]["mean"] == pytest.approx(3.5 / 16)


def test_who_has_won_is_said_with_the_chance_of_being_wrong():
    """a succeeds always and b never: 300 users of each are proof, 3 are none."""
    clear = judge_stopping(_told([1.0, 0.0] * 300), ["a", "b"], np.array([0.5, 0.5]))
    assert clear["winner"] == "a"
    assert clear["rivals"] == []
    assert clear["p"] < 1e-6
    assert clear["text"].startswith("a has won: you may stop.")
    assert "at most 5 %" in clear["text"]
    early = judge_stopping(_told([1.0, 0.0] * 3), ["a", "b"], np.array([0.5, 0.5]))
    assert early["winner"] is None
    assert early["rivals"] == ["b"]


def test_how_many_more_users_it_takes_is_what_it_then_takes():
    """Rates 0.6 and 0.5 exactly, at even chances: foreseen from 400 users, and counted out."""
    pattern = [float(success) for i in range(10) for success in (i < 6, i < 5)]
    now = judge_stopping(_told(pattern * 20), ["a", "b"], np.array([0.5, 0.5]))
    assert now["winner"] is None
    counted = next(n for n in range(400, 20_000, 100) if _has_won(pattern, n))
    assert now["users_needed"] == pytest.approx(
        counted - 400, rel=0.2
    )  # it is sought in steps of 9 %, and told in two digits


def _has_won(pattern, n):
    return judge_stopping(_told(pattern * (n // 20)), ["a", "b"], np.array([0.5, 0.5]))["winner"] == "a"


def test_the_gain_against_the_hold_out_is_told_with_its_sequence():
    """Every fifth user is held out and gets 0, all others 1."""
    told = find_gain(_told([float(t % 5 != 0) for t in range(2000)]), has_holdout=True)
    assert told["value"] == pytest.approx(1.0)
    assert told["low"] > 0.9
    assert told["users"] == 1600
    assert "+1,600 in all. That is a gain." in told["text"]
    assert "no hold-out" in find_gain(Report(PlainSums("ab").sums), has_holdout=False)["text"]


def test_what_the_log_is_worth_to_the_next_start():
    """b is drawn with chance 0.05: 1,000 users leave it 50; a floor of 0.4 would leave it 200."""
    sums = PlainSums("ab")
    for t in range(1000):
        is_b = t % 20 == 0
        sums.add_decision(float(t), int(is_b), np.array([0.95, 0.05]))
        sums.add_outcome(float(t), int(is_b), 0.05 if is_b else 0.95, 0.0 if is_b else 1.0, is_holdout=False)
    config = read_experiment("ads", {"actions": ["a", "b"], "epsilon": 0.1})
    told = judge_next_log(Report(sums.sums), ["a", "b"], config)
    assert told["worth"] == {"a": 950, "b": 50}
    assert told["rarest"] == "b"
    assert [(each["epsilon"], each["rarest"]) for each in told["choices"]] == [(0.2, 100), (0.4, 200)]
    assert told["choices"][0]["cost"] == pytest.approx(0.1 * (0.95 - 0.5) / 0.9)
