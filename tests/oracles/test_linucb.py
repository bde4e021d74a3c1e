from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart import features, simulate, worlds
from headstart.errors import ActionError, ContextError, OptionError
from headstart.kernels import compiled
from headstart.kernels.ridge import learn
from headstart.oracles import LinUCB
from headstart.oracles.linucb import LinUCBState
from headstart.testing import check_oracle
from tests.linear import SlowLinUCB

MAPS = {
    "disjoint": features.disjoint(3, 6),
    "blocks": features.blocks(3, 6),
    "products": features.products(6, [[1.0, 0.0], [0.5, 0.5], [0.0, 2.0]]),
}


def slow_twin(phi: features.FeatureTable, beta: float = 1.0) -> SlowLinUCB:
    def row(context, action):
        return phi.rows(np.asarray(context)[None, :], np.array([action]))[0]

    return SlowLinUCB(list(phi.groups), phi.length, row, beta)


def taught(oracle, n: int, rng: np.random.Generator):
    for _ in range(n):
        oracle.update(rng.normal(size=oracle.n_features), int(rng.integers(oracle.n_actions)), rng.normal())
    return oracle


def test_one_update_by_hand():
    """d = 1, x = 2, y = 3: V = 1 + 4 = 5, b = 6, theta = 6/5; at x = 1 the width is 1/sqrt(5) for the action
    played and 1 for the other, whose theta is 0."""
    oracle = LinUCB(2, 1)
    oracle.update([2.0], 0, 3.0)
    np.testing.assert_allclose(oracle.theta, [[1.2], [0.0]], rtol=1e-15)
    np.testing.assert_allclose(oracle.score([[1.0]]), [[1.2 + 1 / math.sqrt(5), 1.0]], rtol=1e-15)
    assert oracle.play([1.0]) == 0
    assert oracle.play([-1.0]) == 1  # -1.2 + 0.447 against 0 + 1


def test_shared_parameter_by_hand():
    """Blocks of (x0, x1): phi = x_a. y = 3 at x = (2, 5), action 0: V = 1 + 4, theta = 6/5 for both actions."""
    oracle = LinUCB(2, 2, features=features.blocks(2, 2))
    oracle.update([2.0, 5.0], 0, 3.0)
    width = 1 / math.sqrt(5)
    np.testing.assert_allclose(oracle.score([[1.0, 2.0]]), [[1.2 + width, 2.4 + 2 * width]], rtol=1e-15)
    assert oracle.play([1.0, 2.0]) == 1


def test_ridge_is_where_v_starts():
    """ridge = 4: at x = 1 the width is 1/sqrt(4)."""
    np.testing.assert_allclose(LinUCB(1, 1, ridge=4.0, beta=3.0).score([[1.0]]), [[1.5]], rtol=1e-15)


def test_ties_go_to_the_lowest_available_action():
    oracle = LinUCB(4, 2)
    assert oracle.play([1.0, 1.0]) == 0
    assert oracle.play([1.0, 1.0], [3, 2]) == 2
    assert oracle.play([0.0, 0.0]) == 0


def test_greedy_with_beta_zero_follows_the_estimate():
    oracle = LinUCB(2, 1, beta=0.0)
    oracle.update([1.0], 1, 0.5)
    assert oracle.play([1.0]) == 1
    assert oracle.play([-1.0]) == 0


@pytest.mark.parametrize("name", MAPS)
def test_bounds_and_choices_are_the_slow_twins(name):
    """200 updates in random directions; both solve the same equations, so only rounding may differ."""
    phi, rng = MAPS[name], np.random.default_rng(1)
    oracle, twin = LinUCB(3, 6, beta=0.7, features=phi), slow_twin(phi, beta=0.7)
    for _ in range(200):
        x, outcome = rng.normal(size=6), rng.normal()
        available = sorted(rng.choice(3, size=rng.integers(1, 4), replace=False).tolist())
        action = oracle.play(x, available)
        assert action == twin.play(x, available)
        np.testing.assert_allclose(oracle.score(x[None])[0], [twin.bound(x, a) for a in range(3)], rtol=1e-10)
        oracle.update(x, action, outcome)
        twin.update(x, action, outcome)


