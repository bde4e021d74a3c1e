"""ThompsonGaussian and ThompsonBeta."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

import headstart as hs
from headstart.errors import OutcomeError
from headstart.kernels import compiled
from headstart.kernels.choice import BETA, NORMAL
from tests.kernels.test_choice import reference
from tests.kernels.test_random import _fill_betas, reference_words


def test_gaussian_posteriors_by_hand():
    """scale 2: action 0 with outcomes 1, 3 is N(2, 4 / 3), action 1 without any is N(0, 4)."""
    oracle = hs.ThompsonGaussian(2, scale=2.0, rng=1)
    oracle.update(None, 0, 1.0)
    oracle.update(None, 0, 3.0)
    expected = stats.norm.cdf(2.0 / np.sqrt(4 / 3 + 4))
    np.testing.assert_allclose(oracle.probabilities(), [expected, 1 - expected], rtol=0, atol=1e-9)
    _, means, lower, upper = oracle.readings()
    assert means[0] == 2.0
    half = stats.norm.isf(0.025) * 2 / np.sqrt([3.0, 1.0])
    np.testing.assert_allclose(upper, [2.0 + half[0], half[1]], rtol=1e-12)
    np.testing.assert_allclose(lower, [2.0 - half[0], -half[1]], rtol=1e-12)


def test_a_gaussian_play_is_the_largest_of_its_draws():
    """The slow twin draws mean + scale / sqrt(n + 1) * z for each available action from the same words."""
    oracle = hs.ThompsonGaussian(3, scale=0.5, rng=4)
    for i in range(300):
        available = [0, 2] if i % 3 == 0 else [0, 1, 2]
        counts, means, _, _ = oracle.readings()
        words = reference_words(oracle.get_state()["rng"].tolist(), len(available))
        z = special.ndtri([((word >> 11) + 0.5) * 2.0**-53 for word in words])
        draws = np.where(counts > 0, means, 0.0)[available] + 0.5 / np.sqrt(counts[available] + 1) * z
        action = oracle.play(None, available)
        assert action == available[int(np.argmax(draws))]
        oracle.update(None, action, 0.1 * action)


def test_a_beta_play_is_the_largest_of_its_draws():
    """The same with Beta(1 + successes, 1 + failures)."""
    oracle = hs.ThompsonBeta(3, rng=4)
    for i in range(300):
        available = [0, 2] if i % 3 == 0 else [0, 1, 2]
        state, draws = oracle.get_state(), []
        for a in available:
            s, n = state["successes"][a], state["tally.counts"][a]
            draw = np.empty(1)
            compiled(_fill_betas)(state["rng"], s + 1.0, n - s + 1.0, draw)
            draws.append(draw[0])
        action = oracle.play(None, available)
        assert action == available[int(np.argmax(draws))]
        np.testing.assert_array_equal(oracle.get_state()["rng"], state["rng"])
        oracle.update(None, action, float(i % (action + 2) == 0))


def test_gaussian_chances_after_a_million_plays_of_one_action():
    oracle = hs.ThompsonGaussian(3, scale=0.25, rng=1)
    state = oracle.get_state()
    state["tally.counts"][:] = [1e6, 0.0, 10.0]
    state["tally.means"][:] = [0.3, 0.0, 0.2]
    oracle.set_state(state)
    expected = reference(NORMAL, [0.3, 0.0, 0.2], list(0.25 / np.sqrt([1e6 + 1, 1.0, 11.0])))
    np.testing.assert_allclose(oracle.probabilities(), expected, rtol=0, atol=1e-9)


def test_beta_posteriors_by_hand():
    """One success against no data: Beta(2, 1) against Beta(1, 1): P = E[B] = 2/3. A failure too: Beta(2, 2), 1/2."""
    oracle = hs.ThompsonBeta(2, rng=1)
    oracle.update(None, 0, 1.0)
    np.testing.assert_allclose(oracle.probabilities(), [2 / 3, 1 / 3], rtol=0, atol=1e-9)
    oracle.update(None, 0, 0.0)
    np.testing.assert_allclose(oracle.probabilities(), [0.5, 0.5], rtol=0, atol=1e-9)
    _, means, lower, upper = oracle.readings()
    assert means[0] == 0.5
    np.testing.assert_allclose([lower[0], upper[0]], stats.beta.interval(0.95, 2, 2), rtol=1e-12)
    np.testing.assert_allclose([lower[1], upper[1]], [0.025, 0.975], rtol=1e-12)


@pytest.mark.parametrize("successes", [0.0, 1e6, 5e5])
def test_beta_chances_after_a_million_plays_of_one_action(successes: float):
    oracle = hs.ThompsonBeta(2, rng=1)
    state = oracle.get_state()
    state["tally.counts"][:], state["successes"][:] = [1e6, 0.0], [successes, 0.0]
    oracle.set_state(state)
    expected = reference(BETA, [successes + 1, 1.0], [1e6 - successes + 1, 1.0])
    np.testing.assert_allclose(oracle.probabilities(), expected, rtol=0, atol=1e-9)


def test_an_outcome_between_counts_as_a_bernoulli_draw_of_it():
    """2,000 outcomes of 0.3: successes are Binomial(2000, 0.3); 4.89 standard deviations have false alarm 1e-6."""
    oracle = hs.ThompsonBeta(1, rng=3)
    for _ in range(2000):
        oracle.update(None, 0, 0.3)
    successes = oracle.get_state()["successes"][0]
    assert successes == int(successes)
    assert abs(successes - 600) < 4.89 * np.sqrt(2000 * 0.3 * 0.7)
    assert oracle.readings().means[0] == pytest.approx(0.3)


@pytest.mark.parametrize("outcome", [-1e-9, 1.0 + 1e-9, 2.0])
def test_an_outcome_outside_the_unit_interval_is_rejected(outcome: float):
    oracle = hs.ThompsonBeta(2, rng=1)
    before = oracle.get_state()
    with pytest.raises(OutcomeError, match=r"outcome must be in \[0, 1\] for ThompsonBeta, got"):
        oracle.update(None, 0, outcome)
    for key, value in oracle.get_state().items():
        np.testing.assert_array_equal(value, before[key])
