"""Worlds drawn from a log: what is true in them, by what the log says and how it is wrong."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
from headstart.judgement.rehearsal.worlds import (
    SCENARIOS,
    Evidence,
    LogWorlds,
    draw_flattered,
    draw_right,
    draw_shifted,
    draw_slandered,
    gather_evidence,
)


def evidence_of(means: list[float], errors: list[float], *, is_binary: bool = False) -> Evidence:
    k = len(means)
    log = hs.Log(np.arange(k), np.zeros(k), n_actions=k)
    residuals = None if is_binary else tuple(np.array([-1.0, 1.0]) for _ in means)
    told = np.array(means), np.array(errors), np.ones(k), np.full(k, 1.0 / k)
    return Evidence(log, *told, float(np.mean(means)), residuals, None)


@pytest.mark.parametrize("is_binary", [False, True])
def test_a_right_log_is_right_within_its_errors(is_binary: bool):
    """4,000 draws: the mean's error is s / 63; the spread's s / sqrt(8000) = s / 89."""
    evidence = evidence_of([0.2, 0.5], [0.02, 0.05], is_binary=is_binary)
    rng = np.random.default_rng(0)
    draws = np.array([draw_right(evidence, rng) for _ in range(4000)])
    np.testing.assert_array_less(np.abs(draws.mean(axis=0) - evidence.means), 4 * evidence.errors / 63)
    np.testing.assert_array_less(np.abs(draws.std(axis=0) - evidence.errors), 4 * evidence.errors / 85)
    assert not is_binary or ((draws > 0.0) & (draws < 1.0)).all()


def test_scenarios_by_hand():
    """Errors of nearly nothing: means are 3, 2, 0. Shifted by half a standard deviation (1): 0.5 either way.
    Flattered: the first is as far below the second as it was above: 1. Slandered: 2 becomes 4, or 0 becomes 6."""
    evidence = evidence_of([3.0, 2.0, 0.0], [1e-9] * 3)
    rng = np.random.default_rng(0)
    shifts = {tuple(np.round(draw_shifted(evidence, rng) - evidence.means, 6)) for _ in range(20)}
    assert shifts == {(0.5, 0.5, 0.5), (-0.5, -0.5, -0.5)}
    np.testing.assert_allclose(draw_flattered(evidence, rng), [1.0, 2.0, 0.0], atol=1e-6)
    slandered = {tuple(np.round(draw_slandered(evidence, rng), 6)) for _ in range(20)}
    assert slandered == {(3.0, 4.0, 0.0), (3.0, 2.0, 6.0)}


def test_a_wrong_log_is_wrong_by_more_than_its_errors():
    """Two actions that seem alike, each with an error of 0.3: the flattered one is 2 sqrt(0.18) = 0.85 below."""
    drawn = draw_flattered(evidence_of([1.0, 1.0], [0.3, 0.3]), np.random.default_rng(3))
    assert drawn[1] - drawn[0] >= 2.0 * np.hypot(0.3, 0.3) - 1e-9


def test_rates_are_moved_in_log_odds():
    """Odds of 0.5 and 0.2 are 1 and 1/4: flattered, the first has odds of 1/16, a rate of 1/17."""
    drawn = draw_flattered(evidence_of([0.5, 0.2], [1e-7, 1e-7], is_binary=True), np.random.default_rng(0))
    np.testing.assert_allclose(drawn, [1 / 17, 0.2], rtol=1e-4)


def test_today_keeps_its_shares():
    """Today earns 1 a user with actions of 0.5 and 1.5 shown alike; if the second falls by 1, it earns 0.5."""
    evidence = evidence_of([0.5, 1.5], [0.1, 0.1])
    assert evidence.value_of_today(np.array([0.5, 1.5])) == pytest.approx(1.0)
    assert evidence.value_of_today(np.array([0.5, 0.5])) == pytest.approx(0.5)


def log_of(n: int, outcomes: str = "normal") -> hs.Log:
    rng = np.random.default_rng(5)
    x, a = rng.standard_normal(n), rng.integers(2, size=n)
    y = 0.5 + (2.0 * a - 1.0) * x + rng.standard_normal(n)
    return hs.Log(a, y if outcomes == "normal" else (y > 0.5) * 1.0, x[:, None], np.full(n, 0.5), n_actions=2)


def test_the_drawn_world_is_the_truth_of_the_same_stream():
    log = log_of(200)
    evidence = gather_evidence(log, hs.audit(log).summary, np.array([0]))
    for scenario in SCENARIOS:
        worlds = LogWorlds(evidence, scenario)
        truth = worlds.draw_truth(np.random.default_rng(7))
        np.testing.assert_array_equal(truth.means, worlds.draw(np.random.default_rng(7)).kernel_state.means)


@pytest.mark.parametrize("outcomes", ["normal", "binary"])
def test_users_differ_as_the_log_says(outcomes: str):
    """Slopes of -1 and +1 around equal means: each user's best action is told by the sign of x, and is worth more
    than the best for all. A slope's error is 0.05, so that users beyond 0.3 are six errors from doubt."""
    log = log_of(2000, outcomes)
    evidence = gather_evidence(log, hs.audit(log).summary, np.array([0]))
    drawn = LogWorlds(evidence, SCENARIOS[0]).draw(np.random.default_rng(0))
    for _ in range(50):
        x = float(drawn.draw_user()[0])
        if abs(x) > 0.3:
            assert np.argmax(drawn.expected_outcomes()) == (x > 0)


def test_an_action_that_was_never_shown_is_drawn_around_the_others():
    log = hs.Log([0, 1] * 50, [1.0, 2.0, 3.0, 4.0] * 25, n_actions=3)
    evidence = gather_evidence(log, hs.audit(log).summary, None)
    assert np.isfinite(evidence.means).all()
    assert np.isfinite(evidence.errors).all()
    assert evidence.means[2] == pytest.approx(evidence.means[:2].mean())
    assert evidence.errors[2] > evidence.errors[:2].max()
