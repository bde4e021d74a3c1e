"""LinKnowledgeGradient: linear models that believe the log less and less, weighed by evidence."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import headstart as hs
from headstart.errors import ActionError, ContextError, OptionError
from headstart.estimates.ridge import centre_rows
from headstart.oracles.lin_knowledge_gradient import LinKnowledgeGradient, LinKnowledgeGradientOptions
from headstart.priors import linear
from headstart.priors.linear import (
    FADED,
    FRESH,
    LOGGED,
    SHIFTED,
    LinearPrior,
    models_of_rows,
    no_interactions,
    propose_interactions,
)
from headstart.priors.options import LinearPriorOptions, ProductOptions
from headstart.testing import check_oracle

OPTIONS = LinKnowledgeGradientOptions()
THETA = np.array([[0.0, 1.0, 0.0], [0.3, -1.0, 0.5], [0.6, 0.0, -1.0]])


def rows(n, rng, noise=1.0):
    """Contexts (1, x1, x2), actions that depend on x1, outcomes linear in x with another theta for each action."""
    x = np.column_stack([np.ones(n), rng.standard_normal((n, 2))])
    actions = (rng.random(n) * 3 * (0.5 + stats.norm.cdf(x[:, 1]))).astype(int) % 3
    return x, actions, (x * THETA[actions]).sum(axis=1) + noise * rng.normal(size=n)


X, ACTIONS, OUTCOMES = rows(200, np.random.default_rng(1))


def made(**settings) -> LinKnowledgeGradient:
    return LinKnowledgeGradient.from_rows(X, ACTIONS, OUTCOMES, 3, **{"rng": 1, **settings})


def plain_models(*centres: float, scale: float = 1.0, chances=None, freedom: float = 30.0) -> LinearPrior:
    """One constant column, one model per action."""
    k = len(centres)
    shares = np.ones((k, 1)) if chances is None else np.array(chances)
    n_models = shares.shape[1]
    levels = np.repeat(np.array(centres, dtype=float)[:, None, None], n_models, axis=1)
    return LinearPrior(levels, np.full((k, n_models, 1, 1), scale), shares, 1.0, np.full(k, freedom), 0.0)


# --- what the log says


def test_the_logged_model_is_the_posterior_given_all_rows():
    """Generalised least squares with the hierarchy's own covariances: the level flat (a variance of 1e8), slopes =
    common + own, then the levels' prior as one more outcome at x = 0."""
    models = models_of_rows(X, ACTIONS, OUTCOMES, 3, np.full(3, 0.8))
    sums = centre_rows(X[:, 1:], ACTIONS, OUTCOMES, np.ones(200), 3)
    c, c_own, *_ = linear._choose_hierarchy(sums, np.array(LinearPriorOptions().explained))
    design = np.zeros((200, 3 + 2 + 6))  # levels, common slopes, own slopes of each action
    design[np.arange(200), ACTIONS] = 1.0
    design[:, 3:5] = X[:, 1:]
    for a in range(3):
        mine = np.flatnonzero(a == ACTIONS)
        design[mine, 5 + 2 * a : 7 + 2 * a] = X[mine, 1:]
    precision = np.diag([1e-8] * 3 + [c] * 2 + [c_own] * 6)
    covariance = np.linalg.inv(precision + design.T @ design)
    mean = covariance @ (design.T @ OUTCOMES)
    for a in range(3):
        pick = np.zeros((3, 11))
        pick[0, a] = pick[1, 3] = pick[2, 4] = pick[1, 5 + 2 * a] = pick[2, 6 + 2 * a] = 1.0
        theta, inverse = pick @ mean, pick @ covariance @ pick.T
        level, between = models.centres[a, FRESH, 0], models.inverses[a, FRESH, 0, 0]
        gain = inverse[:, 0] / (inverse[0, 0] + between)
        theta, inverse = theta + gain * (level - theta[0]), inverse - np.outer(gain, inverse[0])
        np.testing.assert_allclose(models.centres[a, LOGGED], theta, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(models.inverses[a, LOGGED], inverse, rtol=1e-5, atol=1e-9)
    assert math.sqrt(models.variance) == pytest.approx(1.0, abs=4 / math.sqrt(2 * 200))  # the noise's spread


def test_a_shift_frees_the_level_and_keeps_the_slopes():
    models = models_of_rows(X, ACTIONS, OUTCOMES, 3, np.full(3, 0.8))
    np.testing.assert_array_equal(models.centres[:, SHIFTED], models.centres[:, LOGGED])
    freed = models.inverses[:, SHIFTED] - models.inverses[:, LOGGED]
    within = sum(((OUTCOMES[a == ACTIONS] - OUTCOMES[a == ACTIONS].mean()) ** 2).sum() for a in range(3)) / 200
    np.testing.assert_allclose(freed[:, 0, 0], within / models.variance, rtol=1e-9)
    freed[:, 0, 0] = 0.0
    np.testing.assert_allclose(freed, 0.0, atol=1e-15)


def test_doubting_models_do_not_depend_on_what_they_doubt():
    """Raising the logged outcomes of action 1 leaves its FADED and FRESH models, and the noise."""
    before = models_of_rows(X, ACTIONS, OUTCOMES, 3, np.full(3, 0.8))
    raised = models_of_rows(X, ACTIONS, OUTCOMES + 5.0 * (ACTIONS == 1), 3, np.full(3, 0.8))
    for j in (FADED, FRESH):
        np.testing.assert_allclose(raised.centres[1, j], before.centres[1, j], rtol=1e-9, atol=1e-12)
    assert raised.centres[1, LOGGED, 0] > before.centres[1, LOGGED, 0] + 3.0
    assert raised.variance == pytest.approx(before.variance, rel=1e-9)


def test_an_action_without_rows_is_like_the_others():
    models = models_of_rows(X, ACTIONS, OUTCOMES, 4, np.full(4, 0.8))
    np.testing.assert_array_equal(models.chances[3], [0.0, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(models.chances.sum(axis=1), 1.0)
    assert np.isfinite(models.centres).all()
    assert LinKnowledgeGradient(models, rng=1).trust.tolist() == pytest.approx([0.8, 0.8, 0.8, 0.0])


def test_slopes_in_common_are_found_to_be_in_common():
    """2,000 rows of actions that differ in level only: every action's slopes are (1, -1) within four of its own rows'
    standard errors 1 / sqrt(n / K) = 0.045, and nearer than regressions by action are, on average."""
    rng = np.random.default_rng(3)
    x = np.column_stack([np.ones(2000), rng.standard_normal((2000, 2))])
    actions = rng.integers(4, size=2000)
    y = x[:, 1] - x[:, 2] + actions + rng.standard_normal(2000)
    models = models_of_rows(x, actions, y, 4, np.full(4, 0.8))
    apart = models.centres[:, LOGGED, 1:] - [1.0, -1.0]
    alone = [np.linalg.lstsq(x[actions == a], y[actions == a], rcond=None)[0][1:] - [1.0, -1.0] for a in range(4)]
    assert np.abs(apart).max() < 4 * 0.045
    assert (apart**2).sum() < (np.array(alone) ** 2).sum()


def test_weights_count_rows():
    """A weight of 2 is a row twice."""
    twice = np.r_[np.arange(200), np.arange(50)]
    once = models_of_rows(X[twice], ACTIONS[twice], OUTCOMES[twice], 3, np.full(3, 0.8))
    weights = np.r_[np.full(50, 2.0), np.ones(150)]
    weighted = models_of_rows(X, ACTIONS, OUTCOMES, 3, np.full(3, 0.8), weights)
    np.testing.assert_allclose(weighted.centres, once.centres, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(weighted.inverses, once.inverses, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [3, 50, 5000])
def test_collinear_columns_and_outcomes_without_noise(n):
    """Dummies that add up to 1, a column twice, outcomes exactly linear or exactly constant within actions: finite
    and definite."""
    rng = np.random.default_rng(n)
    group, actions = rng.integers(3, size=n), rng.integers(3, size=n)
    dummies = np.eye(3)[group] - 1 / 3
    x = np.column_stack([np.ones(n), dummies, dummies[:, 0]])
    for y in (x[:, 1] * actions, 1e6 + 1e-3 * actions, np.zeros(n)):
        oracle = LinKnowledgeGradient.from_rows(x, actions, y, 3, rng=1)
        for i in range(20):
            oracle.update(x[i % n], int(actions[i % n]), float(y[i % n]))
        assert np.isfinite(oracle.theta).all()
        assert oracle.probabilities(x[0]).sum() == pytest.approx(1.0)


# --- what users teach


def test_models_are_weighed_by_their_marginal_likelihood():
    """Outcomes of an action under a model are jointly Student's: mean X theta, scale v (I + X V^-1 X'), freedom f."""
    models = models_of_rows(X, ACTIONS, OUTCOMES, 3, np.full(3, 0.6))
    oracle = LinKnowledgeGradient(models, rng=1)
    new, _, outcomes = rows(6, np.random.default_rng(2))
    for x, y in zip(new, outcomes, strict=True):
        oracle.update(x, 1, y)
    likelihoods = []
    for theta, inverse in zip(models.centres[1], models.inverses[1], strict=True):
        scale = models.variance * (np.eye(6) + new @ inverse @ new.T)
        likelihoods.append(stats.multivariate_t(new @ theta, scale, df=models.freedoms[1]).pdf(outcomes))
    expected = models.chances[1] * likelihoods
    np.testing.assert_allclose(oracle.chances[1], expected / expected.sum(), rtol=1e-9)
    np.testing.assert_allclose(oracle.chances[0], models.chances[0])


def test_every_model_is_the_regression_of_all_its_rows():
    """One row at a time equals all at once; `predict` is their average."""
    models = models_of_rows(X, ACTIONS, OUTCOMES, 3, np.full(3, 0.8))
    oracle = LinKnowledgeGradient(models, rng=1)
    new, _, outcomes = rows(40, np.random.default_rng(3))
    for x, y in zip(new, outcomes, strict=True):
        oracle.update(x, 0, y)
    expected = np.zeros(3)
    for j in range(4):
        v = np.linalg.inv(models.inverses[0, j])
        theta = np.linalg.solve(v + new.T @ new, v @ models.centres[0, j] + new.T @ outcomes)
        np.testing.assert_allclose(oracle.get_state()["belief.theta"][0, j, :3], theta, rtol=1e-9)
        np.testing.assert_allclose(oracle.inverses[0, j], np.linalg.inv(v + new.T @ new), rtol=1e-8)
        expected += oracle.chances[0, j] * theta
    np.testing.assert_allclose(oracle.theta[0], expected, rtol=1e-9)
    np.testing.assert_allclose(oracle.predict(new)[0], new @ oracle.theta.T, rtol=1e-9)


def test_a_log_in_conflict_fades_and_one_confirmed_gains():
    """20 logs and streams: agreement gains trust on average (3 standard errors), a level off by 3 ends it always."""
    gains = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, actions, outcomes = rows(200, rng)
        oracle = LinKnowledgeGradient.from_rows(x, actions, outcomes, 3, trust=0.5, rng=1)
        users, shown, answers = rows(150, rng)
        for user, a, y in zip(users, shown, answers, strict=True):
            oracle.update(user, int(a), y + 3.0 * (a == 2))  # users like action 2 by 3 more than the log says
        gains += list(oracle.trust[:2] - 0.5)
        assert oracle.trust[2] < 1e-3
        assert oracle.theta[2] == pytest.approx(THETA[2] + [3.0, 0.0, 0.0], abs=5 / math.sqrt(30))
    assert np.mean(gains) > 3 * np.std(gains, ddof=1) / math.sqrt(len(gains))


# --- what it plays


def test_exploration_by_hand():
    """Two actions known to 0 +- s: the gain of m plays of the second for the average user is s~ (phi(z) + z Phi(z)),
    s~ = v / sqrt(v + 1/m), z = (centre - best) / s~. It is explored while users x gain / m exceeds what it costs."""

    def gain(centre: float, v: float) -> float:
        found = []
        for m in 2.0 ** np.arange(10):
            s = v / math.sqrt(v + 1.0 / m)
            z = centre / s
            found.append(s * (stats.norm.pdf(z) + z * stats.norm.cdf(z)) / m)
        return max(found)

    loss = 0.5
    enough = loss / (OPTIONS.reach * gain(-loss, 0.04))  # users from which on it is worth it
    for horizon, chances in (
        (math.ceil(1.01 * enough), [1.0 - OPTIONS.exploring, OPTIONS.exploring]),
        (math.floor(0.99 * enough), [1.0, 0.0]),
    ):
        oracle = LinKnowledgeGradient(plain_models(0.5, 0.0, scale=0.04), horizon=horizon, rng=1)
        assert oracle.probabilities([1.0]).tolist() == chances


def rise(centre: float, v: float, m: float) -> float:
    """E max(centre + s Z, 0), s = v / sqrt(v + 1/m): what m plays of an action `centre` ahead (behind) are worth."""
    s = v / math.sqrt(v + 1.0 / m)
    return s * (stats.norm.pdf(centre / s) + centre / s * stats.norm.cdf(centre / s))


@pytest.mark.parametrize("n_in_flight", [1, 7, 40])
def test_what_is_in_flight_has_been_bought_by_hand(n_in_flight):
    """With q plays in flight m more are worth G(q + m) - G(q), and q users fewer are to come."""
    loss, v, q = 0.5, 0.04, float(n_in_flight)
    ahead = [(rise(-loss, v, q + m) - rise(-loss, v, q)) / m for m in 2.0 ** np.arange(10)]
    enough = q + loss / (OPTIONS.reach * max(ahead))  # users from which on it is worth it
    for horizon, chances in (
        (math.ceil(1.01 * enough), [1.0 - OPTIONS.exploring, OPTIONS.exploring]),
        (math.floor(0.99 * enough), [1.0, 0.0]),
    ):
        oracle = LinKnowledgeGradient(plain_models(0.5, 0.0, scale=v), horizon=horizon, rng=1)
        for _ in range(n_in_flight):
            oracle.expect([1.0], 1)
        assert oracle.probabilities([1.0]).tolist() == chances


def test_what_is_in_flight_of_another_action_buys_nothing_here():
    """Only that its users are no longer to come: 10 of 10,000 change no chance."""
    oracle = made(horizon=10_000)
    before = [oracle.probabilities(x).tolist() for x in X[:20]]
    leaders = [int(np.argmax(oracle.predict(X[i : i + 1])[0])) for i in range(20)]
    for _ in range(10):
        oracle.expect(X[0], leaders[0])
    same = [i for i in range(20) if leaders[i] == leaders[0]]
    assert [oracle.probabilities(X[i]).tolist() for i in same] == [before[i] for i in same]


def test_a_release_that_nothing_was_expected_for_is_nothing():
    oracle = made()
    before = oracle.get_state()
    oracle.release(X[0], 1)
    assert all(np.array_equal(before[name], value) for name, value in oracle.get_state().items())


def test_a_state_saved_before_plays_in_flight_were_counted_has_none():
    oracle, other = made(), made()
    other.expect(X[0], 1)
    old = {name: value for name, value in oracle.get_state().items() if name != "pending"}
    other.set_state(old)
    assert other.get_state()["pending"].tolist() == [0.0, 0.0, 0.0]


def test_without_a_horizon_as_many_are_to_come_as_have_come():
    """At least 300: the loss from which on an action is not worth exploring for reach x 300 users, by hand."""
    v = 0.04

    def worth(loss: float) -> float:
        return OPTIONS.reach * 300 * max(rise(-loss, v, m) / m for m in 2.0 ** np.arange(10)) - loss

    low, high = 1e-3, 3.0
    while high - low > 1e-9:
        middle = (low + high) / 2.0
        low, high = (middle, high) if worth(middle) > 0.0 else (low, middle)
    for loss, explored in ((0.99 * low, OPTIONS.exploring), (1.01 * low, 0.0)):
        oracle = LinKnowledgeGradient(plain_models(loss, 0.0, scale=v), rng=1)
        assert oracle.probabilities([1.0])[1] == explored


def test_fewer_users_to_come_are_worth_less_exploration():
    """After 95 of 100 users what was worth exploring is not."""
    oracle = LinKnowledgeGradient(plain_models(0.1, 0.0, scale=0.3), horizon=100, rng=1)
    assert oracle.probabilities([1.0])[1] == OPTIONS.exploring
    for i in range(95):
        oracle.update([1.0], 0, 0.1 + (1.0 if i % 2 else -1.0))
    assert oracle.probabilities([1.0])[1] == 0.0


@pytest.mark.parametrize("available", [None, [0, 2]])
@pytest.mark.parametrize("n_users", [0, 20])
def test_probabilities_are_the_frequencies_of_play(available, n_users):
    """Chi-square over 10,000 plays where two actions are possible; false alarm 1e-4 for each of the four."""
    oracle = made(horizon=100_000)
    new, actions, outcomes = rows(n_users, np.random.default_rng(4))
    for x, a, y in zip(new, actions, outcomes, strict=True):
        oracle.update(x, int(a), y - 1.0)
    x = np.array([1.0, 0.3, 0.2])
    chances = oracle.probabilities(x, available)
    counts = np.bincount([oracle.play(x, available) for _ in range(10_000)], minlength=3)
    some = chances > 0.0
    assert counts[~some].sum() == 0
    if some.sum() > 1:
        assert stats.chisquare(counts[some], 10_000 * chances[some]).pvalue > 1e-4


def test_scale_and_shift_of_outcomes_do_not_matter():
    """3 + 1024 y in place of y, in the log and by users: the same chances, theta moved along."""
    plain = made()
    other = LinKnowledgeGradient.from_rows(X, ACTIONS, 3.0 + 1024.0 * OUTCOMES, 3, rng=1)
    users, actions, outcomes = rows(60, np.random.default_rng(6))
    for x, a, y in zip(users, actions, outcomes, strict=True):
        plain.update(x, int(a), y)
        other.update(x, int(a), 3.0 + 1024.0 * y)
    np.testing.assert_allclose(other.chances, plain.chances, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(other.theta, 1024.0 * plain.theta + [3.0, 0.0, 0.0], rtol=1e-7, atol=1e-6)
    for x in users:
        np.testing.assert_array_equal(other.probabilities(x), plain.probabilities(x))


def test_relabelling_actions_relabels_the_chances():
    order = np.array([2, 0, 1])
    plain, other = made(), LinKnowledgeGradient.from_rows(X, order[ACTIONS], OUTCOMES, 3, rng=1)
    for x, a, y in zip(*rows(60, np.random.default_rng(7)), strict=True):
        plain.update(x, int(a), y)
        other.update(x, int(order[a]), y)
    for x in X[:50]:
        np.testing.assert_allclose(other.probabilities(x)[order], plain.probabilities(x))


def test_an_outcome_that_never_varies_tells_nothing():
    oracle = LinKnowledgeGradient.from_rows(X[:20], ACTIONS[:20], np.full(20, 2.0), 3, rng=1)
    np.testing.assert_allclose(oracle.probabilities(X[0]), [1 / 3] * 3)
    oracle.update(X[0], 1, 5.0)
    oracle.update(X[1], 1, 6.0)
    assert oracle.probabilities(X[0]).sum() == pytest.approx(1.0)


# --- interactions


def test_interactions_by_hand():
    """Columns (-1, 0, 3): cut at 2, squared (1, 0, 4), centred at 5/3, their spread made 0.3."""
    contexts = np.column_stack([np.ones(3), [-1.0, 0.0, 3.0]])
    none, squares = propose_interactions(contexts)
    np.testing.assert_array_equal(none.expand(contexts), contexts)
    assert (ProductOptions().bound, ProductOptions().scale) == (2.0, 0.3)
    raw = np.array([1.0, 0.0, 4.0])
    np.testing.assert_allclose(squares.expand(contexts)[:, 2], 0.3 * (raw - 5 / 3) / raw.std())


def test_a_kernel_sees_the_same_interactions_as_numpy():
    """Two pairs and an outcome that is a product: the oracle learns it, and `predict` agrees with its theta."""
    _, _, both = propose_interactions(X)
    assert both.pairs.tolist() == [[1, 1], [2, 2], [1, 2]]
    oracle = made(interactions=both)
    twin = LinKnowledgeGradient.from_rows(both.expand(X), ACTIONS, OUTCOMES, 3, rng=1)
    for x, a, y in zip(*rows(50, np.random.default_rng(8)), strict=True):
        oracle.update(x, int(a), y)
        twin.update(both.expand(x[None])[0], int(a), y)
    np.testing.assert_allclose(oracle.theta, twin.theta, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(oracle.predict(X)[0], both.expand(X) @ oracle.theta.T, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(oracle.probabilities(X[3]), twin.probabilities(both.expand(X[3:4])[0]))


def test_the_rows_are_likelier_with_products_if_there_are_products():
    rng = np.random.default_rng(9)
    y = X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(200)
    straight = X[:, 1] + 0.5 * rng.standard_normal(200)
    none, _, both = propose_interactions(X)
    for outcome, is_bent in ((y, True), (straight, False)):
        plain, bent = (
            models_of_rows(added.expand(X), ACTIONS, outcome, 3, np.full(3, 0.8)).evidence for added in (none, both)
        )
        assert (bent > plain) == is_bent


# --- it decides well


class Display:
    """The world of `rows` with 300 logged rows, the outcomes of one action moved in them.

    Regret is against the best of a user's outcomes, noise included; differences between policies do not care.
    """

    def __init__(self, action: int = 0, by: float = 0.0) -> None:
        self.action, self.by = action, by

    def draw(self, rng):
        x, actions, outcomes = rows(300, rng)
        users = rows(2000, rng)[0]
        table = users @ THETA.T + rng.standard_normal((2000, 3))
        drawn = hs.worlds.PotentialOutcomes(table, users, n_log=1, is_contextual=True).draw(rng)
        drawn.log = hs.Log(actions, outcomes + self.by * (actions == self.action), x, n_actions=3)
        return drawn


def _regrets(world):
    """500 users, 40 runs, of a model that never saw the log and of one that believes it by 0.8."""

    def warm(drawn, log, rng, **settings):
        return LinKnowledgeGradient.from_rows(
            log.contexts, log.actions, log.outcomes, 3, horizon=500, rng=rng, **settings
        )

    policies = {
        "cold": lambda drawn, log, rng: hs.LinThompson(3, 3, scale=1.0, rng=rng),
        "warm": warm,
        "full trust": lambda drawn, log, rng: warm(drawn, log, rng, trust=1.0),
    }
    curves = hs.simulate(world, policies, rounds=500, runs=40, seed=1)
    return {name: curve.regrets[:, -1] for name, curve in curves.items()}


def test_a_good_log_saves_regret():
    """Less than the cold linear Thompson sampler, by more than 3 standard errors over 40 runs."""
    regrets = _regrets(Display())
    gain = regrets["cold"] - regrets["warm"]
    assert gain.mean() > 3 * gain.std(ddof=1) / math.sqrt(gain.size)


@pytest.mark.parametrize(("action", "by"), [(0, 2.0), (2, -2.0)])
def test_a_biased_log_costs_little(action, by):
    """An action raised or lowered by 2: no more regret than the cold start within 2 standard errors, and less than
    with full trust by more than 2."""
    regrets = _regrets(Display(action, by))
    worse, saved = regrets["warm"] - regrets["cold"], regrets["full trust"] - regrets["warm"]
    assert worse.mean() < 2 * worse.std(ddof=1) / math.sqrt(worse.size)
    assert saved.mean() > 2 * saved.std(ddof=1) / math.sqrt(saved.size)


# --- contracts


def test_withdrawing_copying_and_saving():
    oracle = made(rng=5)
    oracle.withdraw(1)
    usual = 1 - 0.2 / 3
    assert oracle.trust.tolist() == pytest.approx([usual, 0.0, usual])
    oracle.update(X[0], 1, 0.3)
    np.testing.assert_array_equal(oracle.chances[1], [0.0, 0.0, 0.0, 1.0])
    restored = made(rng=9)
    restored.set_state(oracle.get_state())
    twins = [oracle.copy(), pickle.loads(pickle.dumps(oracle)), restored]
    future = [oracle.play(x) for x in X]
    for twin in twins:
        assert [twin.play(x) for x in X] == future
    with pytest.raises(ActionError, match=r"0\.\.2, got 3"):
        oracle.withdraw(3)


@pytest.mark.parametrize("settings", [{}, {"trust": 1.0}, {"trust": [0.0, 0.5, 0.9]}, {"horizon": 10**9}])
def test_it_conforms(settings):
    check_oracle(lambda: made(**settings))


def test_rejects_what_it_cannot_mean():
    with pytest.raises(OptionError, match="whose first column is 1"):
        LinKnowledgeGradient.from_rows(X[:, 1:], ACTIONS, OUTCOMES, 3)
    with pytest.raises(OptionError, match="one for each of the 200 contexts"):
        LinKnowledgeGradient.from_rows(X, ACTIONS[1:], OUTCOMES, 3)
    with pytest.raises(OptionError, match="trust must be"):
        made(trust=-0.1)
    with pytest.raises(OptionError, match="horizon must be at least 1"):
        made(horizon=0)
    models = plain_models(0.0, 1.0)
    with pytest.raises(OptionError, match="positive definite"):
        LinKnowledgeGradient(replace(models, inverses=-models.inverses))
    with pytest.raises(OptionError, match=r"models.freedoms must have shape \(2,\)"):
        LinKnowledgeGradient(replace(models, freedoms=np.ones(3)))
    with pytest.raises(OptionError, match="add up to 1"):
        LinKnowledgeGradient(replace(models, chances=np.full((2, 1), 0.5)))
    with pytest.raises(OptionError, match="must be finite"):
        LinKnowledgeGradient(replace(models, variance=math.nan))
    with pytest.raises(OptionError, match="columns without interactions"):
        LinKnowledgeGradient(replace(models, interactions=propose_interactions(X)[1]))
    with pytest.raises(ContextError, match="finite matrix of 3 columns"):
        made().predict(X[:, :2])
    assert len(no_interactions().pairs) == 0
