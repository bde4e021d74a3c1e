"""The paper's synthetic world: truth in closed form, a policy by hand, a log drawn with the stated chances."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import headstart as hs
from headstart.errors import ContextError, OptionError
from headstart.worlds import Synthetic

FALSE_ALARM = 1e-6
KINDS = ["linear", "sigmoid", "binary", "steps"]


def slow_mean(kind: str, theta: np.ndarray, base: float, phi: np.ndarray) -> float:
    s = 1 / (1 + math.exp(-float(theta @ phi)))
    return {
        "linear": float(theta @ phi) + base,
        "sigmoid": s + base,
        "binary": min(max(s + (1 - s) * base, 0.0), 1.0),
        "steps": float(np.mean(theta > phi)) + base,
    }[kind]


def slow_policy(kind: str, theta: np.ndarray, bases: np.ndarray, rho: float, user: np.ndarray) -> np.ndarray:
    """softmax over a of rho (f(x, a) - b_a)(b_a - b_(a+1 mod K)), line by line."""
    k, width = bases.size, theta.size
    scores = [
        rho
        * (slow_mean(kind, theta, bases[a], user[a * width : (a + 1) * width]) - bases[a])
        * (bases[a] - bases[(a + 1) % k])
        for a in range(k)
    ]
    return np.exp(scores) / np.exp(scores).sum()


def test_the_logging_policy_of_one_user_by_hand():
    """K = 2, theta = (1), b = (0, 1/2), rho = -1, x = (0.2, -0.4): f - b is 0.2 and -0.4, b_0 - b_1 = -0.5 and
    b_1 - b_0 = 0.5, so the scores are 0.1 and 0.2: chances 1 / (1 + e^0.1) and its rest.
    """
    world = Synthetic(n_actions=2, n_features=2, n_log=5).draw(np.random.default_rng(0))
    world.population.kernel_state = world.population.kernel_state._replace(theta=np.array([1.0]))
    p = 1 / (1 + math.exp(0.1))
    np.testing.assert_allclose(world.population([0.2, -0.4]), [p, 1 - p], rtol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_the_log_is_its_slow_twin(kind: str):
    """Every logged propensity is the slow policy's; every outcome without noise is the slow mean."""
    world = Synthetic(n_actions=3, n_log=50, outcome=kind, rho=-2.0).draw(np.random.default_rng(1))
    state, log = world.kernel_state, world.log
    for i in range(50):
        user, a = log.contexts[i], log.actions[i]
        np.testing.assert_allclose(
            log.propensity_matrix[i], slow_policy(kind, state.theta, state.bases, -2.0, user), rtol=1e-12
        )
        mean = slow_mean(kind, state.theta, state.bases[a], user[2 * a : 2 * a + 2])
        if kind == "binary":
            assert log.outcomes[i] in (0.0, 1.0)
        else:
            assert log.outcomes[i] == pytest.approx(mean, rel=1e-12)
        np.testing.assert_allclose(world.population(user), log.propensity_matrix[i], rtol=1e-14)
    np.testing.assert_array_equal(state.bases, [0.0, 0.5, 1.0])
    assert log.contexts.min() >= -1.0
    assert log.contexts.max() <= 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_closed_form_means_are_the_population_s(kind: str):
    """10,000 users: the mean outcome of each action within 5.33 standard errors (1e-7 each) of the stated one."""
    world = Synthetic(n_actions=3, n_log=1, outcome=kind, step=0.75).draw(np.random.default_rng(2))
    truth = world.expected_outcomes()
    users = np.random.default_rng(3).uniform(-1, 1, (10_000, 6))
    state = world.kernel_state
    for a in range(3):
        outcomes = [slow_mean(kind, state.theta, state.bases[a], user[2 * a : 2 * a + 2]) for user in users]
        error = np.std(outcomes) / np.sqrt(10_000)
        assert abs(np.mean(outcomes) - truth[a]) <= 5.33 * error + 1e-12


def test_a_stream_of_users_has_the_stated_outcomes():
    """Binary clicks of 5,000 users per action: 5.33 standard errors (1e-7)."""
    world = Synthetic(n_actions=2, n_log=1, outcome="binary").draw(np.random.default_rng(4))
    for action in range(2):
        clicks = []
        for _ in range(5000):
            world.draw_user()
            clicks.append(world.draw_outcome(action))
        p = world.expected_outcomes()[action]
        assert abs(np.mean(clicks) - p) < 5.33 * math.sqrt(p * (1 - p) / 5000)


def test_actions_are_drawn_with_the_logged_propensities():
    """20,000 rows in 10 bins of P(A = 0): observed against expected counts, chi-square with 10 degrees, 1e-6."""
    log = Synthetic(n_actions=2, n_log=20_000, rho=-8.0).draw(np.random.default_rng(5)).log
    p = log.propensity_matrix[:, 0]
    bins = np.digitize(p, np.quantile(p, np.linspace(0.1, 0.9, 9)))
    observed = np.bincount(bins, log.actions == 0)
    expected, variance = np.bincount(bins, p), np.bincount(bins, p * (1 - p))
    assert ((observed - expected) ** 2 / variance).sum() < stats.chi2.isf(FALSE_ALARM, 10)


def test_contextual_regret_is_against_the_user_s_own_best():
    world = Synthetic(n_actions=2, n_log=1, is_contextual=True).draw(np.random.default_rng(6))
    user = world.draw_user()
    theta = world.kernel_state.theta
    expected = [slow_mean("linear", theta, 0.5 * a, user[2 * a : 2 * a + 2]) for a in range(2)]
    np.testing.assert_allclose(world.expected_outcomes(), expected, rtol=1e-12)
    assert world.draw_outcome(1) == pytest.approx(expected[1], rel=1e-12)


