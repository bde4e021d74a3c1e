"""Off-policy estimates: by hand, against the truth, and how often their intervals hold it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import headstart as hs
from headstart import ope
from headstart.errors import LogError, OptionError


def test_weights_by_hand():
    """Rows (action, y, p): (0, 1, 1/2), (1, 0, 1/4), (0, 3, 1/4), (1, 2, 1/2), and a policy that plays 0: weights
    2, 0, 4, 0. ips = (2 + 12) / 4 = 3.5; its terms are 2, 0, 12, 0. snips = 14 / 6. n_effective = 36 / 20."""
    log = hs.Log([0, 1, 0, 1], [1.0, 0.0, 3.0, 2.0], None, [0.5, 0.25, 0.25, 0.5], n_actions=2)
    by_ips, by_snips = ope.ips(log, [0, 0, 0, 0]), ope.snips(log, [0, 0, 0, 0])
    assert by_ips.value == 3.5
    assert by_ips.standard_error == pytest.approx(np.std([2, 0, 12, 0], ddof=1) / 2)
    assert by_snips.value == pytest.approx(14 / 6)
    # w (y - v) / 6 is -8/18, 0, 8/18, 0; times N / (N - 1) = 1.8 / 0.8 in squares: rows without weight do not count
    assert by_snips.standard_error == pytest.approx(math.sqrt(2 * (8 / 18) ** 2 * 1.8 / 0.8))
    assert by_ips.n_effective == by_snips.n_effective == pytest.approx(1.8)
    assert by_ips.low < 3.5 < by_ips.high
    assert (by_ips.method, by_snips.method) == ("ips", "snips")


def test_replay_by_hand():
    """By lot among two: rows 0 and 2 agree with a policy that plays 0; one of halves counts every row by half."""
    log = hs.Log([0, 1, 0, 1], [1.0, 0.0, 3.0, 2.0], None, [0.5] * 4, n_actions=2)
    assert ope.replay(log, [0, 0, 0, 0]).value == 2.0
    assert ope.replay(log, [0, 0, 0, 0]).n_effective == 2.0
    assert ope.replay(log, np.full((4, 2), 0.5)).value == 1.5
    assert ope.replay(log, lambda context: [0.5, 0.5]).n_effective == 4.0


def test_doubly_robust_by_hand():
    """No contexts: the regression is the mean of the other rows of the action. Action 0 has outcomes 1, 3, 5, so rows
    are predicted 4, 3, 2; action 1 has 0 and 2: 2 and 0, and for rows of 1 action 0 is 3. Playing 0: predictions have
    the mean (4 + 3 + 2 + 3 + 3) / 5, residuals -3, 0, 3 with shares of a third have 0."""
    log = hs.Log([0, 0, 0, 1, 1], [1.0, 3.0, 5.0, 0.0, 2.0], None, [0.5] * 5, n_actions=2)
    assert ope.doubly_robust(log, [0] * 5).value == pytest.approx(3.0)
    assert ope.direct_method(log, [0] * 5).value == pytest.approx(3.0)
    assert ope.direct_method(log, [1] * 5).value == pytest.approx(1.0)


def test_an_estimator_is_fitted_per_action_to_other_folds():
    """y = 1 + 2x under action 0 and 5 - x under 1, without noise: the regression is exact, nothing is left."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(40)
    actions = np.arange(40) % 2
    y = np.where(actions == 0, 1 + 2 * x, 5 - x)
    log = hs.Log(actions, y, x.reshape(-1, 1), rng.uniform(0.2, 0.8, 40), n_actions=2)
    for estimate in (ope.doubly_robust, ope.direct_method):
        found = estimate(log, np.zeros(40, dtype=int), LinearRegression())
        assert found.value == pytest.approx(np.mean(1 + 2 * x))


