"""IPSWeighting and BalancedWeighting (DoublyRobust has its own file): a mean per action, good for so many plays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

import headstart as hs
from headstart.errors import LogError, OptionError
from headstart.evaluators.balanced_weighting import balancing_weights
from tests.plain import SlowIPSW


def drain(evaluator, context, action) -> list[float]:
    answers = []
    while (outcome := evaluator.get_outcome(context, action)) is not None:
        answers.append(outcome)
        assert len(answers) < 10**6
    return answers


# --- inverse propensity weighting


def test_ipsw_by_hand():
    """Action 0: outcomes 1, 0 with p 1/2, 1/4, so weights 2, 4: mean 2/6, N = 36/20 = 1.8, one answer.

    Action 1: outcomes 3, 5, 4 with p 1/2, 1/2, 1/2: mean 4, N = 3, three answers. Action 2 is never shown.
    """
    evaluator = hs.IPSWeighting(
        hs.Log([0, 0, 1, 1, 1], [1, 0, 3, 5, 4], propensities=[0.5, 0.25, 0.5, 0.5, 0.5], n_actions=3)
    )
    np.testing.assert_allclose(evaluator.means, [1 / 3, 4.0, np.nan])
    np.testing.assert_allclose(evaluator.effective_sizes, [1.8, 3.0, 0.0])
    assert drain(evaluator, None, 0) == [pytest.approx(1 / 3)]
    assert drain(evaluator, None, 1) == [4.0, 4.0, 4.0]
    assert drain(evaluator, None, 2) == []
    np.testing.assert_allclose(evaluator.effective_sizes, [1.8, 3.0, 0.0])  # what it was worth, not what is left


def test_an_effective_size_below_one_gives_no_answer_and_exactly_one_gives_one():
    """The paper's N_a >= 1: a single row has N = 1."""
    evaluator = hs.IPSWeighting(hs.Log([0], [0.0], propensities=[0.01]))
    assert drain(evaluator, None, 0) == [0.0]


@given(st.integers(1, 3000), st.floats(1e-6, 1.0))
def test_constant_propensities_are_worth_exactly_the_count(count: int, propensity: float):
    log = hs.Log(np.zeros(count, dtype=int), np.ones(count), propensities=np.full(count, propensity))
    assert hs.IPSWeighting(log).effective_sizes.tolist() == [count]


@pytest.mark.parametrize("propensity", [1 / 3, 0.1, 0.7, 1 / 7])
def test_constant_propensities_lose_no_play_of_a_million(propensity: float):
    n = 1_000_000
    log = hs.Log(np.zeros(n, dtype=int), np.ones(n), propensities=np.full(n, propensity))
    assert hs.IPSWeighting(log).effective_sizes.tolist() == [n]


ROWS = st.lists(st.tuples(st.integers(0, 2), st.floats(-100, 100), st.floats(0.01, 1.0)), min_size=1, max_size=30)


