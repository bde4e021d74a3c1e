from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart import Log, OfflineOnly, WarmStart, features, simulate, worlds
from headstart.errors import ContextError, LogError, OptionError
from headstart.evaluators import LinearModel, linear_sums
from headstart.oracles import LinUCB
from headstart.testing import check_evaluator
from tests.linear import SlowLinUCB, SlowLR


def make_log(n: int, n_actions: int, d: int, seed: int = 0) -> Log:
    rng = np.random.default_rng(seed)
    x, actions = rng.normal(size=(n, d)), rng.integers(n_actions, size=n)
    return Log(actions, x[:, 0] * (1 + actions) + rng.normal(size=n), x, n_actions=n_actions)


def answers(model, context, action, most: int = 10_000) -> int:
    for n in range(most):
        if model.get_outcome(context, action) is None:
            return n
    return most


def test_one_row_by_hand():
    """x = 2, y = 3: Vhat = 5, theta = 6/5. Asked at x = 2: phi^2 / Vhat = 4/5; V = 1 and 4 / (1 + 4) is not more
    than 4/5: no answer. Asked at x = 1: 1/5 against 1/2, 1/3, 1/4, then 1/5: three answers of 6/5."""
    model = LinearModel(Log([0], [3.0], [[2.0]], n_actions=1))
    assert model.get_outcome([2.0], 0) is None
    for _ in range(3):
        assert model.get_outcome([1.0], 0) == pytest.approx(1.2, rel=1e-14)
    assert model.get_outcome([1.0], 0) is None


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000])
def test_a_tie_is_no_answer_however_it_rounds(n):
    """n rows at x = 1: Vhat = 1 + n; the k-th answer needs 1 / (1 + k) > 1 / (1 + n): n - 1 answers."""
    model = LinearModel(Log(np.zeros(n, dtype=int), np.ones(n), np.ones((n, 1)), n_actions=1))
    assert answers(model, [1.0], 0) == n - 1


def test_zero_outcome_is_an_answer():
    model = LinearModel(Log([0, 0, 0], [0.0, 0.0, 0.0], np.ones((3, 1)), n_actions=1))
    assert model.get_outcome([1.0], 0) == 0.0


@pytest.mark.parametrize("phi", [features.disjoint(2, 4), features.blocks(2, 4)], ids=["disjoint", "shared"])
def test_answers_are_the_slow_twins(phi):
    log = make_log(40, 2, 4)
    model = LinearModel(log, phi)
    twin = SlowLR(log, list(phi.groups), phi.length, lambda x, a: phi.rows(np.asarray(x)[None], np.array([a]))[0])
    rng = np.random.default_rng(1)
    n_answers = 0
    for _ in range(400):
        x, action = log.contexts[rng.integers(40)], int(rng.integers(2))
        got, expected = model.get_outcome(x, action), twin.get_outcome(x, action)
        assert (got is None) == (expected is None)
        if got is not None:
            n_answers += 1
            assert got == pytest.approx(expected, rel=1e-9, abs=1e-11)
    assert 0 < n_answers < 400


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), is_shared=st.booleans())
def test_from_sums_equals_from_rows(seed, is_shared):
    log = make_log(30, 3, 6, seed)
    phi = features.blocks(3, 6) if is_shared else features.disjoint(3, 6)
    by_rows, by_sums = LinearModel(log, phi), LinearModel.from_sums(phi, *linear_sums(log, phi))
    np.testing.assert_array_equal(by_rows.theta, by_sums.theta)
    rng = np.random.default_rng(seed)
    for _ in range(100):
        x, action = rng.normal(size=6), int(rng.integers(3))
        assert by_rows.get_outcome(x, action) == by_sums.get_outcome(x, action)


