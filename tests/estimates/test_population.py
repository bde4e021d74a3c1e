"""The right population: weights towards the users to come, and evaluators that answer for them."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

import headstart as hs
from headstart.errors import ContextError, OptionError
from headstart.estimates.population import as_population, find_shift, population_weights
from headstart.estimates.ridge import standardise


def shifted(rng: np.random.Generator, n: int = 600) -> tuple[hs.Log, np.ndarray]:
    """Users to come are one standard deviation to the right of the log's: x ~ N(1, 1) instead of N(0, 1). Outcomes
    are x + 0.5 and 2 x, in noise of 0.5, and the log's policy prefers action 1 where x is large."""
    x = rng.standard_normal((n, 2))
    p = 1 / (1 + np.exp(-x[:, 0]))
    actions = (rng.random(n) < p).astype(int)
    outcomes = np.where(actions == 1, 2 * x[:, 0], x[:, 0] + 0.5) + 0.5 * rng.standard_normal(n)
    users = rng.standard_normal((n, 2)) + np.array([1.0, 0.0])
    return hs.Log(actions, outcomes, x, np.column_stack([1 - p, p]), n_actions=2), users


OURS, THEIRS = np.array([0.5, 0.0]), np.array([1.5, 2.0])  # E[x + 0.5], E[2 x] for x ~ N(0, 1) and N(1, 1)
EVALUATORS = {
    "IPSW": lambda log, users: hs.IPSWeighting(log, population=users),
    "doubly robust": lambda log, users: hs.DoublyRobust(log, population=users),
    "balanced": lambda log, users: hs.BalancedWeighting(log, population=users),
    "regression": lambda log, users: hs.OutcomeModel(log, population=users),
}


@pytest.mark.parametrize("name", EVALUATORS)
def test_means_and_errors_are_the_users(name: str):
    """60 logs of 600 rows: the mean of the estimates lies within 5.33 standard errors of the truth for the users
    (1e-7 each if normal), plus what the method allows: the ratio's bias, of the order of its variance, and for the
    balancing ones the ridges, 1e-2. The log's own means, 1 and 2 away, are far outside. Standard errors are right to
    a third: that of 60 draws is known to 9 %, and weights of a tail of 600 rows promise no more.
    """
    rng = np.random.default_rng(11)
    means, errors = [], []
    for _ in range(60):
        log, users = shifted(rng)
        summary = EVALUATORS[name](log, users).summary()
        means.append(summary.means)
        errors.append(summary.standard_errors)
    spread = np.std(means, axis=0, ddof=1)
    allowed = 5.33 * spread / np.sqrt(60) + spread**2 + 1e-2
    if name == "IPSW":
        allowed += 0.1  # calibrated over all rows, not within an action
    assert (np.abs(np.mean(means, axis=0) - THEIRS) < allowed).all()
    assert (np.abs(np.mean(means, axis=0) - OURS) > 0.5).all()
    if name != "IPSW":
        ratio = np.sqrt(np.mean(np.square(errors), axis=0)) / spread
        assert (ratio > 0.67).all()
        assert (ratio < 1.8).all()


def test_the_log_s_own_people_change_nothing_much():
    """Weighted towards itself the log keeps its weights: ones."""
    log, _ = shifted(np.random.default_rng(1))
    np.testing.assert_allclose(population_weights(log, log), 1.0, atol=1e-6)
    np.testing.assert_allclose(hs.IPSWeighting(log, population=log).means, hs.IPSWeighting(log).means, atol=1e-6)


def test_population_weights_by_hand():
    """Half the log has x = 1, three quarters of the users: the weights are 1.5 and 0.5."""
    log = hs.Log([0, 0, 0, 0], [1.0, 1.0, 2.0, 2.0], [[1.0], [1.0], [0.0], [0.0]], propensities=[1.0] * 4)
    weights = population_weights(log, [[1.0], [1.0], [1.0], [0.0]], ridge=1e-12)
    np.testing.assert_allclose(weights, [1.5, 1.5, 0.5, 0.5], rtol=1e-6)
    evaluator = hs.IPSWeighting(log, population=[[1.0], [1.0], [1.0], [0.0]])
    np.testing.assert_allclose(evaluator.means, [1.25], atol=1e-3)


def test_matching_follows_the_context_generator():
    """Exact matching asked about users of whom three quarters have x = 1 answers for them, without being told more.

    Outcomes are x itself, so the mean of the answers is the share of x = 1 among the users: 0.75, not the log's 0.5.
    5 standard errors.
    """
    x = np.tile([0.0, 1.0], 2000)
    log = hs.Log(np.zeros(4000, int), x, x[:, None], propensities=np.ones(4000))
    users = np.array([[1.0], [1.0], [1.0], [0.0]])
    evaluator = hs.ExactMatching(log, rng=1)
    oracle = hs.UCB(1)
    policy = hs.WarmStart(oracle, evaluator, contexts=users, rng=2)
    policy.play(users[0])
    n = int(policy.virtual_plays[0])  # until the rows of x = 1 run out: some 2,000 / 0.75
    assert n > 2000
    assert abs(oracle.readings().means[0] - 0.75) < 5 * np.sqrt(0.75 * 0.25 / n)