@given(ROWS)
def test_ipsw_is_its_slow_twin(rows):
    log = hs.Log(
        *(list(column) for column in zip(*[(a, y) for a, y, _ in rows], strict=True)),
        propensities=[p for _, _, p in rows],
        n_actions=3,
    )
    fast, slow = hs.IPSWeighting(log), SlowIPSW(log)
    shown = np.bincount(log.actions, minlength=3) > 0
    np.testing.assert_allclose(fast.means[shown], np.array(slow.means)[shown], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(fast.effective_sizes, slow.sizes, rtol=1e-9)
    assert np.isnan(fast.means[~shown]).all()


@given(ROWS, st.randoms(use_true_random=False))
def test_row_order_does_not_matter_and_labels_permute_the_answer(rows, random):
    def weighted(rows):
        return hs.IPSWeighting(
            hs.Log([a for a, _, _ in rows], [y for _, y, _ in rows], propensities=[p for *_, p in rows], n_actions=3)
        )

    straight = weighted(rows)
    shuffled = list(rows)
    random.shuffle(shuffled)
    np.testing.assert_allclose(weighted(shuffled).means, straight.means, rtol=1e-9, atol=1e-9)
    turned = weighted([((a + 1) % 3, y, p) for a, y, p in rows])
    np.testing.assert_allclose(np.roll(turned.means, -1), straight.means, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.roll(turned.effective_sizes, -1), straight.effective_sizes, rtol=1e-9)


@pytest.mark.parametrize("evaluator", [hs.IPSWeighting, hs.DoublyRobust])
def test_without_propensities_the_error_names_the_way_out(evaluator):
    log = hs.Log([0, 1], [1.0, 2.0])
    with pytest.raises(LogError, match=rf"{evaluator.__name__} needs propensities and the log has none: give Log\("):
        evaluator(log)
    with pytest.raises(LogError, match=r"estimate them with hs\.estimate_propensities\(log\)"):
        evaluator(log)


# --- entropy balancing


def test_balanced_weights_by_hand():
    """Two rows of action 0 at x = 0 and x = 1, two of action 1 at 0 and 0; the log's mean is 1/4. Weights of action 0
    with mean 1/4 are 3/4 and 1/4: the mean outcome is 0.75 * 10 + 0.25 * 20 = 12.5, N = 1 / (9/16 + 1/16) = 1.6.
    Action 1 has no row above 0: no weights reach 1/4, both rows weigh the same.
    """
    log = hs.Log([0, 0, 1, 1], [10.0, 20.0, 1.0, 3.0], [[0.0], [1.0], [0.0], [0.0]])
    evaluator = hs.BalancedWeighting(log, ridge=1e-12)
    np.testing.assert_allclose(evaluator.means, [12.5, 2.0], rtol=1e-9)
    np.testing.assert_allclose(evaluator.effective_sizes, [1.6, 2.0], rtol=1e-9)
    assert len(drain(evaluator, None, 0)) == 1


def test_balancing_weights_reach_the_target_and_are_the_entropy_solution():
    """Against scipy: minimise sum w ln w under sum w = 1, w'x = target."""
    rng = np.random.default_rng(1)
    x, target = rng.standard_normal((12, 2)), np.array([0.2, -0.1])
    weights = balancing_weights(x, target, 1e-12)
    np.testing.assert_allclose(weights @ x, target, atol=1e-8)
    slow = optimize.minimize(
        lambda w: float((w * np.log(w)).sum()),
        np.full(12, 1 / 12),
        jac=lambda w: np.log(w) + 1,
        method="SLSQP",
        bounds=[(1e-12, 1)] * 12,
        options={"ftol": 1e-14, "maxiter": 1000},
        constraints=[{"type": "eq", "fun": lambda w: w.sum() - 1}, {"type": "eq", "fun": lambda w: w @ x - target}],
    )
    np.testing.assert_allclose(weights, slow.x, atol=1e-5)


def test_balancing_out_of_reach_stays_finite():
    weights = balancing_weights(np.array([[1.0], [2.0]]), np.array([0.0]), 1e-4)
    assert np.isfinite(weights).all()
    assert weights.sum() == pytest.approx(1.0)
    assert weights[0] > 0.99  # as near as it gets


def test_balanced_weighting_takes_categories_constant_columns_and_no_columns():
    """One-hot columns sum to 1, so that no weights are the only ones; a constant column moves nothing."""
    log = hs.Log([0, 0, 0, 1, 1], [1.0, 2.0, 3.0, 4.0, 5.0], {"kind": list("aabab"), "one": [1.0] * 5})
    evaluator = hs.BalancedWeighting(log)
    # The log has 3/5 a: action 0 has a, a, b; a's weigh 0.3 each, b 0.4. Action 1: b 0.4, a 0.6... in order a, b.
    np.testing.assert_allclose(evaluator.means, [0.3 * 1 + 0.3 * 2 + 0.4 * 3, 0.6 * 4 + 0.4 * 5], atol=1e-3)
    bare = hs.BalancedWeighting(hs.Log([0, 0, 1], [1.0, 2.0, 7.0]))
    np.testing.assert_allclose(bare.means, [1.5, 7.0])
    np.testing.assert_allclose(bare.effective_sizes, [2.0, 1.0])


def test_balanced_weighting_rejects_a_ridge_of_nothing():
    with pytest.raises(OptionError, match=r"ridge must be a finite number in \[1e-12, inf\], got 0"):
        hs.BalancedWeighting(hs.Log([0], [1.0]), ridge=0.0)


# --- they recover the truth


@pytest.mark.parametrize(
    "estimate",
    [hs.IPSWeighting, hs.BalancedWeighting, hs.DoublyRobust],
    ids=lambda evaluator: evaluator.__name__,
)
def test_a_confounded_log_does_not_bias_the_mean(estimate):
    """400 logs of 400 rows from one linear world whose logging policy looks at what moves the outcome.

    The plain averages are off by many standard errors; these must not be: for each of 2 actions the mean of 400
    estimates lies within 5.33 standard errors of E[y | a] (1e-7 each for a normal mean), plus what the method itself
    allows: the ridges' balance 1e-3 and, for the ratio estimator IPSW, its bias of order variance / n.
    """
    theta = np.array([1.0, -0.5])

    def logged(rng: np.random.Generator) -> hs.Log:
        x = rng.uniform(-1, 1, (400, 2))
        p = 1 / (1 + np.exp(-1.5 * x @ theta))
        actions = (rng.random(400) < p).astype(int)
        outcomes = np.where(actions == 1, x @ theta + 0.5, 0.5 * x @ theta) + 0.1 * rng.standard_normal(400)
        return hs.Log(actions, outcomes, x, np.column_stack([1 - p, p]), n_actions=2)

    truth = np.array([0.0, 0.5])
    rng = np.random.default_rng(17)
    estimates, averages = [], []
    for _ in range(400 if estimate is not hs.DoublyRobust else 60):
        log = logged(rng)
        estimates.append(estimate(log).means)
        averages.append([log.outcomes[log.actions == a].mean() for a in range(2)])
    n = len(estimates)
    allowed = 5.33 * np.std(estimates, axis=0, ddof=1) / np.sqrt(n) + 1e-3
    if estimate is hs.IPSWeighting:
        allowed += np.var(estimates, axis=0)
    assert (np.abs(np.mean(estimates, axis=0) - truth) < allowed).all()
    naive = np.abs(np.mean(averages, axis=0) - truth) / (np.std(averages, axis=0, ddof=1) / np.sqrt(n))
    assert (naive > 20).all()  # the log is confounded, or nothing was shown


def test_budget_evaluators_reject_a_wrong_action_and_keep_their_budget():
    evaluator = hs.IPSWeighting(hs.Log([0, 1], [1.0, 2.0], propensities=[0.5, 0.5]))
    for action in (2, -1, "b", 0.5, None):
        with pytest.raises(hs.errors.ActionError, match=r"action must be an index 0\.\.1, got"):
            evaluator.get_outcome(None, action)
    assert drain(evaluator, None, 0) == [1.0]
    assert drain(evaluator, None, 1) == [2.0]
    assert evaluator.is_exhausted()
