"""Multinomial logistic regression of our own: the right minimum, from few rows or many, whole or streamed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import headstart as hs
from headstart import kernels
from headstart.errors import ContextError, LogError, OptionError
from headstart.estimates.propensity import LogisticPropensity, OverlapWarning
from headstart.estimates.propensity.logistic import fit_logistic
from headstart.estimates.propensity.rows import rows_of, survey_rows
from headstart.kernels.cholesky import factor_cholesky, solve_cholesky
from headstart.kernels.logistic import BLOCK, add_softmax_curvature, add_softmax_rows
from headstart.logs.tables import scan_log


def softmax_log(n: int, d: int, n_actions: int, seed: int, *, spread: float = 0.5, offset: float = 0.0) -> hs.Log:
    """Contexts around `offset`; actions drawn from the softmax of random scores."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    scores = x @ rng.standard_normal((d, n_actions)) * spread
    actions = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return hs.Log(actions, np.zeros(n), x + offset, n_actions=n_actions)


def reference(log: hs.Log, ridge: float, weights: np.ndarray | None = None) -> np.ndarray:
    """scikit-learn's chances of every row, fitted as far as it goes."""
    z = StandardScaler().fit(log.contexts, sample_weight=weights).transform(log.contexts)
    model = LogisticRegression(C=1 / ridge, tol=1e-12, max_iter=10_000)
    fitted = model.fit(z, log.actions, sample_weight=weights)
    chances = np.zeros((len(log), log.n_actions))
    chances[:, fitted.classes_] = fitted.predict_proba(z)
    return chances


class Table:
    """A log that is handed over in batches, and says how large they were."""

    def __init__(self, log: hs.Log) -> None:
        self.log, self.n_actions, self.sizes = log, log.n_actions, []

    def batches(self, n_rows: int) -> Iterator[hs.Log]:
        for first in range(0, len(self.log), 3_000):
            batch = self.log.take(np.arange(first, min(first + 3_000, len(self.log))))
            self.sizes.append(len(batch))
            yield batch


def test_two_kinds_of_users_by_hand():
    """With a column of 0 and 1 the model is saturated: without a penalty its chances are the shares of each kind."""
    log = hs.Log([0] * 6 + [1] * 2 + [0] * 3 + [1] * 9, np.zeros(20), [[0.0]] * 8 + [[1.0]] * 12, n_actions=2)
    model = LogisticPropensity(log, ridge=1e-9)
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), [[6 / 8, 2 / 8], [3 / 12, 9 / 12]], atol=1e-8)
    np.testing.assert_allclose(model.slopes[1] - model.slopes[0], [np.log(9 / 3) - np.log(2 / 6)], rtol=1e-7)


def test_the_penalty_by_hand():
    """Columns -1 and 1, m rows each, shares 1 - q and q of action 1: w = slope difference, intercepts equal. The
    penalised loss 2 m (q log(1 + e^-w) + (1 - q) log(1 + e^w)) + ridge w^2 / 2 is flat where
    2 m (sigmoid(w) - q) + ridge w = 0."""
    m, q, ridge = 10, 0.8, 3.0
    log = hs.Log([1] * 2 + [0] * 8 + [1] * 8 + [0] * 2, np.zeros(20), [[-1.0]] * m + [[1.0]] * m, n_actions=2)
    model = LogisticPropensity(log, ridge=ridge)
    w = float(model.slopes[1, 0] - model.slopes[0, 0])
    assert abs(2 * m * (1 / (1 + np.exp(-w)) - q) + ridge * w) < 1e-5


@pytest.mark.parametrize("n_actions", [2, 3, 5])
@pytest.mark.parametrize("ridge", [1.0, 1e-3])
def test_few_rows_have_scikit_learns_minimum(n_actions: int, ridge: float):
    log = softmax_log(400, 4, n_actions, seed=n_actions, offset=3.0)
    fit = fit_logistic(rows_of(log), n_actions, ridge)
    np.testing.assert_allclose(fit.predict(log.contexts), reference(log, ridge), atol=1e-6)