def test_lalonde_s_users_are_not_the_survey_s():
    """The truth is 0.455 and 0.635; the survey's people without training earn 1.4.

    The truth lies within 3 standard errors for each action, and the survey's answer is more than 10 away.
    """
    world = hs.worlds.LaLonde()
    drawn = world.draw(np.random.default_rng(0)).log
    users = world.trial._state.contexts
    summary = hs.BalancedWeighting(drawn, population=users).summary()
    assert (np.abs(summary.means - world.trial.means) < 3 * summary.standard_errors).all()
    own = hs.BalancedWeighting(drawn).summary()
    assert own.means[0] - world.trial.means[0] > 10 * own.standard_errors[0]


def test_a_population_is_a_matrix_a_frame_a_mapping_or_a_log():
    log = hs.Log([0, 1, 0], [1.0, 2.0, 3.0], {"age": [1.0, 2.0, 3.0], "sex": ["f", "m", "f"]})
    expected = [[5.0, 1.0, 0.0], [6.0, 0.0, 1.0]]
    columns = {"sex": ["f", "m"], "age": [5.0, 6.0], "other": [0, 0]}
    for population in (expected, np.array(expected), columns, pandas.DataFrame(columns)):
        np.testing.assert_array_equal(as_population(population, log), expected)
    np.testing.assert_array_equal(as_population(log, log), log.contexts)
    bare = hs.Log([0, 1], [1.0, 2.0])
    assert as_population(np.empty((3, 0)), bare).shape == (3, 0)


@pytest.mark.parametrize(
    ("population", "message"),
    [
        ([[1.0, 2.0]], r"population must have the log's 1 context columns, got shape \(1, 2\)"),
        (np.empty((0, 1)), "population must have at least one row, got none"),
        ([[np.nan]], "population in row 0, column 'x0' must be finite, got nan"),
        ("people", "population must be a matrix of 1 numbers a row, a data frame or a Log, got str"),
        ({"y": [1.0]}, "population lacks the context column 'x0'; it has: y"),
        ({"x0": ["a"]}, "population column 'x0' must be numbers"),
        (hs.Log([0], [1.0], {"z": [1.0]}), r"population must have the log's columns \['x0'\], got \['z'\]"),
    ],
)
def test_a_population_of_another_kind_is_rejected(population, message: str):
    log = hs.Log([0, 1], [1.0, 2.0], [[0.0], [1.0]], propensities=[0.5, 0.5])
    for evaluator in EVALUATORS.values():
        with pytest.raises(ContextError, match=message):
            evaluator(log, population)


def test_a_category_that_the_log_never_shows_is_rejected():
    log = hs.Log([0, 1], [1.0, 2.0], {"sex": ["f", "m"]})
    with pytest.raises(ContextError, match="population column 'sex' in row 1 has the category 'x', which"):
        as_population({"sex": ["f", "x"]}, log)


def test_standardise_leaves_out_what_does_not_move():
    (standard,) = standardise(np.array([[1.0, 0.1], [3.0, 0.1], [5.0, 0.1]]))
    np.testing.assert_allclose(standard[:, 0], np.array([-1, 0, 1]) * np.sqrt(1.5))
    assert standard.shape == (3, 1)


def test_other_models_do_not_know_their_error():
    from sklearn.linear_model import Ridge

    log, _ = shifted(np.random.default_rng(0), 50)
    with pytest.raises(OptionError, match="DoublyRobust"):
        hs.OutcomeModel(log, Ridge()).summary()


def test_how_much_of_a_difference_is_believed_by_hand():
    """One column, -1 and 1 in turn (deviation 1); 4 users at 0.5 and a log of 12: T^2 = 0.25 / (1/4 + 1/12) = 0.75,
    below the 95 % point of chi-squared, 3.84: nothing. 400 users: T^2 = 0.25 / (1/400 + 1/12) = 2.91: nothing. And a
    log of 1,200 rows: T^2 = 0.25 / (1/400 + 1/1200) = 75: 1 - 3.84 / 75 of it."""
    log = np.tile([-1.0, 1.0], 6)[:, None]
    assert find_shift(log, np.full((4, 1), 0.5)) == 0.0
    assert find_shift(log, np.full((400, 1), 0.5)) == 0.0
    many = np.tile(log, (100, 1))
    assert find_shift(many, np.full((400, 1), 0.5)) == pytest.approx(1.0 - 3.841459 / 75.0)
    assert find_shift(many, np.full((400, 1), 0.5), np.arange(1200) // 100) == 0.0  # a hundred rows a unit


def test_the_log_s_own_people_cost_nothing_in_most_samples():
    """Believed to differ with chance 0.05: of 200 samples, 25 or more have a chance of 1 in 10,000. In the others the
    means are those without `population=`."""
    n_believed = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, 9])
        x = rng.standard_normal((300, 4))
        log = hs.Log(rng.integers(2, size=300), x[:, 0] + rng.standard_normal(300), x, np.full((300, 2), 0.5))
        users = rng.standard_normal((100, 4))
        shift = find_shift(x, users)
        n_believed += shift > 0.0
        if shift == 0.0 and seed < 10:
            np.testing.assert_array_equal(hs.DoublyRobust(log, population=users).means, hs.DoublyRobust(log).means)
    assert n_believed < 25


def test_columns_that_do_not_vary_are_no_difference():
    assert find_shift(np.ones((10, 2)), np.full((5, 2), 3.0)) == 0.0
    twice = np.tile(np.arange(10.0)[:, None], 2)
    one, two = find_shift(twice[:, :1], twice[:, :1] + 9.0), find_shift(twice, twice + 9.0)
    assert two == pytest.approx(one)
