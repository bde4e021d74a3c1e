"""What leaving a column out does to each action's mean."""

import numpy as np
import pytest

import headstart as hs
from headstart.estimates.confounding import omit_columns
from headstart.estimates.ridge import fit, standardise, sum_rows


def test_by_hand():
    """Outcome 2 x; x is 1 in the rows of action 0 and 0 in those of action 1, half each: leaving x out raises the
    mean of action 0 by 2 x 0.5 = 1 and lowers the other's by as much; chance is taken off."""
    rng = np.random.default_rng(0)
    x = np.r_[np.ones(500), np.zeros(500)] + 0.05 * rng.standard_normal(1000)
    found = omit_columns(hs.Log(np.repeat([0, 1], 500), 2 * x, x[:, None], context_names=["x"]))
    assert found.names == ("x",)
    np.testing.assert_allclose(found.biases, [[1.0, -1.0]], rtol=0.02)


def test_what_other_columns_say_of_it_is_not_lost():
    """A column and its copy with a little noise: leaving either out hardly matters, the other stands in for it."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal(4000)
    actions = (x + rng.standard_normal(4000) > 0).astype(int)
    outcomes = actions + x + 0.5 * rng.standard_normal(4000)
    alone = omit_columns(hs.Log(actions, outcomes, x[:, None], n_actions=2)).biases[0]
    copied = np.column_stack([x, x + 0.1 * rng.standard_normal(4000)])
    both = omit_columns(hs.Log(actions, outcomes, copied, n_actions=2)).biases
    assert (np.abs(alone) > 0.4).all()
    assert (np.abs(both) < 0.1 * np.abs(alone)).all()


def test_a_refit_without_the_column_says_the_same():
    """A categorical column is left out whole. A refit chooses its penalties anew, and here nothing is taken off for
    chance: 3,000 rows differ by their noise, below 0.03."""
    rng = np.random.default_rng(2)
    n = 3000
    x, city = rng.standard_normal((n, 2)), rng.integers(0, 3, n)
    actions = (rng.random(n) < 1.0 / (1.0 + np.exp(-x[:, 0] - (city == 1)))).astype(int)
    outcomes = actions + x @ [1.0, 0.5] + (city == 1) + rng.standard_normal(n)
    columns = {"a": x[:, 0], "b": x[:, 1], "one": np.ones(n), "city": np.array(["Oslo", "Paris", "Rome"])[city]}
    log = hs.Log(actions, outcomes, columns, n_actions=2)
    found = omit_columns(log)
    assert found.names == ("a", "b", "one", "city")
    (contexts,) = standardise(log.contexts)  # a, b and three cities: the constant is gone
    whole = fit(sum_rows(contexts, outcomes, actions, 2)).intercepts
    for name, left_out in (("a", [0]), ("b", [1]), ("city", [2, 3, 4])):
        kept = np.delete(contexts, left_out, axis=1)
        refitted = fit(sum_rows(kept, outcomes, actions, 2)).intercepts - whole
        np.testing.assert_allclose(found.biases[found.names.index(name)], refitted, atol=0.03)
    assert (found.biases[2] == 0.0).all()


@pytest.mark.parametrize("contexts", [None, np.ones((4, 2))])
def test_without_columns_that_move_there_is_nothing_to_leave_out(contexts):
    found = omit_columns(hs.Log([0, 0, 1, 1], [0.0, 1.0, 2.0, 3.0], contexts, n_actions=3))
    assert (found.biases == 0.0).all()


def test_columns_that_came_encoded_are_left_out_together():
    """The bias of the raw column, by action and so twice as much of the difference, whoever encoded it: wealth moves
    outcomes by 0, 0.15 and 0.3, so without it an action's mean is off by how far its users are from everybody."""
    rng = np.random.default_rng(0)
    n = 20_000
    wealth = rng.choice(3, n, p=[0.4, 0.3, 0.3])
    actions = (rng.random(n) < np.array([0.25, 0.5, 0.75])[wealth]).astype(int)
    gain = 0.15 * wealth
    outcomes = (rng.random(n) < 0.2 + gain + 0.06 * (actions == 0)).astype(float)
    log = hs.Log(actions, outcomes, {"wealth": np.array(["low", "mid", "high"])[wealth], "age": rng.random(n)})
    encoded = hs.Log(actions, outcomes, log.contexts, context_names=log.context_names)
    truth = [gain[actions == a].mean() - gain.mean() for a in (0, 1)]
    for each in (log, encoded):
        found = omit_columns(each)
        assert found.names == ("wealth", "age")
        np.testing.assert_allclose(found.biases[0], truth, atol=0.01)  # the slopes' noise: 0.45 / sqrt(10,000) * 2