def test_sums_are_those_of_the_rows():
    log, phi = make_log(50, 2, 4), features.blocks(2, 4)
    grams, moments = linear_sums(log, phi)
    rows = np.array([x[2 * a : 2 * a + 2] for x, a in zip(log.contexts, log.actions, strict=True)])
    np.testing.assert_allclose(grams[0], sum(np.outer(row, row) for row in rows), rtol=1e-12)
    np.testing.assert_allclose(moments[0], rows.T @ log.outcomes, rtol=1e-12)


def test_row_order_does_not_matter():
    log = make_log(60, 2, 4)
    other = log.take(np.random.default_rng(2).permutation(60))
    np.testing.assert_allclose(LinearModel(log).theta, LinearModel(other).theta, rtol=1e-11)


def test_relabelling_actions_permutes_the_answers():
    log = make_log(60, 3, 4)
    order = np.array([2, 0, 1])
    other = Log(order[log.actions], log.outcomes, log.contexts, n_actions=3)
    first, second = LinearModel(log), LinearModel(other)
    rng = np.random.default_rng(3)
    for _ in range(200):
        x, action = rng.normal(size=4), int(rng.integers(3))
        assert first.get_outcome(x, action) == second.get_outcome(x, int(order[action]))


@pytest.mark.parametrize("phi", [None, features.blocks(2, 4)], ids=["disjoint", "shared"])
def test_it_ends(phi):
    """Asked with contexts that are drawn anew without end, it stops answering: the sum of phi'phi is bounded.

    With lambda the largest eigenvalue of Vhat and S the sum of phi'phi over all answers, S <= 2 lambda m
    log(1 + S / m) per model; the largest S that allows it bounds the answers to contexts of length 1.
    """
    log = make_log(100, 2, 4)
    model, rng = LinearModel(log, phi), np.random.default_rng(4)
    grams, _ = linear_sums(log, model.features)
    m = model.features.length
    most = 0.0
    for gram in grams:
        largest, total = np.linalg.eigvalsh(gram + np.eye(m))[-1], 1.0
        for _ in range(100):  # the fixed point, from below: the right side is concave
            total = 2 * largest * m * np.log1p(total / m) + 1.0
        most += total
    n_answers, silence = 0, 0
    while silence < 2000:
        x = rng.normal(size=4)
        x /= np.sqrt((x[:2] ** 2).sum()) if phi is not None else np.linalg.norm(x)
        if model.get_outcome(x, 0 if phi is not None else int(rng.integers(2))) is None:
            silence += 1
        else:
            silence = 0
            n_answers += 1
            assert n_answers <= most
    assert n_answers > 10


def test_absent_action_has_no_answer():
    log = Log([0, 0, 0], [1.0, 2.0, 3.0], np.eye(3), n_actions=2)
    model = LinearModel(log)
    assert model.get_outcome([1.0, 1.0, 1.0], 1) is None
    assert model.get_outcome([1.0, 0.0, 0.0], 0) is None  # one row is worth no more than V's own phi
    assert model.get_outcome([0.5, 0.0, 0.0], 0) is not None


def test_zero_features_have_no_answer_and_a_log_of_them_is_exhausted():
    empty = LinearModel(Log([0, 1], [1.0, 2.0], np.zeros((2, 3)), n_actions=2))
    assert empty.is_exhausted()
    assert empty.get_outcome([1.0, 0.0, 0.0], 0) is None
    model = LinearModel(make_log(20, 2, 3))
    assert not model.is_exhausted()
    assert model.get_outcome(np.zeros(3), 0) is None


def test_constant_columns_and_duplicated_rows_are_accepted():
    x = np.column_stack([np.ones(50), np.ones(50), np.zeros(50)])
    model = LinearModel(Log(np.zeros(50, dtype=int), np.full(50, 3.0), x, n_actions=1))
    assert model.get_outcome([1.0, 1.0, 0.0], 0) == pytest.approx(3.0 * 100 / 101, rel=1e-12)
    assert model.get_outcome([0.0, 0.0, 1.0], 0) is None  # never seen to move