def confounded_log(n: int, rng: np.random.Generator) -> tuple[hs.Log, np.ndarray]:
    """Two columns; P(A = 1) = 1 / (1 + exp(-x0)); y = 1{A} (0.5 + x0) + x1 + noise. Also the policy 1{x1 > 0}.

    Its value: E[(0.5 + x0) 1{x1 > 0}] = 0.25.
    """
    x = rng.standard_normal((n, 2))
    p = 1 / (1 + np.exp(-x[:, 0]))
    actions = (rng.random(n) < p).astype(int)
    y = actions * (0.5 + x[:, 0]) + x[:, 1] + rng.standard_normal(n)
    return hs.Log(actions, y, x, np.column_stack([1 - p, p]), n_actions=2), (x[:, 1] > 0).astype(int)


@pytest.mark.parametrize("name", ["ips", "snips", "direct", "doubly robust"])
def test_estimates_recover_the_truth_and_their_intervals_hold_it(name: str):
    """600 logs of 400 rows (150 for the direct method, whose jackknife is slow), truth 0.25. The mean of estimates
    is within 4 standard errors of it; 95 % intervals hold it in 95 % of logs up to 4 standard deviations of a share
    of so many (0.036); the reported standard error is the spread of the estimates up to 4 relative standard
    deviations of a spread of so many (0.12)."""
    runs, truth = 150 if name == "direct" else 600, 0.25
    rng = np.random.default_rng(1)
    found = []
    for _ in range(runs):
        log, policy = confounded_log(400, rng)
        method = {"ips": ope.ips, "snips": ope.snips, "direct": ope.direct_method, "doubly robust": ope.doubly_robust}
        found.append(method[name](log, policy))
    values, errors = np.array([e.value for e in found]), np.array([e.standard_error for e in found])
    assert abs(values.mean() - truth) < 4 * values.std(ddof=1) / math.sqrt(runs)
    covered = np.mean([e.low <= truth <= e.high for e in found])
    assert abs(covered - 0.95) < 4 * math.sqrt(0.95 * 0.05 / runs)
    assert abs(np.sqrt((errors**2).mean()) / values.std(ddof=1) - 1) < 4 / math.sqrt(2 * runs)


def test_bootstrap_intervals_hold_the_truth():
    """200 logs of 400 rows, 200 resamples: 95 % up to 4 standard deviations of a share of 200 (0.062)."""
    rng = np.random.default_rng(2)
    covered = []
    for run in range(200):
        log, policy = confounded_log(400, rng)
        found = ope.doubly_robust(log, policy, bootstrap=200, rng=run)
        covered.append(found.low <= 0.25 <= found.high)
    assert abs(np.mean(covered) - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 200)


def test_replay_recovers_the_truth():
    """By lot among three with means 0.2, 0.5, 0.8 and a policy of (0.5, 0.5, 0): 0.35 within 4.5 errors."""
    rng = np.random.default_rng(3)
    actions = rng.integers(3, size=20_000)
    y = (rng.random(20_000) < np.array([0.2, 0.5, 0.8])[actions]).astype(float)
    log = hs.Log(actions, y, None, np.full(20_000, 1 / 3), n_actions=3)
    found = ope.estimate_values(log, np.tile([0.5, 0.5, 0.0], (20_000, 1)))
    assert list(found) == ["replay", "ips", "snips", "direct", "doubly robust"]
    for estimate in found.values():
        assert abs(estimate.value - 0.35) < 4.5 * estimate.standard_error
    assert found["replay"].value == pytest.approx(found["snips"].value)


def test_doubly_robust_is_surer_than_weighting_alone():
    log, policy = confounded_log(5_000, np.random.default_rng(4))
    found = ope.estimate_values(log, policy)
    assert "replay" not in found
    assert found["doubly robust"].standard_error < found["snips"].standard_error < found["ips"].standard_error * 1.1


