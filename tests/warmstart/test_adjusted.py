"""Adjusted: what a context tells of any outcome is taken from it, and no more."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
from headstart.errors import OptionError
from headstart.parts import Wrapper
from headstart.worlds import Linear

SLOPES = np.array([0.8, -0.5])


def _line(slopes=SLOPES, *, gain=1.0, n_rows=1000, d=2):
    return hs.ControlLine(np.array(slopes), np.zeros(d), np.ones(d), np.eye(d), n_rows, 2.0, gain, 0.01)


class _Remembers(Wrapper):
    """An oracle that writes down what it is told."""

    def __init__(self, oracle):
        self.oracle, self.told = oracle, []

    @property
    def inner(self):
        return self.oracle

    def update(self, context, action, outcome):
        self.told.append((action, outcome))
        self.oracle.update(context, action, outcome)


def _live(policy, n, seed, slopes=SLOPES, centre=0.0, noise=0.5):
    """n users, actions 0 and 1 in turn with levels 0 and 1; contexts and raw outcomes."""
    rng = np.random.default_rng(seed)
    contexts = centre + rng.standard_normal((n, 2))
    actions = np.arange(n) % 2
    outcomes = actions + contexts @ slopes + noise * rng.standard_normal(n)
    for context, action, outcome in zip(contexts, actions, outcomes, strict=True):
        policy.update(context, int(action), float(outcome))
    return contexts, actions, outcomes


def test_the_first_outcome_by_hand():
    """theta = (0.8, -0.5), 1,000 rows. First user (1, 1): f = 0.3, shift 0.3, v = 0.89: 0.09 / 0.89 < 1 + 1/1000, so
    the users' kind is the log's, the mean of f is 0.3 (1/1000) / (1/1000 + 1) and y = 1 becomes 0.7 + 0.3 / 1001."""
    told = _Remembers(hs.ThompsonNormal(2, rng=1))
    hs.Adjusted(told, _line()).update([1.0, 1.0], 0, 1.0)
    assert told.told[0][1] == pytest.approx(0.7 + 0.3 / 1001, abs=1e-12)


def test_slopes_are_those_of_a_ridge_around_the_logs_within_actions():
    """Incremental equals batch: (25 I + S) theta = 25 I theta_0 + sum of xy, around each action's own means."""
    policy = hs.Adjusted(hs.ThompsonNormal(2, rng=1), _line([0.0, 0.0]))
    contexts, actions, outcomes = _live(policy, 200, seed=2)
    gram, moment = 25.0 * (1.0 + 1e-6) * np.eye(2), np.zeros(2)
    for a in range(2):
        x = contexts[actions == a] - contexts[actions == a].mean(axis=0)
        gram += x.T @ x
        moment += x.T @ outcomes[actions == a]
    assert policy.slopes == pytest.approx(np.linalg.solve(gram, moment), abs=1e-10)


@pytest.mark.parametrize("slopes", [SLOPES, -SLOPES, 3.0 * SLOPES, [5.0, 5.0]])
def test_actions_stay_comparable_whatever_the_line(slopes):
    """The difference of what is learnt of two actions is 1 within 4.5 standard errors of the raw outcomes' own."""
    told = _Remembers(hs.ThompsonNormal(2, rng=1))
    _, actions, outcomes = _live(hs.Adjusted(told, _line(slopes)), 2000, seed=3)
    learnt = np.array([outcome for _, outcome in told.told])
    off = learnt[actions == 1].mean() - learnt[actions == 0].mean() - 1.0
    assert abs(off) < 4.5 * 2.0 * outcomes.std() / np.sqrt(2000)


def test_the_right_line_leaves_the_noise_alone():
    """0.89 of 1.14 of the variance is the line's; what is left of 2,000 outcomes is 0.25 within 4 s.e. of 3.2 %."""
    told = _Remembers(hs.ThompsonNormal(2, rng=1))
    _, actions, _ = _live(hs.Adjusted(told, _line()), 2000, seed=4)
    learnt = np.array([outcome for _, outcome in told.told]) - actions
    assert abs(learnt.var() / 0.25 - 1.0) < 4 * 0.032


def test_a_wrong_line_is_switched_off_and_what_it_cost_is_bounded():
    """The squares of what is learnt exceed the raw ones' by the log's credit and one user's at most, so far as the
    line is judged; it is learnt anew, and used again once it has gained more than it has cost."""
    told = _Remembers(hs.ThompsonNormal(2, rng=1))
    policy = hs.Adjusted(told, _line([5.0, 5.0], gain=0.5))
    _live(policy, 10, seed=5)
    assert not policy.is_adjusting
    before = len(told.told)
    *_, outcomes = _live(policy, 5, seed=6)
    assert [outcome for _, outcome in told.told[before:]] == outcomes.tolist()  # as they came
    _live(policy, 3000, seed=7)
    assert policy.is_adjusting
    assert policy.slopes == pytest.approx(SLOPES, abs=0.15)  # 5 x 25 / 3,000 of the prior's error and 4 s.e. of 0.01


def test_users_of_another_kind_are_centred_on_themselves():
    """Users two standard deviations away in both columns: f is 0.6 on average, and is not taken from levels."""
    told = _Remembers(hs.ThompsonNormal(2, rng=1))
    *_, outcomes = _live(hs.Adjusted(told, _line()), 2000, seed=8, centre=2.0)
    learnt = np.array([outcome for _, outcome in told.told])
    late = slice(500, None)
    assert abs(learnt[late].mean() - outcomes[late].mean()) < 4.5 * outcomes.std() / np.sqrt(500)


def test_it_helps_a_cold_thompson_and_the_compiled_loop_is_the_plain_one():
    world = Linear([0.0, 0.3], [[0.9, 0.3]] * 2, noise=0.5, n_log=300)

    def cold(drawn, log, rng):
        return hs.ThompsonNormal(2, rng=rng)

    def adjusted(drawn, log, rng):
        return hs.Adjusted(cold(drawn, log, rng), hs.ControlLine.of_log(log))

    def plain(drawn, log, rng):
        return _Plain(adjusted(drawn, log, rng))

    curves = hs.simulate(world, {"cold": cold, "adjusted": adjusted}, rounds=1000, runs=200, seed=9)
    gained = curves["cold"].regrets[:, -1] - curves["adjusted"].regrets[:, -1]
    assert gained.mean() > 3.0 * gained.std() / np.sqrt(200)
    both = hs.simulate(world, {"compiled": adjusted, "plain": plain}, rounds=100, runs=3, seed=10)
    assert both["plain"].regrets == pytest.approx(both["compiled"].regrets, abs=1e-9)


class _Plain:
    """A policy whose kernels are not seen."""

    def __init__(self, policy):
        self._policy, self.n_actions, self.n_features = policy, policy.n_actions, policy.n_features
        self.play, self.update, self.probabilities = policy.play, policy.update, policy.probabilities


def test_rejects():
    with pytest.raises(OptionError, match="decides on contexts"):
        hs.Adjusted(hs.LinUCB(2, 2), _line())
    with pytest.raises(OptionError, match=r"in \[0, 1\]"):
        hs.Adjusted(hs.ThompsonBeta(2), _line())
    with pytest.raises(OptionError, match="line must be"):
        hs.Adjusted(hs.UCB(2), SLOPES)
    policy = hs.Adjusted(hs.ThompsonNormal(2, rng=1), _line())
    with pytest.raises(ValueError, match="context"):
        policy.update([1.0], 0, 1.0)
    assert policy.slopes.tolist() == SLOPES.tolist()
