"""The tipping point, the E-value and the benchmarks, each against a truth that is known."""

import numpy as np
import pytest

from headstart.judgement.audit.audit import audit
from headstart.judgement.audit.checks.sensitivity import e_value, robustness_value
from headstart.logs.log import Log

TRUE_LEAD = 0.2  # of action 1 over action 0, without the confounder
STRENGTH = 0.6  # of the hidden confounder in the choice: P(A = 1 | u) = (1 +- 0.6) / 2


def hidden_confounder(effect, n=40_000, seed=0):
    """u is 0 or 1 by a coin and is not in the log; it adds `effect` to the outcome and draws towards action 1.

    P(u = 1 | A = 1) = (1 + 0.6) / 2 and P(u = 1 | A = 0) = (1 - 0.6) / 2, so the biases are delta_1 = 0.3 effect and
    delta_0 = -0.3 effect. The log says that both actions had a chance of 1/2, which is true of anybody whose u is
    not known.
    """
    rng = np.random.default_rng([seed, int(1000 * abs(effect))])
    u = rng.integers(2, size=n)
    actions = (rng.random(n) < 0.5 + STRENGTH * (u - 0.5)).astype(int)
    outcomes = TRUE_LEAD * actions + effect * u + rng.standard_normal(n)
    return Log(actions, outcomes, rng.standard_normal((n, 2)), np.full(n, 0.5), n_actions=2)


@pytest.mark.parametrize("effect", [-0.1, 0.2, 0.5, 1.0])
def test_the_tipping_point_is_the_bias_that_turns_the_decision(effect):
    """With biases delta the log shows the lead D = 0.2 + delta_1 - delta_0; bias beyond D turns the decision.

    D is 0.14 to 0.8. Its standard error at n = 40,000 is below sqrt(2 x 1.25 / 20,000) = 0.0112, so four of them are
    0.045: within 10 % for D >= 0.45, and for the smaller ones n is what makes it so: 16 (2.1 / D^2) / 0.01 rows.
    """
    truth = TRUE_LEAD + STRENGTH * effect
    n = max(40_000, int(16 * 4 * 1.25 / (0.1 * truth) ** 2))
    found = audit(hidden_confounder(effect, n), n_sample=1000).sensitivity  # the lead is of all rows
    assert found.tipping == pytest.approx(truth, rel=0.1)
    assert found.useless < found.tipping


@pytest.mark.parametrize("effect", [-0.8, -0.5, -0.2, 0.0, 0.5, 1.0])
def test_beyond_the_tipping_point_the_log_s_best_action_is_not_the_best(effect):
    """Theorem 5's condition, checked: the bias in favour of the log's best is above D exactly if it is not the best.

    Effects are so far from the border, -1/3, that the lead is at least 0.08: seven standard errors.
    """
    found = audit(hidden_confounder(effect), n_sample=1000)
    favoured = found.actions.best
    bias = (STRENGTH if favoured == 1 else -STRENGTH) * effect
    assert (bias > found.sensitivity.tipping) == (favoured != 1)


def test_e_value_as_published():
    """VanderWeele and Ding (2017): risk ratio 3.9, E-value 7.26; its limit 1.8, 3.0. Below 1 it is turned over."""
    assert e_value(3.9) == pytest.approx(7.26, abs=0.005)
    assert e_value(1.8) == pytest.approx(3.0, abs=0.005)
    assert e_value(1 / 3.9) == pytest.approx(e_value(3.9))
    assert e_value(1.0) == 1.0


def test_a_confounder_of_the_e_value_s_strength_can_explain_the_ratio_away():
    """The largest ratio that one with both risk ratios E makes is E^2 / (2 E - 1) (Ding and VanderWeele 2016)."""
    strength = e_value(2.5)
    assert strength**2 / (2 * strength - 1) == pytest.approx(2.5)


def test_the_e_value_of_a_log_by_hand():
    """Success rates 0.6 and 0.3 of 1,000 rows each: RR = 2, E = 2 + sqrt(2). Its limit: ln 2 - 1.96 s.e.,
    s.e.^2 = (1/600 - 1/1000 + 1/300 - 1/1000) x 1000 / 999."""
    outcomes = np.r_[np.ones(600), np.zeros(400), np.ones(300), np.zeros(700)]
    found = audit(Log(np.repeat([0, 1], 1000), outcomes, propensities=[0.5] * 2000)).sensitivity
    assert found.e_value_scale == "risk ratio"
    assert found.e_value == pytest.approx(2 + np.sqrt(2))
    error = np.sqrt((1 / 600 + 1 / 300 - 2 / 1000) * 1000 / 999)
    assert found.e_value_low == pytest.approx(e_value(np.exp(np.log(2) - 1.959964 * error)), rel=1e-6)


