"""The weighted mean and its error: by hand, and the same in every room that prints it."""

import math
from dataclasses import replace

import numpy as np
import pytest

import headstart as hs
from headstart import ope
from headstart.estimates.weighted import kish_size, root_sum_square, unweighted, weigh_ratio, weigh_rows, weigh_sums
from headstart.judgement.audit.checks.effects import weighted_effect
from headstart.judgement.audit.checks.population import compare_population
from headstart.serve.telling.report import Report
from headstart.serve.telling.sums import Sums

N = 400


@pytest.fixture(scope="module")
def log():
    rng = np.random.default_rng(0)
    x = rng.random((N, 2))
    chance = 0.2 + 0.6 * x[:, 0]
    actions = (rng.random(N) < chance).astype(int)
    outcomes = (rng.random(N) < 0.3 + 0.2 * actions + 0.2 * x[:, 0]).astype(float)
    return hs.Log(actions, outcomes, x, propensities=np.where(actions == 1, chance, 1.0 - chance))


def test_by_hand():
    """Outcomes 1, 3 with weights 2, 4: m = 14/6 = 7/3, N = 36/20 = 9/5, N / (N - 1) = 9/4.

    w (y - m) is -8/3 and 8/3, so s.e. = sqrt(9/4 * 2 * 64/9) / 6 = sqrt(32) / 6. The scatter is (2 (4/3)^2 +
    4 (2/3)^2) / 6 = 8/9, the variance 9/4 of it: 2. An action with one row has a mean and no error.
    """
    actions, outcomes, weights = np.array([0, 0, 1]), np.array([1.0, 3.0, 5.0]), np.array([2.0, 4.0, 7.0])
    sums = hs.Log(actions, outcomes, propensities=1.0 / weights, n_actions=3).action_sums()
    for found in (weigh_rows(actions, outcomes, weights, 3), weigh_sums(sums)):
        np.testing.assert_allclose(found.means, [7 / 3, 5.0, np.nan])
        np.testing.assert_allclose(found.standard_errors, [math.sqrt(32) / 6, np.inf, np.inf])
        np.testing.assert_allclose(found.sizes, [1.8, 1.0, 0.0])
        np.testing.assert_allclose(found.scatters, [8 / 9, 0.0, 0.0], atol=1e-15)
        np.testing.assert_allclose(found.variances, [2.0, np.nan, np.nan])
    one = weigh_ratio(np.array([2.0, 12.0, 0.0]), np.array([2.0, 4.0, 0.0]))
    assert one.value == pytest.approx(7 / 3)
    np.testing.assert_allclose(one.influence, [-1.5 * 8 / 18, 1.5 * 8 / 18, 0.0])  # f = 3/2
    assert one.standard_error == pytest.approx(math.sqrt(32) / 6)
    assert math.isinf(weigh_ratio(np.array([7.0, 0.0]), np.array([1.0, 0.0])).standard_error)


@pytest.mark.parametrize("seed", range(5))
def test_the_kernel_is_its_slow_twin_to_the_bit(seed):
    """numpy adds rows of an action in their order, and so does the loop."""
    rng = np.random.default_rng(seed)
    actions, y, w = rng.integers(0, 3, 60), 100.0 * rng.standard_normal(60), 1.0 / rng.uniform(0.01, 1.0, 60)
    found = weigh_rows(actions, y, w, 4)
    for a in range(4):
        mine, v = y[actions == a], (w / w.max())[actions == a]
        if not mine.size:
            assert (found.sizes[a], found.scatters[a], found.standard_errors[a]) == (0.0, 0.0, math.inf)
            continue
        total, squares = _add(v), _add(v * v)
        mean, size = _add(v * mine) / total, total * total / squares
        apart = mine - mean
        assert (found.means[a], found.sizes[a]) == (mean, size)
        assert found.scatters[a] == _add(v * apart * apart) / total
        assert found.standard_errors[a] == math.sqrt(_add((v * apart) ** 2) * (size / (size - 1.0))) / total


def _add(values):
    """One after the other: numpy's own sum goes by pairs."""
    return float(np.bincount(np.zeros(values.size, int), values)[0])


def test_sums_that_nobody_asked_for_leave_the_error_unknown():
    sums = hs.Log([0, 0, 1], [1.0, 3.0, 5.0], propensities=[0.5, 0.25, 0.2]).action_sums()
    found = weigh_sums(replace(sums, wwy=np.full(2, np.nan)))
    assert math.isnan(found.standard_errors[0])
    assert found.means[0] == pytest.approx(7 / 3)


