from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from scipy import stats

from headstart import features
from headstart.errors import ContextError, OptionError
from headstart.kernels import compiled
from headstart.kernels.choice import NORMAL, probability_of_best
from headstart.kernels.joint import joint_probability_of_best
from headstart.oracles import LinThompson, LinUCB
from headstart.testing import check_oracle

MAPS = {
    "disjoint": features.disjoint(3, 6),
    "blocks": features.blocks(3, 6),
    "products": features.products(6, [[1.0, 0.0], [0.5, 0.5], [0.0, 2.0]]),
}


def taught(oracle, n: int, rng: np.random.Generator):
    for _ in range(n):
        oracle.update(rng.normal(size=oracle.n_features), int(rng.integers(oracle.n_actions)), rng.normal())
    return oracle


def joint(means, loadings):
    """The chances and their stated standard error."""
    out = np.empty(len(means))
    error = compiled(joint_probability_of_best)(np.asarray(means), np.array(loadings), out)
    return out, error


@pytest.mark.parametrize("name", MAPS)
def test_statistics_are_linucbs(name):
    first = taught(LinThompson(3, 6, features=MAPS[name], rng=1), 50, np.random.default_rng(1))
    second = taught(LinUCB(3, 6, features=MAPS[name]), 50, np.random.default_rng(1))
    np.testing.assert_array_equal(first.theta, second.theta)
    np.testing.assert_array_equal(first.inverses, second.inverses)


def test_two_disjoint_actions_by_hand():
    """x = 1: action 0, played once with y = 2, draws from N(1, 1/2), action 1 from N(0, 1):
    P(0) = Phi(1 / sqrt(3/2))."""
    oracle = LinThompson(2, 1, rng=1)
    oracle.update([1.0], 0, 2.0)
    expected = stats.norm.cdf(1 / math.sqrt(1.5))
    np.testing.assert_allclose(oracle.probabilities([1.0]), [expected, 1 - expected], atol=1e-9)


def test_two_actions_with_one_theta_by_hand():
    """phi = x_a, V = 1 + 1, theta = 1: at x = (1, 3) the difference of the scores, 2 theta, is N(2, 4 scale^2 / 2),
    so with scale 3 P(1) = Phi(2 / (3 sqrt(2)))."""
    oracle = LinThompson(2, 2, scale=3.0, features=features.blocks(2, 2), rng=1)
    oracle.update([1.0, 0.0], 0, 2.0)
    expected = stats.norm.cdf(2 / (3 * math.sqrt(2)))
    np.testing.assert_allclose(oracle.probabilities([1.0, 3.0]), [1 - expected, expected], atol=1e-14)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("available", [None, [0, 2]])
def test_probabilities_are_the_frequencies_of_play(name, available):
    """Chi-square over 20,000 plays; false alarm 1e-4 for each of the six."""
    rng = np.random.default_rng(2)
    oracle = taught(LinThompson(3, 6, features=MAPS[name], rng=3), 30, rng)
    x, n = rng.normal(size=6), 20_000
    chances = oracle.probabilities(x, available)
    counts = np.bincount([oracle.play(x, available) for _ in range(n)], minlength=3)
    some = chances > 0
    assert counts[~some].sum() == 0
    assert stats.chisquare(counts[some], n * chances[some]).pvalue > 1e-4


def test_draws_have_the_posteriors_covariance():
    """theta's draws through plays of a single action cannot be seen, so through its factor: S S' = V^-1."""
    oracle = taught(LinThompson(1, 4, rng=4), 20, np.random.default_rng(4))
    factor = oracle.kernel_state.ridge.factors[0, :4, :4]
    np.testing.assert_array_equal(factor, np.tril(factor))
    np.testing.assert_allclose(factor @ factor.T, oracle.inverses[0], rtol=1e-14)


