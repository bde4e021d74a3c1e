"""RobustThompson: the log as a prior, as far as it is trusted."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from scipy import stats

import headstart as hs
from headstart.errors import ActionError, OptionError
from headstart.estimates.summary import Summary
from headstart.evaluators import DoublyRobust
from headstart.oracles import RobustThompson, ThompsonNormal
from headstart.testing import check_oracle
from headstart.worlds import Synthetic

SUMMARY = Summary(np.array([0.0, 0.5, 1.0]), np.array([0.1, 0.2, 0.25]), np.array([1.0, 1.0, 1.0]))
NOTHING = Summary(np.full(2, np.nan), np.full(2, np.inf), np.full(2, np.nan))


def taught(oracle: RobustThompson, outcomes: dict[int, list[float]]) -> RobustThompson:
    for action, values in outcomes.items():
        for value in values:
            oracle.update(None, action, value)
    return oracle


def test_the_prior_by_hand():
    """Means 0, 0.5, 1: centre 0.5, M = 1, variance between them 0.25. Sizes 1 / s.e.^2 = 100, 25, 16. Pooled variance
    (99 + 24 + 15 + 0.25) / 139, own = ((size - 1) + 8 pooled) / (size + 7). N(., S^2) is worth own / (pooled + 0.25)
    plays, the rival 1 / 0.6^2 times as many."""
    state = RobustThompson(3, SUMMARY, trust=0.6, rival_share=0.8, rng=1).get_state()
    pooled = 138.25 / 139
    own = (np.array([99, 24, 15]) + 8 * pooled) / np.array([107, 32, 23])
    unit = own / (pooled + 0.25)
    np.testing.assert_allclose(state["belief.variances"], own, rtol=1e-13)
    np.testing.assert_array_equal(state["belief.centres"], [[0.0, 1.0, 0.5], [0.5, 1.0, 0.5], [1.0, 1.0, 0.5]])
    np.testing.assert_allclose(
        state["belief.sizes"], np.stack([[100, 25, 16], unit / 0.6**2, unit], axis=1), rtol=1e-13
    )
    np.testing.assert_allclose(state["belief.weights"], [[0.6, 0.4 * 0.8, 0.4 * 0.2]] * 3, rtol=1e-13)
    np.testing.assert_allclose(state["belief.freedoms"], [30.0, 24.0, 15.0], rtol=1e-13)


def test_components_are_weighed_by_their_marginal_likelihood():
    """An action's outcomes under a component are jointly Student's: freedom f, mean c, scale v (I + 11' / size)."""
    values = [0.3, -0.4, 1.1, 0.9]
    oracle = RobustThompson(3, SUMMARY, rng=1)
    prior = oracle.get_state()
    taught(oracle, {1: values})
    n, f, v = len(values), prior["belief.freedoms"][1], prior["belief.variances"][1]
    weights = [
        prior["belief.weights"][1, j]
        * stats.multivariate_t(
            np.full(n, prior["belief.centres"][1, j]), v * (np.eye(n) + 1 / prior["belief.sizes"][1, j]), df=f
        ).pdf(values)
        for j in range(3)
    ]
    np.testing.assert_allclose(oracle.get_state()["belief.weights"][1], weights / np.sum(weights), rtol=1e-10)
    assert oracle.readings().trust[1] == oracle.get_state()["belief.weights"][1, 0]


def test_the_posterior_of_a_log_that_is_believed_by_hand():
    """trust 1: size 25, mean 0.5, outcomes 1 and 2: mean (12.5 + 3) / 27; squares 24 v + 0.5 + 25 * 2 / 27 * 1."""
    oracle = taught(RobustThompson(3, SUMMARY, trust=1.0, rng=1), {1: [1.0, 2.0]})
    state, readings = oracle.get_state(), oracle.readings()
    squares = 24 * state["belief.variances"][1] + 0.5 + 25 * 2 / 27
    assert state["belief.locations"][1, 0] == pytest.approx(15.5 / 27, rel=1e-13)
    assert state["belief.scales"][1, 0] == pytest.approx(math.sqrt(squares / (26 * 27)), rel=1e-13)
    assert readings.means[1] == pytest.approx(15.5 / 27, rel=1e-13)
    assert readings.standard_errors[1] == pytest.approx(math.sqrt(squares / (26 * 27) * 26 / 24), rel=1e-13)
    assert readings.trust.tolist() == [1.0, 1.0, 1.0]
    assert np.isinf(state["caps"]).all()  # who believes the log blindly has no cap


@pytest.mark.parametrize("outcomes", [{}, {0: [0.2]}, {0: [0.5, 1.0, -0.5], 2: [0.1, 0.0], 1: [0.9]}])
@pytest.mark.parametrize("available", [None, [0, 2]])
def test_probabilities_are_the_frequencies_of_play(outcomes, available):
    """Chi-square over 40,000 plays; false alarm 1e-4 for each of the six."""
    oracle = taught(RobustThompson(3, SUMMARY, rng=7), outcomes)
    chances = oracle.probabilities(None, available)
    counts = np.bincount([oracle.play(None, available) for _ in range(40_000)], minlength=3)
    some = chances > 0
    assert counts[~some].sum() == 0
    assert stats.chisquare(counts[some], 40_000 * chances[some]).pvalue > 1e-4


def test_a_log_in_conflict_fades_and_one_confirmed_gains():
    """The log says 1 +- 0.25 of action 2. Users around 1 confirm it, users around -1 end it."""
    rng = np.random.default_rng(1)
    noise = rng.normal(size=40)
    confirmed = taught(RobustThompson(3, SUMMARY, trust=0.7, rng=1), {2: list(1.0 + noise - noise.mean())})
    refuted = taught(RobustThompson(3, SUMMARY, trust=0.7, rng=1), {2: list(-1.0 + noise - noise.mean())})
    assert confirmed.readings().trust[2] > 0.75
    assert refuted.readings().trust[2] < 0.001
    assert refuted.readings().trust[0] == pytest.approx(0.7)  # other actions' logs have nothing to do with it
    size = refuted.get_state()["belief.sizes"][2, 1]  # what is left is the rival, N(1, .), worth so many plays
    assert refuted.readings().means[2] == pytest.approx((size - 40) / (size + 40), abs=0.001)


def test_a_draw_is_capped_by_what_users_show():
    """Three users around -1 of an action that the log puts at 1: the log alone would go on playing it."""
    outcomes = {2: [-1.1, -1.0, -0.9]}
    chances = {
        is_capped: taught(RobustThompson(3, SUMMARY, is_capped=is_capped, rng=1), outcomes).probabilities()[2]
        for is_capped in (False, True)
    }
    assert chances[True] < chances[False] / 3


@pytest.mark.parametrize(("scale", "shift"), [(1024.0, 0.0), (2.0**-20, 0.0), (1.0, 4096.0)])
def test_the_scale_and_the_zero_of_outcomes_do_not_matter(scale: float, shift: float):
    outcomes = {0: [0.5, 1.0, -0.5], 2: [0.1, 0.0], 1: [0.9]}
    changed = Summary(shift + scale * SUMMARY.means, scale * SUMMARY.standard_errors, scale**2 * SUMMARY.variances)
    first = taught(RobustThompson(3, SUMMARY, rng=1), outcomes)
    second = taught(
        RobustThompson(3, changed, rng=1), {a: [shift + scale * y for y in some] for a, some in outcomes.items()}
    )
    np.testing.assert_allclose(second.probabilities(), first.probabilities(), atol=1e-8)


def test_relabelling_actions_permutes_the_chances():
    order = [2, 0, 1]
    turned = Summary(SUMMARY.means[order], SUMMARY.standard_errors[order], SUMMARY.variances[order])
    trust = np.array([0.9, 0.5, 0.7])
    first = RobustThompson(3, SUMMARY, trust=trust, rng=1).probabilities()
    second = RobustThompson(3, turned, trust=trust[order], rng=1).probabilities()
    np.testing.assert_allclose(second, first[order], atol=1e-9)


def test_an_action_that_the_log_never_shows_may_be_a_rival():
    partial = Summary(np.array([0.2, np.nan]), np.array([0.1, np.inf]), np.array([0.25, np.nan]))
    oracle = RobustThompson(2, partial, trust=0.9, rng=1)
    assert oracle.readings().trust.tolist() == pytest.approx([0.9, 0.0])
    assert 0.2 < oracle.probabilities()[1] < 0.8


@pytest.mark.parametrize("summary", [NOTHING, Summary(np.zeros(2), np.zeros(2), np.zeros(2))])
def test_a_log_without_any_difference_leaves_it_to_users(summary):
    oracle = RobustThompson(2, summary, rng=1)
    np.testing.assert_array_equal(oracle.probabilities(), [0.5, 0.5])
    taught(oracle, {0: [3.0, 3.0], 1: [3.0]})
    np.testing.assert_array_equal(oracle.probabilities(), [0.5, 0.5])
    taught(oracle, {0: [5.0] * 4, 1: [3.0, 3.0]})
    assert oracle.probabilities()[0] > 0.8


def test_a_withdrawn_log_is_not_trusted_any_more():
    for trust in (0.8, 1.0):
        oracle = taught(RobustThompson(3, SUMMARY, trust=trust, rng=1), {0: [0.4, 0.6]})
        before = oracle.readings().trust
        oracle.withdraw(1)
        after = oracle.readings()
        assert after.trust[1] == 0.0
        assert after.trust[[0, 2]].tolist() == before[[0, 2]].tolist()
        assert np.isfinite(oracle.probabilities()).all()
    with pytest.raises(ActionError, match=r"0\.\.2, got 3"):
        oracle.withdraw(3)


def test_a_copy_a_pickle_and_a_saved_state_have_the_same_future():
    oracle = taught(RobustThompson(3, SUMMARY, rng=5), {0: [0.4, 0.6], 2: [1.0]})
    restored = RobustThompson(3, SUMMARY, rng=9)
    restored.set_state(oracle.get_state())
    twins = [oracle.copy(), pickle.loads(pickle.dumps(oracle)), restored]
    future = [oracle.play() for _ in range(50)]
    for twin in twins:
        assert [twin.play() for _ in range(50)] == future


def test_it_is_itself_under_a_warm_start_without_a_log():
    bare = RobustThompson(3, SUMMARY, rng=3)
    warm = hs.WarmStart(RobustThompson(3, SUMMARY, rng=3), hs.NoLog())
    assert [bare.play() for _ in range(50)] == [warm.play() for _ in range(50)]
    np.testing.assert_array_equal(bare.probabilities(), warm.probabilities())
    check_oracle(warm)


def test_a_good_log_saves_regret_and_a_flattering_one_costs_little():
    """K = 3, 100 rows, 500 users, run by run against a cold start, 200 runs; 3 standard errors of the difference.

    Good log: at most 0.7 of the cold regret (measured: 0.46). The next best action's log 0.6 too good: at most 1.2.
    """
    for bias, limit in ((0.0, 0.7), (0.6, 1.2)):

        def warm(world, log, rng, bias=bias):
            outcomes = log.outcomes + bias * (log.actions == 1)
            biased = hs.Log(log.actions, outcomes, log.contexts, log.propensity_matrix, n_actions=3)
            return RobustThompson(3, DoublyRobust(biased).summary(), rng=rng)

        policies = {"cold": lambda world, log, rng: ThompsonNormal(3, rng=rng), "warm": warm}
        curves = hs.simulate(Synthetic(n_actions=3, n_log=100), policies, rounds=500, runs=200, seed=2)
        excess = curves["warm"].regrets[:, -1] - limit * curves["cold"].regrets[:, -1]
        assert excess.mean() < 3 * excess.std(ddof=1) / math.sqrt(excess.size)


def test_rejects_what_it_cannot_mean():
    with pytest.raises(OptionError, match="summary must be a Summary"):
        RobustThompson(3, None)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="summary must be of 2 actions, got 3"):
        RobustThompson(2, SUMMARY)
    with pytest.raises(OptionError, match=r"trust must be in \[0, 1\]"):
        RobustThompson(3, SUMMARY, trust=1.2)
    with pytest.raises(OptionError, match="trust must be a number or 3 of them"):
        RobustThompson(3, SUMMARY, trust=[0.5, 0.5])
    with pytest.raises(OptionError, match="rival_share must be"):
        RobustThompson(3, SUMMARY, rival_share=2.0)
