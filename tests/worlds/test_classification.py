from __future__ import annotations

import numpy as np
import pytest

from headstart import WarmStart, simulate
from headstart.errors import OptionError
from headstart.evaluators import LinearModel
from headstart.oracles import ABTest, LinUCB
from headstart.worlds import Classification


def test_digits_by_default():
    world = Classification(n_log=200)
    drawn = world.draw(np.random.default_rng(1))
    assert world.n_actions == drawn.n_actions == 10
    assert world.n_features == drawn.n_features == drawn.log.n_features == 65
    assert len(drawn.log) == 200
    assert set(drawn.log.outcomes) <= {0.0, 1.0}


def test_outcome_is_one_for_the_right_class_alone():
    drawn = Classification(n_log=10).draw(np.random.default_rng(2))
    for _ in range(20):
        drawn.draw_user()
        truth = drawn.expected_outcomes()
        assert sorted(truth) == [0.0] * 9 + [1.0]
        assert [drawn.draw_outcome(a) for a in range(10)] == truth.tolist()


def test_scaling_by_hand():
    """Column 0 is 0, 2, 0, 2: centred and scaled -1, 1, -1, 1, over sqrt(2). Column 1 is constant: 0. Then 1."""
    world = Classification([[0, 7], [2, 7], [0, 7], [2, 7]], ["a", "b", "a", "b"], n_log=50, trust=0.0)
    log = world.draw(np.random.default_rng(3)).log
    rows = {tuple(np.round(row, 12)) for row in log.contexts}
    half = round(1 / np.sqrt(2), 12)
    assert rows == {(-half, 0.0, 1.0), (half, 0.0, 1.0)}
    assert world.classes.tolist() == ["a", "b"]


def test_propensities_are_the_stated_mixture():
    """trust 0.6 over 10 classes: 0.64 for the classifier's guess and 0.04 for each of the others."""
    log = Classification(n_log=300, trust=0.6).draw(np.random.default_rng(4)).log
    np.testing.assert_allclose(np.sort(log.propensity_matrix, axis=1), [[0.04] * 9 + [0.64]] * 300, atol=1e-12)
    uniform = Classification(n_log=300, trust=0.0).draw(np.random.default_rng(4)).log
    np.testing.assert_allclose(uniform.propensities, 0.1, atol=1e-12)


def test_a_trusting_log_is_right_more_often():
    """A classifier that is right most of the time against chance: 1,000 rows each, s.e. below 0.016."""
    means = [Classification(n_log=1000, trust=t).draw(np.random.default_rng(5)).log.outcomes.mean() for t in (0, 1)]
    assert abs(means[0] - 0.1) < 5 * 0.0095
    assert means[1] > 0.5


def test_same_rng_same_world():
    world = Classification(n_log=20)
    first, second = (world.draw(np.random.default_rng(6)) for _ in range(2))
    np.testing.assert_array_equal(first.log.contexts, second.log.contexts)
    np.testing.assert_array_equal(first.draw_user(), second.draw_user())


def test_linucb_learns_digits_and_a_log_helps():
    """Regret over 600 users, 3 runs each: guessing costs 540 with a standard error of 4; both learners less."""
    curves = simulate(
        Classification(n_log=1000),
        {
            "guess": lambda world, log, rng: ABTest(10, rng=rng),
            "cold": lambda world, log, rng: LinUCB(10, 65, beta=0.3),
            "warm": lambda world, log, rng: WarmStart(LinUCB(10, 65, beta=0.3), LinearModel(log), rng=rng),
        },
        rounds=600,
        runs=3,
        seed=7,
    )
    assert abs(curves["guess"].mean - 540) < 5 * np.sqrt(600 * 0.09 / 3)
    assert curves["warm"].mean < curves["cold"].mean < 0.9 * curves["guess"].mean


def test_rejects_what_is_not_a_data_set():
    with pytest.raises(OptionError, match="together"):
        Classification(features=[[1.0]])
    with pytest.raises(OptionError, match="two classes"):
        Classification([[1.0], [2.0]], [0, 0])
    with pytest.raises(OptionError, match="row 1, column 0 must be finite"):
        Classification([[1.0], [np.nan]], [0, 1])
    with pytest.raises(OptionError, match=r"features must be \(n, d\)"):
        Classification([1.0, 2.0], [0, 1])
    with pytest.raises(OptionError, match="trust must be"):
        Classification(trust=1.5)