@pytest.mark.parametrize("schedule", ["each-round", "batch"])
def test_plain_loop_equals_compiled_loop(schedule):
    """The slow twins joined by the plain warm start, ours by the compiled one, from the same seed."""
    phi = features.blocks(2, 6)

    def row(x, a):
        return np.asarray(x)[3 * a : 3 * a + 3]

    def ours(world, log, rng):
        return WarmStart(LinUCB(2, 6, features=phi), LinearModel(log, phi), schedule=schedule, rng=rng)

    def slow(world, log, rng):
        twins = SlowLinUCB([0, 0], 3, row), SlowLR(log, [0, 0], 3, row)
        return WarmStart(*twins, schedule=schedule, rng=rng)

    curves = simulate(
        worlds.Synthetic(2, 6, n_log=15, is_contextual=True), {"ours": ours, "slow": slow}, rounds=30, runs=8, seed=5
    )
    np.testing.assert_allclose(curves["ours"].regrets, curves["slow"].regrets, rtol=1e-8, atol=1e-11)


def test_a_python_function_gives_the_same_as_its_table():
    table = features.blocks(2, 6)
    function = features.FeatureFunction(lambda x, a: x[3 * a : 3 * a + 3], 2, 6, 3)
    log = make_log(30, 2, 6)
    first, second = LinearModel(log, table), LinearModel(log, function)
    assert second.kernel_state is None
    for i in range(200):
        asked = log.contexts[i % 30], i % 2
        assert first.get_outcome(*asked) == second.get_outcome(*asked)


def test_a_log_saves_regret_in_a_linear_world():
    """100 runs: the difference of the means is 2.3 with a standard error of about 0.15."""
    phi = features.blocks(2, 10)
    world = worlds.Synthetic(2, 10, n_log=20, step=0.0, logged_chances=(0.2, 0.4, 0.6, 0.8), is_contextual=True)
    curves = simulate(
        world,
        {
            "warm": lambda w, log, rng: WarmStart(LinUCB(2, 10, features=phi), LinearModel(log, phi), rng=rng),
            "cold": lambda w, log, rng: LinUCB(2, 10, features=phi),
        },
        rounds=300,
        runs=100,
        seed=6,
    )
    gaps = curves["cold"].regrets[:, -1] - curves["warm"].regrets[:, -1]
    assert gaps.mean() > 5 * gaps.std(ddof=1) / 10


def test_it_conforms():
    log = make_log(40, 2, 4)
    check_evaluator(lambda: LinearModel(log))
    check_evaluator(lambda: LinearModel(log, features.blocks(2, 4)))


def test_pickle_and_only_offline():
    log = make_log(40, 2, 4)
    model = pickle.loads(pickle.dumps(LinearModel(log)))
    policy = OfflineOnly(LinUCB(2, 4, beta=0.0), model, rng=1)
    policy.play(log.contexts[0])
    assert policy.virtual_plays.sum() > 0


def test_rejects_what_it_cannot_use():
    log = make_log(20, 2, 4)
    with pytest.raises(LogError, match="needs contexts"):
        LinearModel(Log([0, 1], [1.0, 2.0], n_actions=2))
    with pytest.raises(ContextError, match="context must be 4 numbers"):
        LinearModel(log).get_outcome([1.0], 0)
    with pytest.raises(OptionError, match="ridge must be"):
        LinearModel(log, ridge=-1.0)
    with pytest.raises(OptionError, match=r"grams must be finite, of shape \(1, 2, 2\)"):
        LinearModel.from_sums(features.blocks(2, 4), np.zeros((2, 2, 2)), np.zeros((1, 2)))
    with pytest.raises(LogError, match="not positive definite"):
        LinearModel.from_sums(features.blocks(2, 4), [[[0.0, 0.0], [0.0, -5.0]]], np.zeros((1, 2)))
    by_sums = LinearModel.from_sums(features.disjoint(2, 4), *linear_sums(log, features.disjoint(2, 4)))
    with pytest.raises(OptionError, match="no rows to draw virtual users from"):
        WarmStart(LinUCB(2, 4), by_sums)