@pytest.mark.parametrize("n_actions", [2, 4])
def test_many_rows_have_scikit_learns_minimum(n_actions: int):
    """9,000 rows are beyond Newton's method: a sample, then L-BFGS over all."""
    log = softmax_log(9_000, 6, n_actions, seed=20 + n_actions)
    fit = fit_logistic(rows_of(log), n_actions, 1.0)
    assert fit.factor is not None
    np.testing.assert_allclose(fit.predict(log.contexts), reference(log, 1.0), atol=1e-6)


def test_many_parameters_have_scikit_learns_minimum():
    """8 x 41 parameters are beyond Newton's method too: L-BFGS from scratch."""
    log = softmax_log(600, 40, 8, seed=3, spread=0.2)
    fit = fit_logistic(rows_of(log), 8, 1.0)
    assert fit.factor is None
    np.testing.assert_allclose(fit.predict(log.contexts), reference(log, 1.0), atol=1e-6)


@pytest.mark.parametrize("n", [500, 9_000])
def test_weights_count_rows(n: int):
    log = softmax_log(n, 3, 3, seed=4)
    weights = np.random.default_rng(5).uniform(0.0, 3.0, n)
    weights[::7] = 0.0
    fit = fit_logistic(rows_of(log, weights), 3, 1.0)
    np.testing.assert_allclose(fit.predict(log.contexts), reference(log, 1.0, weights), atol=1e-6)


@pytest.mark.parametrize("n", [300, 9_000])
def test_soft_labels_are_actions_with_weights(n: int):
    """A row with chances (0.2, 0.5, 0.3) is three rows, one an action, with those weights."""
    log = softmax_log(n, 2, 3, seed=6)
    chances = np.random.default_rng(7).dirichlet([2.0, 1.0, 3.0], n)
    model = LogisticPropensity(log.with_propensities(chances), ridge=1.0)
    repeated = hs.Log(np.tile(np.arange(3), n), np.zeros(3 * n), np.repeat(log.contexts, 3, axis=0), n_actions=3)
    twin = fit_logistic(rows_of(repeated, chances.reshape(-1)), 3, 1.0)
    np.testing.assert_allclose(model.predict(log.contexts), twin.predict(log.contexts), atol=1e-6)
    hard = LogisticPropensity(log.with_propensities(chances), ridge=1.0, uses_vectors=False)
    taken = LogisticPropensity(log, ridge=1.0)
    np.testing.assert_array_equal(hard.predict(log.contexts), taken.predict(log.contexts))


def test_a_stream_gives_the_fit_of_the_whole_in_one_batch_of_memory():
    log = softmax_log(10_500, 5, 3, seed=8)
    table = Table(log)
    streamed, whole = LogisticPropensity(table, ridge=1.0), LogisticPropensity(log, ridge=1.0)
    np.testing.assert_allclose(streamed.predict(log.contexts), whole.predict(log.contexts), atol=1e-6)
    assert max(table.sizes) == 3_000
    assert len(table.sizes) <= 4 * 15  # passes


def test_a_few_streamed_rows_are_newtons():
    log = softmax_log(3_500, 2, 2, seed=8)
    fit, whole = (fit_logistic(rows_of(made), 2, 1.0) for made in (Table(log), log))
    np.testing.assert_allclose(fit.predict(log.contexts), whole.predict(log.contexts), atol=1e-9)


def test_the_number_of_threads_does_not_show():
    """40,000 rows are three pieces of work."""
    log = softmax_log(40_000, 4, 3, seed=9)
    one, three = (fit_logistic(rows_of(log), 3, 1.0, n_jobs=jobs) for jobs in (1, 3))
    assert one.slopes.tobytes() == three.slopes.tobytes()
    assert one.intercepts.tobytes() == three.intercepts.tobytes()


def test_an_action_that_the_sample_misses_is_learnt_all_the_same():
    """3 of 20,000 rows: an evenly spaced tenth will hardly meet one."""
    log = softmax_log(20_000, 2, 2, seed=10)
    actions = log.actions.copy()
    actions[[11, 7_777, 15_555]] = 2
    rare = hs.Log(actions, log.outcomes, log.contexts, n_actions=4)
    fit = fit_logistic(rows_of(rare), 4, 1.0)
    np.testing.assert_allclose(fit.predict(rare.contexts), reference(rare, 1.0), atol=1e-6)
    np.testing.assert_allclose(fit.predict(rare.contexts).sum(axis=0), np.bincount(actions, minlength=4), rtol=1e-4)
    assert fit.intercepts[3] == -np.inf