def test_hidden_columns_are_in_neither_log_nor_stream_but_in_the_outcomes():
    shown = Synthetic(n_actions=2, n_features=8, n_log=30).draw(np.random.default_rng(7))
    hidden = Synthetic(n_actions=2, n_features=8, n_log=30, n_hidden=3).draw(np.random.default_rng(7))
    assert hidden.log.n_features == hidden.n_features == hidden.population.n_features == 5
    assert hidden.draw_user().shape == (5,)
    visible = hidden.kernel_state.visible
    assert visible.size == 5
    assert (np.diff(visible) > 0).all()
    np.testing.assert_array_equal(hidden.draw_user(), hidden.kernel_state.user[visible])
    assert shown.log.n_features == 8
    different = {
        tuple(
            Synthetic(n_actions=2, n_features=8, n_log=1, n_hidden=3)
            .draw(np.random.default_rng(s))
            .kernel_state.visible.tolist()
        )
        for s in range(20)
    }
    assert len(different) > 10  # another choice in each draw


def test_the_policy_of_a_world_with_hidden_columns_is_refused():
    world = Synthetic(n_actions=2, n_log=5, n_hidden=1).draw(np.random.default_rng(8))
    with pytest.raises(OptionError, match="the logging policy of a world with hidden columns is no function"):
        world.population([0.0, 0.0, 0.0])
    with pytest.raises(ContextError, match=r"context must be 4 numbers, got shape \(1,\)"):
        Synthetic(n_actions=2, n_log=5).draw(np.random.default_rng(8)).population([0.0])


def test_bias_moves_the_logged_outcomes_of_action_0_and_nothing_else():
    plain = Synthetic(n_actions=2, n_log=40).draw(np.random.default_rng(9))
    biased = Synthetic(n_actions=2, n_log=40, bias=0.3).draw(np.random.default_rng(9))
    moved = biased.log.outcomes - plain.log.outcomes
    np.testing.assert_allclose(moved, np.where(plain.log.actions == 0, 0.3, 0.0), atol=1e-15)
    np.testing.assert_array_equal(biased.log.actions, plain.log.actions)
    np.testing.assert_array_equal(biased.expected_outcomes(), plain.expected_outcomes())


def test_each_draw_has_its_own_theta_and_the_same_seed_the_same_world():
    one, again, other = (Synthetic(n_log=10).draw(np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.log.outcomes, again.log.outcomes)
    np.testing.assert_array_equal(one.draw_user(), again.draw_user())
    assert (one.kernel_state.theta != other.kernel_state.theta).all()


@pytest.mark.parametrize("settings", [{}, {"n_hidden": 2}, {"logged_chances": (0.2, 0.7)}])
def test_a_drawn_log_is_the_log_of_its_arrays(settings: dict):
    """Nothing of it is checked, and its encoding is found late: both as if it had come from outside."""
    drawn = Synthetic(n_log=50, **settings).draw(np.random.default_rng(1)).log
    checked = hs.Log(drawn.actions, drawn.outcomes, drawn.contexts, drawn.propensity_matrix, n_actions=3)
    half = drawn.take(np.arange(25))  # before anybody asked for the encoding
    assert vars(drawn).keys() - {"_drawn_contexts"} == vars(checked).keys() - {"encoding"}
    for name in ("actions", "outcomes", "contexts", "propensities", "propensity_matrix"):
        mine, theirs = getattr(drawn, name), getattr(checked, name)
        np.testing.assert_array_equal(mine, theirs)
        assert (mine.dtype, mine.flags.writeable) == (theirs.dtype, False)
    for name in ("action_names", "context_names", "n_actions", "n_features", "encoding", "units", "times", "reading"):
        assert getattr(drawn, name) == getattr(checked, name)
    assert drawn.encoding.means == checked.encoding.means == half.encoding.means
    assert drawn.action_index(2) == 2
    assert repr(drawn) == repr(checked)


def test_again_is_the_same_stream_and_the_same_population():
    world = Synthetic(n_log=10).draw(np.random.default_rng(1))
    twin = world.again()
    users = [world.draw_user().tolist() for _ in range(5)]
    assert [twin.draw_user().tolist() for _ in range(5)] == users
    policy = hs.WarmStart(hs.UCB(3), hs.ExactMatching(world.log, rng=0), contexts=world.population)
    policy.play(users[0])
    np.testing.assert_array_equal(twin.again().population.kernel_state.rng, twin.population.kernel_state.rng)
    assert (world.population.kernel_state.rng != twin.population.kernel_state.rng).any()


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"n_actions": 1}, "n_features must be a multiple of n_actions >= 2, got 2 and 1"),
        ({"n_actions": 3, "n_features": 4}, "n_features must be a multiple of n_actions >= 2, got 4 and 3"),
        ({"n_features": 0}, "n_features must be a multiple of n_actions >= 2, got 0 and 3"),
        ({"outcome": "cubic"}, "outcome must be one of linear, sigmoid, binary, steps, got 'cubic'"),
        ({"n_hidden": 6}, r"n_hidden must be in 0\.\.5, got 6"),
        ({"n_log": 0}, "n_log must be at least 1, got 0"),
        ({"outcome": "binary", "step": -0.5}, r"step must be at least 0 for a binary outcome, got -0\.5"),
    ],
)
def test_rejects_settings_outside_their_range(settings: dict, text: str):
    with pytest.raises(OptionError, match=text):
        Synthetic(**settings)