def test_shared_products_with_indicators_are_the_disjoint_model():
    """With z_a the unit vectors, V is one block per action: the disjoint model with an intercept."""
    rng = np.random.default_rng(2)
    shared = LinUCB(3, 4, features=features.products(4, np.eye(3)))
    apart = LinUCB(3, 5)
    for _ in range(100):
        x, action, outcome = rng.normal(size=4), int(rng.integers(3)), rng.normal()
        shared.update(x, action, outcome)
        apart.update([1.0, *x], action, outcome)
    contexts = rng.normal(size=(50, 4))
    np.testing.assert_allclose(
        shared.score(contexts), apart.score(np.column_stack([np.ones(50), contexts])), rtol=1e-11
    )


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 9), n=st.integers(0, 40))
def test_incremental_equals_batch(seed, d, n):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, d)), rng.normal(size=n)
    oracle = LinUCB(1, d)
    for i in range(n):
        oracle.update(x[i], 0, y[i])
    v = np.eye(d) + x.T @ x
    np.testing.assert_allclose(oracle.theta[0], np.linalg.solve(v, x.T @ y), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(oracle.inverses[0], np.linalg.inv(v), rtol=1e-9, atol=1e-11)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_order_of_outcomes_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    rows = [(rng.normal(size=3), int(rng.integers(2)), rng.normal()) for _ in range(30)]
    first, second = LinUCB(2, 3), LinUCB(2, 3)
    for row in rows:
        first.update(*row)
    for i in rng.permutation(30):
        second.update(*rows[i])
    contexts = rng.normal(size=(20, 3))
    np.testing.assert_allclose(first.score(contexts), second.score(contexts), rtol=1e-10, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_relabelling_actions_permutes_the_bounds(seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(4)
    first, second = LinUCB(4, 3), LinUCB(4, 3)
    for _ in range(40):
        x, action, outcome = rng.normal(size=3), int(rng.integers(4)), rng.normal()
        first.update(x, int(order[action]), outcome)
        second.update(x, action, outcome)
    contexts = rng.normal(size=(10, 3))
    np.testing.assert_array_equal(first.score(contexts)[:, order], second.score(contexts))


def _repeat(state, contexts, outcomes, n):
    for i in range(n):
        row = i % outcomes.size
        learn(state.ridge, contexts[row], 0, outcomes[row])


@pytest.mark.parametrize("scale", ["one", "columns from 1e-6 to 1e6", "1e8", "1e-8", "rows from 1e-8 to 1e8"])
def test_a_million_updates_stay_accurate(scale):
    """Against a fresh solve: V = I + 1000 X'X for 1,000 rows gone through 1,000 times.

    Each of n updates rounds every entry a few times and none magnifies the error of the ones before, so n d eps,
    2.2e-9 here, bounds the error relative to the widths, by which the inverse is measured: sqrt(P_ii P_jj). The
    reference equilibrates V, as a solve with columns of different units must.
    """
    rng, d, n = np.random.default_rng(3), 10, 1_000_000
    x = rng.normal(size=(1000, d))
    y = x @ rng.normal(size=d) + rng.normal(size=1000)
    x = x * {"one": 1.0, "1e8": 1e8, "1e-8": 1e-8}.get(scale, 1.0)
    if scale.startswith("columns"):
        x = x * np.logspace(-6, 6, d)
    if scale.startswith("rows"):
        x = x * np.logspace(-8, 8, 1000)[:, None]
    oracle = LinUCB(1, d)
    compiled(_repeat, LinUCBState, allocates=False)(oracle.kernel_state, x, y, n)
    v, b = np.eye(d) + 1000 * (x.T @ x), 1000 * (x.T @ y)
    units = np.sqrt(np.diag(v))
    inverse = np.linalg.inv(v / np.outer(units, units)) / np.outer(units, units)
    theta = np.linalg.solve(v / np.outer(units, units), b / units) / units
    widths = np.sqrt(np.diag(inverse))
    bound = n * d * np.finfo(float).eps
    assert np.abs((oracle.inverses[0] - inverse) / np.outer(widths, widths)).max() < bound
    # theta is a thousand widths long here, and its error is relative to its own length as well.
    length = np.abs(theta / widths).max() + 1.0
    assert np.abs((oracle.theta[0] - theta) / widths).max() < bound * length


@pytest.mark.parametrize("name", MAPS)
def test_batch_scoring_equals_one_at_a_time(name):
    phi, rng = MAPS[name], np.random.default_rng(4)
    oracle = taught(LinUCB(3, 6, features=phi), 60, rng)
    contexts = rng.normal(size=(3000, 6))
    scores = oracle.score(contexts)
    assert scores.shape == (3000, 3)
    twin = [[oracle.score(x[None])[0, a] for a in range(3)] for x in contexts[:50]]
    np.testing.assert_allclose(scores[:50], twin, rtol=1e-12)
    margins = np.sort(scores, axis=1)
    clear = margins[:, -1] - margins[:, -2] > 1e-12
    np.testing.assert_array_equal(scores.argmax(axis=1)[clear], [oracle.play(x) for x in contexts[clear]])


def test_only_available_actions_are_chosen():
    rng = np.random.default_rng(5)
    oracle = taught(LinUCB(200, 4), 500, rng)
    for _ in range(50):
        x, available = rng.normal(size=4), np.sort(rng.choice(200, size=20, replace=False))
        scores = oracle.score(x[None])[0]
        assert oracle.play(x, available) == max(available, key=lambda a: scores[a])
        chances = oracle.probabilities(x, available)
        assert chances.sum() == chances[oracle.play(x, available)] == 1.0


def test_a_python_function_gives_the_same_as_its_table():
    """phi through the plain loop and through the compiled one, on the same users: the same choices."""
    table = features.blocks(2, 6)
    function = features.FeatureFunction(lambda x, a: x[3 * a : 3 * a + 3], 2, 6, 3)
    by_table, by_function = LinUCB(2, 6, features=table), LinUCB(2, 6, features=function)
    assert by_function.kernel_state is None
    assert by_table.kernel_state is not None
    curves = simulate(
        worlds.Synthetic(2, 6, n_log=5, is_contextual=True),
        {"table": by_table, "function": by_function},
        rounds=60,
        runs=5,
        seed=6,
    )
    np.testing.assert_array_equal(curves["table"].regrets, curves["function"].regrets)
    rng = np.random.default_rng(7)
    for oracle in (by_table, by_function):
        taught(oracle, 20, np.random.default_rng(8))
    contexts = rng.normal(size=(10, 6))
    np.testing.assert_allclose(by_table.score(contexts), by_function.score(contexts), rtol=1e-13)


def test_plain_loop_equals_compiled_loop():
    """The slow twin through the plain loop, LinUCB through the compiled one: the same regret to rounding."""
    phi = features.blocks(2, 6)
    curves = simulate(
        worlds.Synthetic(2, 6, n_log=5, is_contextual=True),
        {"compiled": lambda world, log, rng: LinUCB(2, 6, features=phi), "plain": lambda *_: slow_twin(phi)},
        rounds=80,
        runs=10,
        seed=9,
    )
    np.testing.assert_allclose(curves["compiled"].regrets, curves["plain"].regrets, rtol=1e-9, atol=1e-12)


def test_function_is_asked_only_for_available_actions():
    asked = []

    def phi(context, action):
        asked.append(action)
        return context

    oracle = LinUCB(50, 2, features=features.FeatureFunction(phi, 50, 2, 2))
    oracle.play([1.0, 2.0], [7, 3])
    oracle.update([1.0, 2.0], 7, 1.0)
    assert asked == [3, 7, 7]


def test_state_copy_and_pickle_have_the_same_future():
    rng = np.random.default_rng(10)
    oracle = taught(LinUCB(3, 5), 30, rng)
    restored = LinUCB(3, 5)
    restored.set_state(oracle.get_state())
    twins = [oracle.copy(), pickle.loads(pickle.dumps(oracle)), restored]
    x = rng.normal(size=5)
    taught(oracle, 5, np.random.default_rng(11))
    for twin in twins:
        assert not np.array_equal(twin.theta, oracle.theta)
        taught(twin, 5, np.random.default_rng(11))
        np.testing.assert_array_equal(twin.theta, oracle.theta)
        assert twin.play(x) == oracle.play(x)


def test_readings_count_plays_and_average_outcomes():
    oracle = LinUCB(2, 1)
    oracle.update([1.0], 1, 2.0)
    oracle.update([5.0], 1, 4.0)
    counts, means, lower, upper = oracle.readings()
    np.testing.assert_array_equal(counts, [0, 2])
    np.testing.assert_array_equal(means, [np.nan, 3.0])
    assert np.isnan([lower, upper]).all()


@pytest.mark.parametrize("name", MAPS)
def test_it_conforms(name):
    check_oracle(LinUCB(3, 6, features=MAPS[name]))


def test_constant_features_and_many_duplicates_stay_finite():
    oracle = LinUCB(2, 3)
    for _ in range(1000):
        oracle.update([1.0, 1.0, 0.0], 0, 1.0)
    np.testing.assert_allclose(oracle.theta[0], [1000 / 2001, 1000 / 2001, 0.0], rtol=1e-11)
    assert np.isfinite(oracle.score([[1.0, -1.0, 1.0]])).all()


def test_rejects_contexts_of_the_wrong_length():
    oracle = LinUCB(2, 3)
    for call in (lambda x: oracle.play(x), lambda x: oracle.update(x, 0, 1.0), lambda x: oracle.probabilities(x)):
        with pytest.raises(ContextError, match="context must be 3 numbers, got shape"):
            call([1.0, 2.0])
        with pytest.raises(ContextError, match="got None"):
            call(None)
        with pytest.raises(ContextError, match="finite, got nan in column 1"):
            call([1.0, np.nan, 2.0])
    with pytest.raises(ContextError, match="matrix of 3 columns"):
        oracle.score([[1.0, 2.0]])
    with pytest.raises(ContextError, match="row 0, column 2 must be finite"):
        oracle.score([[1.0, 2.0, np.inf]])


def test_rejects_what_it_cannot_mean():
    with pytest.raises(OptionError, match="beta must be a finite number"):
        LinUCB(2, 3, beta=-1.0)
    with pytest.raises(OptionError, match="ridge must be"):
        LinUCB(2, 3, ridge=0.0)
    with pytest.raises(OptionError, match="n_features must be at least 1"):
        LinUCB(2, 0)
    with pytest.raises(OptionError, match="multiple of n_actions"):
        features.blocks(3, 7)
    with pytest.raises(OptionError, match="map 6 columns and 3 actions, but there are 4 columns and 3 actions"):
        LinUCB(3, 4, features=features.blocks(3, 6))
    with pytest.raises(OptionError, match="FeatureTable or a FeatureFunction"):
        LinUCB(3, 4, features="disjoint")
    with pytest.raises(OptionError, match=r"columns must be in 0\.\.2"):
        features.FeatureTable(2, 2, [[3], [0]])
    with pytest.raises(ContextError, match="must be 2 finite numbers"):
        LinUCB(2, 2, features=features.FeatureFunction(lambda x, a: [1.0], 2, 2, 2)).play([0.0, 0.0])
    with pytest.raises(ActionError, match=r"0\.\.1"):
        LinUCB(2, 3).update([0.0, 0.0, 0.0], 2, 1.0)