@pytest.mark.parametrize("n", [200, 9_000])
def test_far_columns_and_constant_ones_do_no_harm(n: int):
    """Seconds since 1970 and a constant 0.1: the same chances as without the offset and the column."""
    log = softmax_log(n, 2, 3, seed=11)
    far = hs.Log(log.actions, log.outcomes, np.column_stack([log.contexts + 1.7e9, np.full(n, 0.1)]), n_actions=3)
    near, there = (LogisticPropensity(made).predict(made.contexts) for made in (log, far))
    np.testing.assert_allclose(there, near, atol=3e-5)  # of contexts around 1.7e9 seven digits are left


def test_separated_actions_end_at_a_finite_fit():
    log = hs.Log([0] * 50 + [1] * 50, np.zeros(100), np.arange(100.0).reshape(-1, 1), n_actions=2)
    np.testing.assert_allclose(LogisticPropensity(log).predict(log.contexts), reference(log, 1e-3), atol=1e-6)


def test_columns_that_are_copies_of_each_other_have_a_fit():
    log = softmax_log(9_000, 1, 3, seed=12)
    twice = hs.Log(log.actions, log.outcomes, np.repeat(log.contexts, 2, axis=1), n_actions=3)
    np.testing.assert_allclose(
        LogisticPropensity(twice).predict(twice.contexts), LogisticPropensity(log).predict(log.contexts), atol=1e-6
    )