@pytest.mark.parametrize("n_actions", [2, 3, 5, 10])
def test_correlated_chances_of_independent_scores(n_actions):
    """The lattice on scores that happen to be independent, against quadrature (1e-9).

    The stated error is a standard error over eight shifts: ten of it is a false alarm of 2e-5 (t with 7 degrees).
    """
    rng = np.random.default_rng(5)
    for _ in range(5):
        means, widths = 0.5 * rng.normal(size=n_actions), rng.uniform(0.3, 1.0, n_actions)
        chances, error = joint(means, np.diag(widths))
        expected = np.empty(n_actions)
        compiled(probability_of_best)(NORMAL, means, widths, np.ones(n_actions, dtype=np.bool_), expected)
        assert error <= 1e-4 or n_actions > 3
        assert error < 1e-3
        assert abs(chances.sum() - 1.0) < 1e-12
        assert np.abs(chances - expected).max() < 10 * error + 1e-9


def test_correlated_chances_of_three_scores():
    """Three scores with correlated noise, against scipy's bivariate normal (1e-8) of the two differences."""
    rng = np.random.default_rng(6)
    means, loadings = rng.normal(size=3), rng.normal(size=(3, 3))
    chances, error = joint(means, loadings)
    for a in range(3):
        others = [b for b in range(3) if b != a]
        differences = loadings[others] - loadings[a]
        expected = stats.multivariate_normal(means[others] - means[a], differences @ differences.T).cdf([0.0, 0.0])
        assert abs(chances[a] - expected) < 10 * error + 1e-8


def test_scores_that_share_everything_are_decided_by_their_means():
    chances, error = joint([1.0, 2.0, 2.0], np.ones((3, 2)))
    np.testing.assert_array_equal(chances, [0.0, 1.0, 0.0])
    assert error == 0.0


def test_relabelling_actions_permutes_the_chances():
    rng = np.random.default_rng(7)
    means, loadings, order = rng.normal(size=6), rng.normal(size=(6, 4)), rng.permutation(6)
    np.testing.assert_allclose(joint(means[order], loadings[order])[0], joint(means, loadings)[0][order], atol=1e-10)


def test_zero_context_is_certain():
    for phi in (None, features.blocks(2, 4)):
        oracle = LinThompson(2, 4, features=phi, rng=1)
        np.testing.assert_array_equal(oracle.probabilities(np.zeros(4)), [1.0, 0.0])
        assert {oracle.play(np.zeros(4)) for _ in range(20)} == {0}


def test_same_seed_same_plays_and_a_copy_has_the_same_future():
    x = [1.0, 0.5, -1.0]
    first, second = LinThompson(3, 3, rng=8), LinThompson(3, 3, rng=8)
    assert [first.play(x) for _ in range(30)] == [second.play(x) for _ in range(30)]
    twins = [first.copy(), pickle.loads(pickle.dumps(first))]
    future = [first.play(x) for _ in range(30)]
    for twin in twins:
        assert [twin.play(x) for _ in range(30)] == future


def test_a_python_function_gives_the_same_as_its_table():
    table = features.blocks(2, 4)
    function = features.FeatureFunction(lambda x, a: x[2 * a : 2 * a + 2], 2, 4, 2)
    first, second = (LinThompson(2, 4, features=phi, rng=9) for phi in (table, function))
    rng = np.random.default_rng(9)
    for x in rng.normal(size=(50, 4)):
        np.testing.assert_array_equal(first.probabilities(x), second.probabilities(x))
        action = first.play(x)
        assert action == second.play(x)
        for oracle in (first, second):
            oracle.update(x, action, x[0])


@pytest.mark.parametrize("name", MAPS)
def test_it_conforms(name):
    check_oracle(lambda: LinThompson(3, 6, features=MAPS[name], rng=1))


def test_rejects_what_it_cannot_mean():
    with pytest.raises(OptionError, match="scale must be"):
        LinThompson(2, 3, scale=0.0)
    with pytest.raises(ContextError, match="context must be 3 numbers"):
        LinThompson(2, 3).probabilities([1.0])