def test_robustness_value_as_published():
    """Cinelli and Hazlett (2020), Darfur: t = 4.18 on 783 degrees of freedom has a robustness value of 13.9 %."""
    assert robustness_value(4.18**2 / 783) == pytest.approx(0.139, abs=0.0005)


def test_leaving_out_a_confounder_shows_the_bias_that_it_would_cause():
    """y = 0.5 a + 0.8 x + noise and A = 1 where x + noise > 0: without x the slope of a gains
    0.8 (E[x | 1] - E[x | 0]) = 0.8 x 2 x sqrt(1 / pi), as x + noise has variance 2. s.e. at 20,000 rows 0.02."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20_000, 2))
    actions = (x[:, 0] + rng.standard_normal(20_000) > 0).astype(int)
    outcomes = 0.5 * actions + 0.8 * x[:, 0] + rng.standard_normal(20_000)
    found = audit(Log(actions, outcomes, x, context_names=["age", "noise"], n_actions=2)).sensitivity
    assert found.benchmarks[0].column == "age"
    assert found.benchmarks[0].bias == pytest.approx(1.6 / np.sqrt(np.pi), abs=0.08)
    assert abs(found.benchmarks[1].bias) < 0.01
    assert found.observed_bias == pytest.approx(1.6 / np.sqrt(np.pi), abs=0.15)


def test_a_categorical_column_is_left_out_whole():
    rng = np.random.default_rng(0)
    city = rng.choice(["Oslo", "Paris", "Rome"], 3000)
    actions = (rng.random(3000) < np.where(city == "Oslo", 0.8, 0.3)).astype(int)
    outcomes = actions + 2.0 * (city == "Oslo") + rng.standard_normal(3000)
    log = Log(actions, outcomes, {"city": city, "age": rng.random(3000)}, n_actions=2)
    assert [benchmark.column for benchmark in audit(log).sensitivity.benchmarks] == ["city", "age"]


def test_every_rival_has_its_own_tipping_point():
    rng = np.random.default_rng(0)
    actions = rng.integers(3, size=6000)
    log = Log(actions, actions + rng.standard_normal(6000), propensities=[1 / 3] * 6000, n_actions=3)
    rivals = audit(log).sensitivity.rivals
    assert [rival.name for rival in rivals] == [1, 0]
    assert [rival.tipping for rival in rivals] == pytest.approx([1.0, 2.0], abs=0.13)  # four s.e. of 0.032


def test_any_rival_may_tip_the_lead():
    """Of three actions the third is far behind, but wealth draws to the best and away from it alone: left out, it
    moves that difference by 2 E|z| * slope, and the one to the second hardly."""
    rng = np.random.default_rng(0)
    n = 12_000
    wealth = rng.standard_normal(n)
    scores = np.column_stack([np.zeros(n), 1.5 * wealth, -1.5 * wealth])
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    actions = (rng.random((n, 1)) > chances.cumsum(axis=1)).sum(axis=1)
    outcomes = np.array([0.1, 0.5, -0.1])[actions] + wealth + rng.standard_normal(n)
    found = audit(Log(actions, outcomes, {"wealth": wealth, "noise": rng.standard_normal(n)}, n_actions=3))
    rivals = {rival.name: rival for rival in found.sensitivity.rivals}
    assert abs(rivals[2].bias) > abs(rivals[0].bias)
    assert rivals[2].column == "wealth"
    assert rivals[2] in found.sensitivity.tipped
    assert "tipping point" in [reason.rule for reason in found.verdict.reasons]


def test_a_bias_is_what_moves_an_action_against_the_others():
    """Action 1 is drawn by wealth, action 0 by nothing but what is left: leaving wealth out moves 1 up and 0 down, by
    as much against each other."""
    rng = np.random.default_rng(1)
    wealth = rng.standard_normal(20_000)
    actions = (wealth + rng.standard_normal(20_000) > 1.0).astype(int)
    outcomes = 0.5 * wealth + rng.standard_normal(20_000)
    found = audit(Log(actions, outcomes, wealth[:, None], context_names=["wealth"], n_actions=2)).sensitivity
    apart = 0.5 * (wealth[actions == 1].mean() - wealth[actions == 0].mean())
    assert found.biases == pytest.approx([apart, apart], rel=0.1)