def test_the_summary_is_that_of_all_rows_and_the_sample_is_evenly_spaced():
    log = softmax_log(10_500, 2, 3, seed=13, offset=5.0)
    for source in (log, Table(log)):
        survey = survey_rows(rows_of(source), 3, lambda d: 1_000)
        np.testing.assert_allclose(survey.centre, log.contexts.mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(survey.spread, log.contexts.std(axis=0), rtol=1e-12)
        np.testing.assert_array_equal(survey.shares, np.bincount(log.actions))
        np.testing.assert_array_equal(survey.sample.contexts, log.contexts[::8])


# --- kernels


def slow_pass(z: np.ndarray, labels: np.ndarray, weights: np.ndarray, theta: np.ndarray) -> tuple:
    """Loss, gradient and Hessian, as the formulas have them."""
    loss, gradient = 0.0, np.zeros(theta.shape)
    hessian = np.zeros((theta.size, theta.size))
    for row, label, weight in zip(z, labels, weights, strict=True):
        chances = np.exp(theta @ row) / np.exp(theta @ row).sum()
        loss -= weight * label @ np.log(chances)
        gradient += weight * np.outer(chances - label, row)
        hessian += weight * np.kron(np.diag(chances) - np.outer(chances, chances), np.outer(row, row))
    return loss, gradient, hessian


@pytest.mark.parametrize("n", [1, 7, BLOCK, 3 * BLOCK + 5])
@pytest.mark.parametrize("d", [1, 3, 4, 6])
def test_the_fused_pass_is_its_slow_twin(n: int, d: int):
    rng = np.random.default_rng(n + d)
    x, theta = rng.standard_normal((n + 2, d)), rng.standard_normal((3, d + 1))
    centre, scale = rng.standard_normal(d), rng.uniform(0.5, 2.0, d)
    actions, chances, weights = rng.integers(3, size=n + 2), rng.dirichlet(np.ones(3), n + 2), rng.random(n + 2)
    z = np.column_stack([(x - centre) * scale, np.ones(n + 2)])[1:-1]
    add = kernels.compiled(add_softmax_rows)
    none, no_weights = np.empty((0, 3)), np.empty(0)
    for targets, given in ((none, no_weights), (none, weights), (chances, no_weights), (chances, weights)):
        gradient = np.zeros((3, d + 1))
        loss = add(x, actions, targets, given, centre, scale, theta, 1, n + 1, gradient)
        labels = targets if len(targets) else np.eye(3)[actions]
        expected = slow_pass(z, labels[1:-1], (given if given.size else np.ones(n + 2))[1:-1], theta)
        np.testing.assert_allclose(loss, expected[0], rtol=1e-12)
        np.testing.assert_allclose(gradient, expected[1], atol=1e-12 * n)


def test_the_curvature_is_its_slow_twin():
    rng = np.random.default_rng(1)
    z, theta = rng.standard_normal((40, 4)), rng.standard_normal((3, 4))
    labels, weights = rng.dirichlet(np.ones(3), 40), rng.random(40)
    gradient, packed = np.zeros((3, 4)), np.zeros((6, 10))
    loss = kernels.compiled(add_softmax_curvature)(z, labels, weights, theta, gradient, packed)
    expected = slow_pass(z, labels, weights, theta)
    np.testing.assert_allclose(loss, expected[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, expected[1], atol=1e-12)
    hessian = expected[2].reshape(3, 4, 3, 4)
    for a in range(3):
        for b in range(a + 1):
            line = packed[a * (a + 1) // 2 + b]
            np.testing.assert_allclose(line, hessian[a, :, b, :][np.tril_indices(4)], atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_cholesky_solves(n: int):
    rng = np.random.default_rng(n)
    root = rng.standard_normal((n, n + 2))
    matrix, vector = root @ root.T, rng.standard_normal(n)
    factor, solution = matrix.copy(), vector.copy()
    assert kernels.compiled(factor_cholesky)(factor)
    kernels.compiled(solve_cholesky)(factor, solution)
    np.testing.assert_allclose(matrix @ solution, vector, atol=1e-9)
    np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(matrix), atol=1e-10)
    assert not kernels.compiled(factor_cholesky)(-matrix)


# --- rejects


def test_rejects():
    log = softmax_log(50, 2, 2, seed=1)
    with pytest.raises(LogError, match=r"log must be a Log or a table with batches\(n_rows\), got list"):
        rows_of([1])
    with pytest.raises(OptionError, match="ridge must be a finite number"):
        LogisticPropensity(log, ridge=0.0)
    with pytest.raises(ContextError, match=r"contexts must have 2 columns, got shape \(3, 1\)"):
        LogisticPropensity(log).predict(np.zeros((3, 1)))
    with pytest.raises(LogError, match="context column 1 has values too large to be standardised"):
        LogisticPropensity(hs.Log([0, 1], [0.0, 0.0], [[1.0, 1e300], [2.0, -1e300]]))
    with pytest.raises(LogError, match="there are no rows to learn propensities from"):
        fit_logistic(lambda: iter(()), 2, 1.0)


# --- tables


def test_a_table_is_streamed_and_stays_a_table(tmp_path: Path):
    log = softmax_log(9_000, 2, 3, seed=14)
    columns = {"ad": log.actions, "click": log.outcomes, "age": log.contexts[:, 0], "likes": log.contexts[:, 1]}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "log.parquet")
    table = scan_log(tmp_path / "log.parquet", action="ad", outcome="click", contexts=["age", "likes"])
    known = hs.estimate_propensities(table)
    rows = known.to_log()
    expected = LogisticPropensity(log, ridge=1.0).predict(rows.contexts)
    np.testing.assert_allclose(rows.propensity_matrix, expected, atol=1e-6)
    for settings in ({"classifier": LogisticRegression()}, {"trim": 0.1}):
        with pytest.raises(OptionError, match=r"need rows: estimate_propensities\(table\.sample\(n_rows\)"):
            hs.estimate_propensities(table, **settings)


def test_poor_overlap_of_a_table_is_warned_of(tmp_path: Path):
    log = softmax_log(6_000, 1, 2, seed=15, spread=10.0)
    columns = {"ad": log.actions, "click": log.outcomes, "age": log.contexts[:, 0]}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "log.parquet")
    table = scan_log(tmp_path / "log.parquet", action="ad", outcome="click", contexts=["age"])
    with pytest.warns(OverlapWarning, match="of 3000 users had an estimated chance below") as seen:
        hs.estimate_propensities(table, sample_rows=3_000)
    assert seen[0].filename == __file__