def test_few_heavy_weights_do_not_rule_the_doubly_robust_value():
    """60 logs of 300 rows by a policy that hardly ever does what is asked for. Left as they are, weights made the
    doubly robust value three times as far off as snips (root mean square 1.5 against 0.56); normalised and cut it is
    nearer, and the direct method's regression, which is right here, is nearest."""
    truth, n, far = 0.5, 300, {"snips": [], "doubly robust": [], "direct": []}
    thetas = np.linspace(-1.0, 1.0, 5)
    for run in range(60):
        rng = np.random.default_rng([run, n])
        x = rng.standard_normal((n, 2))
        raw = np.exp(2.0 * np.outer(x[:, 0], thetas))
        chances = raw / raw.sum(axis=1, keepdims=True)
        actions = (chances.cumsum(axis=1) > rng.random(n)[:, None]).argmax(axis=1)
        means = np.outer(x[:, 0], -thetas) + 0.5 * x[:, 1:] + np.linspace(0.0, 1.0, 5)
        y = means[np.arange(n), actions] + rng.standard_normal(n)
        log = hs.Log(actions, y, x, chances, n_actions=5)
        policy = np.where(x[:, 1] > 0.0, 4, 0)
        for method in (ope.snips, ope.doubly_robust, ope.direct_method):
            found = method(log, policy)
            far[found.method].append(found.value - truth)
    rms = {name: math.sqrt(np.mean(np.square(each))) for name, each in far.items()}
    assert rms["doubly robust"] < 0.6 * rms["snips"]
    assert rms["doubly robust"] < 1.6 * rms["direct"]


def test_rows_of_one_unit_are_not_so_many_outcomes():
    """50 users of 20 equal rows each: the error is that of 50 outcomes, sqrt(20) times what rows would say; about,
    since the users' own weights differ."""
    rng = np.random.default_rng(7)
    users = np.repeat(np.arange(50), 20)
    y = np.repeat(rng.standard_normal(50), 20)
    log = hs.Log(rng.integers(2, size=1000), y, None, np.full(1000, 0.5), n_actions=2)
    by_row, by_user = (ope.snips(each, [0] * 1000) for each in (log, log.with_units(users)))
    assert by_user.value == by_row.value
    assert by_user.standard_error == pytest.approx(y[::20].std(ddof=1) / math.sqrt(50), rel=0.2)
    assert by_user.n_effective < 100 < by_row.n_effective
    assert by_user.high - by_user.low > 2 * (by_row.high - by_row.low)


def test_the_order_of_rows_does_not_matter():
    log, policy = confounded_log(300, np.random.default_rng(5))
    order = np.random.default_rng(6).permutation(300)
    for method in (ope.ips, ope.snips, ope.doubly_robust):
        one, other = method(log, policy), method(log.take(order), policy[order])
        assert one.value == pytest.approx(other.value, rel=1e-9)
        assert one.standard_error == pytest.approx(other.standard_error, rel=1e-9)


def test_rejects():
    log = hs.Log([0, 1], [1.0, 0.0], [[0.0], [1.0]], [0.5, 0.25], n_actions=2)
    with pytest.raises(LogError, match="replay is for logs whose propensities are all 1 / n_actions"):
        ope.replay(log, [0, 0])
    with pytest.raises(LogError, match="ips needs propensities and the log has none"):
        ope.ips(hs.Log([0, 1], [1.0, 0.0], n_actions=2), [0, 0])
    with pytest.raises(LogError, match="snips: the policy agrees with no row of the log"):
        ope.snips(log, [1, 0])
    with pytest.raises(OptionError, match=r"the policy's action in row 1 must be 0\.\.1, got 2"):
        ope.ips(log, [0, 2])
    with pytest.raises(OptionError, match=r"the policy's chances in row 0 must be at least 0 and sum to 1"):
        ope.ips(log, [[0.5, 0.6], [0.5, 0.5]])
    with pytest.raises(OptionError, match=r"must give 2 chances or an action .* for each of 2 rows"):
        ope.ips(log, [0.5, 0.5])
    with pytest.raises(OptionError, match=r"n_folds must be in 2\.\.2"):
        ope.doubly_robust(log, [0, 0], LinearRegression(), n_folds=3)
    with pytest.raises(OptionError, match="level must be a finite number"):
        ope.ips(log, [0, 0], level=2.0)
    with_zero = hs.Log([0, 0], [1.0, 0.0], None, [[1.0, 0.0], [0.5, 0.5]], n_actions=2)
    with pytest.raises(LogError, match="the policy plays action 1 in row 0, where the log never would"):
        ope.ips(with_zero, [1, 0])