def test_with_equal_weights_it_is_the_usual_error():
    values = np.random.default_rng(3).standard_normal(50)
    sums = unweighted(np.array([50.0]), values.sum()[None], (values @ values)[None])
    usual = values.std(ddof=1) / math.sqrt(50)
    assert weigh_sums(sums).standard_errors[0] == pytest.approx(usual)
    assert weigh_ratio(values, np.ones(50)).standard_error == pytest.approx(usual)
    assert weigh_sums(sums).variances[0] == pytest.approx(values.var(ddof=1))
    assert kish_size(np.full(50, 0.1)) == 50.0


def test_influences_give_the_error_of_a_difference():
    """Rows of two actions are different rows, so the errors add in squares."""
    rng = np.random.default_rng(4)
    y, w = rng.standard_normal(60), rng.uniform(1.0, 5.0, 60)
    first = np.arange(60) < 25
    one, two = (weigh_ratio(np.where(mine, w * y, 0.0), np.where(mine, w, 0.0)) for mine in (first, ~first))
    together = root_sum_square(one.influence - two.influence)
    assert together == pytest.approx(math.hypot(one.standard_error, two.standard_error))
    assert one.influence.sum() == pytest.approx(0.0, abs=1e-12)


def test_the_error_of_few_heavy_rows_is_nearer_the_truth_than_with_n():
    """20,000 logs of 10 rows, 1/p between 1 and 10: the mean squared error estimate over the variance of the mean.

    A ratio of variances over 20,000 logs has a standard error of 1 %; the two rules are 3 % apart.
    """
    rng = np.random.default_rng(1)
    p = np.sqrt(0.01 + 0.99 * rng.random((20_000, 10)))
    y, labels = rng.standard_normal(p.shape), np.repeat(np.arange(20_000), 10)
    found = weigh_rows(labels, y.ravel(), 1.0 / p.ravel(), 20_000)
    with_n = found.standard_errors**2 * (found.sizes - 1.0) / found.sizes * 10 / 9
    truth = found.means.var()
    ours, theirs = (found.standard_errors**2).mean() / truth, with_n.mean() / truth
    assert theirs < ours < 1.0


def test_one_log_one_standard_error_in_every_room(log):
    """The evaluator, the audit, the off-policy estimate, the effect, the population and the service's report."""
    expected = hs.IPSWeighting(log).summary()
    same = {"rtol": 1e-12}
    found = hs.audit(log)
    np.testing.assert_allclose([action.mean for action in found.actions.actions], expected.means, **same)
    np.testing.assert_allclose([a.standard_error for a in found.actions.actions], expected.standard_errors, **same)
    np.testing.assert_allclose([action.variance for action in found.actions.actions], expected.variances, **same)
    fixed = [ope.snips(log, np.full(N, action)) for action in range(2)]
    np.testing.assert_allclose([one.value for one in fixed], expected.means, **same)
    np.testing.assert_allclose([one.standard_error for one in fixed], expected.standard_errors, **same)
    sums = Sums(log.action_names)
    sums.add_outcomes(np.zeros(N), log.actions, log.propensities, log.outcomes, np.zeros(N, dtype=bool), np.ones(N))
    report = Report(sums)
    np.testing.assert_allclose(report.weighed().standard_errors, expected.standard_errors, **same)
    np.testing.assert_allclose(report.weighed().sizes, hs.IPSWeighting(log).effective_sizes, **same)
    lead, error = expected.means[1] - expected.means[0], math.hypot(*expected.standard_errors)
    effect = weighted_effect(log, 1, 0)
    itself = compare_population(log, log, 0, N, 0)
    for value, doubt in (
        (found.actions.lead, found.actions.lead_error),
        (effect.difference, effect.standard_error),
        (found.refutations.weighted, found.refutations.weighted_error),
        (itself.lead, itself.lead_error),
    ):
        np.testing.assert_allclose([value, doubt], [lead, error], **same)


def test_rows_and_tables_agree_far_from_zero(log):
    """Rows lose no digits to an offset, sums a few."""
    moved = log.outcomes + 1e3
    rows = weigh_rows(log.actions, moved, 1.0 / log.propensities, 2)
    sums = weigh_sums(hs.Log(log.actions, moved, propensities=log.propensities).action_sums())
    np.testing.assert_allclose(rows.standard_errors, hs.IPSWeighting(log).summary().standard_errors, rtol=1e-9)
    np.testing.assert_allclose(sums.standard_errors, rows.standard_errors, rtol=1e-6)
