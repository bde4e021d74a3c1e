"""Statistics computed by DuckDB equal those of the rows, and so do the evaluators built from them."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.errors import LogError, OptionError
from headstart.estimates.propensity import LogisticPropensity
from headstart.evaluators import ExactMatching, HistoricalAverage, IPSWeighting, LinearModel, PropensityMatching
from headstart.logs.log import Log
from headstart.logs.tables.categories import SampledWarning
from headstart.logs.tables.sampling import copies_of_a_row, with_keys
from headstart.logs.tables.table import LogTable
from headstart.oracles import UCB, LinUCB
from headstart.warmstart.warmstart import WarmStart
from tests.logs.tables.agreement import CHECKS
from tests.logs.tables.twins import as_table, assert_same_sums, make_log


@pytest.fixture(scope="module")
def log() -> Log:
    return make_log()


@pytest.fixture(scope="module")
def table(log: Log) -> LogTable:
    return as_table(log)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_what_duckdb_computes_is_what_the_rows_say(check: Callable[[Any, Log], None], table: LogTable, log: Log):
    check(table, log)


def test_sums_by_hand():
    """Action 0: outcomes 1, 3 with p 1/2, 1/4. Sums of w: 6; wy: 2 + 12; wwyy: 4 + 144. Action 1 has no rows."""
    sums = as_table(Log([0, 0], [1.0, 3.0], [[2.0], [5.0]], [0.5, 0.25], n_actions=2)).action_sums()
    by_hand = {
        "n": 2, "y": 4, "yy": 10, "w": 6, "wy": 14, "wyy": 38, "ww": 20, "wwy": 52, "wwyy": 148,
        "yyy": 28, "www": 72, "lowest": 1, "highest": 3, "rarest": 0.25,
    }  # fmt: skip
    assert {name: values[0] for name, values in vars(sums).items()} == by_hand
    assert sums.n[1] == sums.w[1] == 0.0
    assert math.isnan(sums.lowest[1])


def test_only_the_sums_asked_for_are_computed(log: Log):
    table = as_table(log)
    some = table.action_sums(only=("w", "ww"))
    np.testing.assert_allclose(some.w, log.action_sums().w)
    assert np.isnan(some.y).all()
    assert table.action_sums().y.sum() == pytest.approx(log.outcomes.sum())  # the part was not kept as the whole


def test_a_table_without_propensities_has_no_weights():
    log = Log([0, 1, 0], [1.0, 2.0, 3.0], [[0.0], [1.0], [2.0]])
    table = as_table(log)
    assert_same_sums(table.action_sums(), log.action_sums())
    assert_same_sums(table.context_sums(), log.context_sums())
    with pytest.raises(LogError, match=r"IPSWeighting needs propensities.*read_log\(\.\.\., propensity="):
        IPSWeighting(table)
    with pytest.raises(LogError, match="the log has no propensities"):
        table.propensity_counts([0.0, 1.0])


def test_a_table_without_contexts_works_as_a_log_does():
    log = Log([0, 1, 0], [1.0, 2.0, 3.0], propensities=[0.5, 0.5, 0.5])
    table = as_table(log)
    assert table.context_sums().x.shape == (2, 0)
    assert IPSWeighting(table).means.tolist() == [2.0, 2.0]
    assert ExactMatching(table, rng=0).get_outcome([], 1) == 2.0
    with pytest.raises(LogError, match="LinearModel needs contexts"):
        LinearModel(table)


def test_a_bin_of_propensities_holds_its_lower_edge():
    log = Log([0, 0, 0, 0], [1.0] * 4, propensities=[0.05, 0.2, 0.0499, 1.0])
    assert as_table(log).propensity_counts([0.0, 0.05, 0.2, 1.0]).tolist() == [[1, 1, 2]]


def test_a_sum_that_overflows_is_an_error():
    table = as_table(Log([0, 0], [1e200, 2.0], propensities=[0.5, 0.5]))
    with pytest.raises(LogError, match="the sum of yy overflows"):
        table.action_sums()


def test_a_gram_matrix_keeps_nine_digits_when_means_are_large():
    """Means of a million deviations: the relative error of every sum stays below n times the rounding unit."""
    rng = np.random.default_rng(5)
    contexts = 1e6 + rng.standard_normal((2_000, 2))
    log = Log(np.zeros(2_000, dtype=int), rng.random(2_000), contexts)
    grams, moments = as_table(log).product_sums()
    wide = np.column_stack([contexts, np.ones(2_000)]).astype(np.longdouble)
    np.testing.assert_allclose(grams[0], (wide.T @ wide).astype(float), rtol=2_000 * 2.0**-53)
    np.testing.assert_allclose(moments[0], (wide.T @ log.outcomes).astype(float), rtol=2_000 * 2.0**-53)


# --- summaries


def test_summary_of_weighting_by_hand():
    """Outcomes 1, 3 with weights 2, 4: m = 14/6 = 7/3. sum w^2 (y - m)^2 = 4 (4/3)^2 + 16 (2/3)^2 = 128/9, so
    s.e. = sqrt(N / (N - 1) 128/9) / 6 = sqrt(32) / 6 with N = 36/20 = 1.8. Variance: (2 (4/3)^2 + 4 (2/3)^2) / 6 =
    8/9, times N / (N - 1): 2.
    """
    log = Log([0, 0, 1], [1.0, 3.0, 5.0], propensities=[0.5, 0.25, 0.5], n_actions=3)
    for source in (log, as_table(log)):
        summary = IPSWeighting(source).summary()
        np.testing.assert_allclose(summary.means, [7 / 3, 5.0, np.nan])
        np.testing.assert_allclose(summary.standard_errors, [math.sqrt(32) / 6, np.inf, np.inf])
        np.testing.assert_allclose(summary.variances, [2.0, np.nan, np.nan])


def test_with_equal_weights_the_summary_is_the_usual_one():
    rng = np.random.default_rng(3)
    outcomes = rng.standard_normal(50)
    log = Log(np.zeros(50, dtype=int), outcomes, propensities=np.full(50, 0.2))
    for summary in (IPSWeighting(log).summary(), HistoricalAverage(log).summary()):
        np.testing.assert_allclose(summary.means, outcomes.mean())
        np.testing.assert_allclose(summary.standard_errors, outcomes.std(ddof=1) / math.sqrt(50))
        np.testing.assert_allclose(summary.variances, outcomes.var(ddof=1))
        np.testing.assert_allclose(summary.effective_sizes, 50.0)


def test_standard_errors_of_weighting_are_what_the_mean_varies_by():
    """2,000 logs of 400 rows: the spread of the means against the mean standard error.

    The ratio of two variances over 2,000 logs has a standard error near sqrt(2 / 2,000) = 3 %; linearisation's own
    bias is of order 1 / n. Bound: 5.3 s.e. of the variance ratio (1e-7), 17 %, plus 3 %.
    """
    rng = np.random.default_rng(11)
    means, errors = [], []
    for _ in range(2_000):
        x = rng.random(400)
        p = 0.1 + 0.8 * x
        a = (rng.random(400) < p).astype(int)
        log = Log(a, x + a + rng.standard_normal(400), propensities=np.where(a == 1, p, 1 - p), n_actions=2)
        summary = IPSWeighting(log).summary()
        means.append(summary.means)
        errors.append(summary.standard_errors)
    ratio = np.mean(np.square(errors), axis=0) / np.var(means, axis=0)
    assert (np.abs(ratio - 1.0) < 0.20).all()


# --- matching from counts


def test_more_categories_than_the_cap_are_sampled_out_loud():
    log = make_log(500, n_values=10**9)
    table = as_table(log)
    with pytest.warns(SampledWarning, match="a uniform sample of 100 of its 500 rows"):
        counts = table.category_counts(max_groups=100)
    assert counts.counts.sum() == 100
    rows = set(map(tuple, np.column_stack([log.contexts, log.actions, log.outcomes]).tolist()))
    sampled = np.column_stack([counts.strata, counts.actions, counts.outcomes])
    assert set(map(tuple, sampled.tolist())) <= rows
    with pytest.warns(SampledWarning):
        assert table.outcome_counts(max_groups=1).counts.sum() == 1


def test_a_log_of_different_rows_is_not_counted_in_vain():
    """n / (F / n), a lower bound of the number of groups, is near the number of groups: all different, or 27."""
    for n_values, groups in ((10**9, 20_000), (3, None)):
        log = make_log(20_000, n_values=n_values)
        rows, n = with_keys(as_table(log).table, ["x0", "x1", "action", "outcome"], (), np.random.default_rng(0))
        bound = n / copies_of_a_row(rows, n)
        if groups:
            assert 0.6 * groups < bound < 1.6 * groups  # 255 degrees of freedom: five deviations are 44 %
        else:
            assert bound < 200


def test_propensity_matching_stratifies_by_the_tables_own_vectors():
    """The vectors say 0.9 and 0.1 whatever the context: the model that answers for users has no say in the strata."""
    log = Log([0, 0], [1.0, 2.0], [[0.0], [1.0]], [[0.9, 0.1], [0.1, 0.9]], n_actions=2)
    evaluator = PropensityMatching(as_table(log), propensity=lambda context: np.array([0.1, 0.9]), rng=0)
    assert evaluator.get_outcome([0.0], 0) == 2.0
    assert evaluator.get_outcome([0.0], 0) is None


def test_propensity_matching_fits_a_model_where_there_is_none(table: LogTable, log: Log):
    evaluator = PropensityMatching(as_table(log, vectors=False), rng=0)
    assert evaluator.get_outcome(log.contexts[0], int(log.actions[0])) is not None


def test_propensity_matching_by_a_function_needs_vectors(log: Log):
    with pytest.raises(OptionError, match=r"must be a LogisticPropensity.*sample\(n_rows\)"):
        PropensityMatching(as_table(log, vectors=False), propensity=lambda context: np.array([0.5, 0.5, 0.0]))


@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=25))
def test_every_row_of_a_category_is_drawn_once(rows: list[tuple[int, int, int]]):
    a, x, y = (np.array(column) for column in zip(*rows, strict=True))
    log = Log(a, y.astype(float), x.astype(float).reshape(-1, 1), n_actions=2)
    evaluator = ExactMatching(as_table(log, threads=1), rng=0)
    for action in range(2):
        for context in range(3):
            expected = sorted(y[(a == action) & (x == context)].tolist())
            got = [evaluator.get_outcome([float(context)], action) for _ in expected]
            assert sorted(got) == expected  # type: ignore[type-var]


# --- a warm start from a table


def test_a_warm_start_from_a_table_is_one_from_its_rows(log: Log):
    """IPSW answers the same numbers, UCB plays by them: every virtual play and every decision agrees."""
    ours = WarmStart(UCB(log.n_actions), IPSWeighting(as_table(log)), rng=0)
    theirs = WarmStart(UCB(log.n_actions), IPSWeighting(log), rng=0)
    world = np.random.default_rng(4)
    for user in log.contexts[:50]:
        action = ours.play(user)
        assert action == theirs.play(user)
        outcome = float(world.random())
        ours.update(user, action, outcome)
        theirs.update(user, action, outcome)
    np.testing.assert_array_equal(ours.virtual_plays, theirs.virtual_plays)
    assert ours.virtual_plays.sum() > 0
    assert "contexts" not in vars(ours.evaluator)  # nobody looks at contexts here: no rows were fetched


def test_virtual_users_are_drawn_from_a_sample_of_the_table(log: Log):
    policy = WarmStart(LinUCB(log.n_actions, log.n_features), LinearModel(as_table(log)), rng=0)
    policy.play(log.contexts[0])
    assert policy.virtual_plays.sum() > 0
    rows = set(map(tuple, log.contexts.tolist()))
    assert all(tuple(row) in rows for row in policy.evaluator.contexts.tolist())


@pytest.mark.parametrize("build", [IPSWeighting, HistoricalAverage, ExactMatching, LinearModel])
def test_an_evaluator_from_a_table_can_be_copied_and_pickled(build: Any, table: LogTable, log: Log):
    evaluator = build(table)
    twins = [copy.deepcopy(evaluator), pickle.loads(pickle.dumps(evaluator))]
    for twin in twins:
        assert twin.outcome_range == evaluator.outcome_range
        np.testing.assert_array_equal(twin.contexts, evaluator.contexts)
        assert twin.get_outcome(log.contexts[0], 0) is not None


# --- propensities of a model


def test_propensities_of_a_model_are_columns(table: LogTable, log: Log):
    """The last action was never shown: its intercept is -inf and its propensity 0."""
    model = LogisticPropensity(log)
    expected = log.with_propensities(np.array([model(row) for row in log.contexts]))
    found = table.with_propensities_from(model)
    assert found.has_propensity_vectors
    assert_same_sums(found.action_sums(), expected.action_sums())
    np.testing.assert_allclose(found.to_log().propensity_matrix, expected.propensity_matrix, rtol=1e-12)


def test_scores_far_from_zero_do_not_overflow():
    """Scores of 2,000 and 0: exp(2,000) is infinite, the propensities are 1 and exp(-2,000)."""

    class Model:
        slopes, intercepts = np.array([[2.0], [0.0]]), np.array([0.0, 0.0])

    log = Log([0, 0], [1.0, 2.0], [[1_000.0], [0.0]], n_actions=2)
    assert as_table(log).with_propensities_from(Model).to_log().propensities.tolist() == [1.0, 0.5]


def test_a_model_that_never_saw_an_action_cannot_weight_it(log: Log):
    other = Log(np.minimum(log.actions, 0), log.outcomes, log.contexts, n_actions=3)
    with pytest.raises(LogError, match="rows took an action that the model never saw"):
        as_table(log).with_propensities_from(LogisticPropensity(other))


def test_a_model_of_other_columns_is_rejected(table: LogTable):
    model = LogisticPropensity(Log([0, 1], [1.0, 2.0], [[0.0, 1.0, 2.0], [1.0, 0.0, 0.0]], n_actions=3))
    with pytest.raises(OptionError, match="the model is of 3 actions and 3 context columns, the table has 3 and 2"):
        table.with_propensities_from(model)
