"""ThompsonNormal: mean and variance unknown, any scale."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import headstart as hs
from headstart.errors import OptionError
from headstart.oracles import UCB, ThompsonNormal
from headstart.testing import check_oracle


def taught(outcomes: dict[int, list[float]], **settings) -> ThompsonNormal:
    oracle = ThompsonNormal(len(outcomes), rng=1, **settings)
    for action, values in outcomes.items():
        for value in values:
            oracle.update(None, action, value)
    return oracle


def test_posteriors_by_hand():
    """Action 0: 1, 3; action 1: 2, 2, 5. Within: 2 + 6 = 8; around the mean 13/5 of all: 9.2. Pooled variance
    (8 + 9.2 / 5) / (5 - 2 + 1) = 2.46. With pooling 4: v_0 = (2 + 4 * 2.46) / 6, scale sqrt(v_0 / 2), t with 6
    degrees; v_1 = (6 + 4 * 2.46) / 7, scale sqrt(v_1 / 3), t with 7."""
    oracle = taught({0: [1.0, 3.0], 1: [2.0, 2.0, 5.0]}, pooling=4.0)
    first = stats.t(6, 2.0, math.sqrt((2 + 4 * 2.46) / 6 / 2))
    second = stats.t(7, 3.0, math.sqrt((6 + 4 * 2.46) / 7 / 3))
    _, means, lower, upper = oracle.readings()
    np.testing.assert_allclose(means, [2.0, 3.0], rtol=1e-14)
    np.testing.assert_allclose(lower, [first.ppf(0.025), second.ppf(0.025)], rtol=1e-12)
    np.testing.assert_allclose(upper, [first.ppf(0.975), second.ppf(0.975)], rtol=1e-12)
    x = np.concatenate([np.linspace(-200, -20, 20_001), np.linspace(-20, 25, 200_001), np.linspace(25, 200, 20_001)])
    expected = np.trapezoid(second.pdf(x) * first.cdf(x), x)
    np.testing.assert_allclose(oracle.probabilities(), [1 - expected, expected], atol=1e-6)


def test_probabilities_are_the_frequencies_of_play():
    """Chi-square over 50,000 plays; false alarm 1e-4 each."""
    oracle = taught({0: [0.0, 1.0, 0.0], 1: [1.0, 0.0], 2: [0.0, 0.0, 0.0, 1.0]})
    for available in (None, [0, 2]):
        p = oracle.probabilities(None, available)
        counts = np.bincount([oracle.play(None, available) for _ in range(50_000)], minlength=3)
        some = p > 0
        assert counts[~some].sum() == 0
        assert stats.chisquare(counts[some], 50_000 * p[some]).pvalue > 1e-4


def test_every_action_is_first_played_twice_in_random_order():
    oracle = ThompsonNormal(3, rng=2)
    np.testing.assert_allclose(oracle.probabilities(), [1 / 3] * 3)
    oracle.update(None, 1, 5.0)
    oracle.update(None, 1, 6.0)
    np.testing.assert_allclose(oracle.probabilities(), [0.5, 0.0, 0.5])
    np.testing.assert_allclose(oracle.probabilities(None, [1]), [0.0, 1.0, 0.0])


def test_equal_outcomes_everywhere_say_nothing():
    for value in (0.0, 0.1, 1e9):
        oracle = taught({0: [value] * 50, 1: [value] * 3})
        np.testing.assert_allclose(oracle.probabilities(), [0.5, 0.5])


def test_two_failures_do_not_freeze_an_action_out():
    """Action 0 failed twice, action 1 succeeded 3 of 4 times. Beta posteriors give action 0 a chance of 8 %."""
    oracle = taught({0: [0.0, 0.0], 1: [1.0, 1.0, 0.0, 1.0]})
    chance = oracle.probabilities()[0]
    assert 0.02 < chance < 0.5


@pytest.mark.parametrize(("scale", "shift"), [(1e6, 0.0), (1e-6, 0.0), (1.0, 1e5), (250.0, -3000.0)])
def test_the_scale_and_the_zero_of_outcomes_do_not_matter(scale: float, shift: float):
    values = {0: [0.25, 1.5, -0.75], 1: [0.5, 0.5, 1.25], 2: [2.0, -1.0]}
    changed = {a: [shift + scale * y for y in some] for a, some in values.items()}
    np.testing.assert_allclose(taught(changed).probabilities(), taught(values).probabilities(), atol=1e-8)


def test_it_plays_on_dollars_as_on_cents():
    """The same seed makes the same choices whatever the currency (powers of two: no rounding)."""
    plays = []
    for scale in (1.0, 4096.0):
        oracle, rng = ThompsonNormal(3, rng=5), np.random.default_rng(5)
        for _ in range(300):
            action = oracle.play()
            plays.append(action)
            oracle.update(None, action, scale * rng.normal(0.2 * action))
    assert plays[:300] == plays[300:]


def test_virtual_plays_carry_the_logs_variance():
    """Ten answers of 0.5 with variance 0.25 are ten outcomes of mean 0.5 and squared deviations 2.5."""
    oracle = ThompsonNormal(2, rng=1)
    for _ in range(10):
        oracle.absorb(None, 0, 0.5, 0.25)
    assert oracle.get_state()["tally.squares"][0] == pytest.approx(2.5, rel=1e-14)


@pytest.mark.parametrize("outcome", ["linear", "binary"])
def test_it_is_a_far_lower_bar_than_ucb(outcome: str):
    """The paper's world, K = 3, run by run: below UCB1's regret by more than 3 standard errors of the difference."""
    policies = {
        "normal": lambda world, log, rng: ThompsonNormal(world.n_actions, rng=rng),
        "ucb": lambda world, log, rng: UCB(world.n_actions),
    }
    world = hs.worlds.Synthetic(n_actions=3, n_log=10, outcome=outcome)
    curves = hs.simulate(world, policies, rounds=1000, runs=200, seed=1)
    gain = curves["ucb"].regrets[:, -1] - curves["normal"].regrets[:, -1]
    assert gain.mean() > 3 * gain.std(ddof=1) / math.sqrt(gain.size)


def test_it_conforms_and_rejects():
    check_oracle(lambda: ThompsonNormal(1, rng=1))
    with pytest.raises(OptionError, match="pooling must be"):
        ThompsonNormal(2, pooling=0.0)
    with pytest.raises(OptionError, match="first_plays must be at least 1"):
        ThompsonNormal(2, first_plays=0)
