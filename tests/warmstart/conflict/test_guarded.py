"""Policies that withdraw a log: what is forgotten, what stays, and that every way gives the same."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

import headstart as hs
from headstart.errors import OptionError
from headstart.estimates.summary import Summary
from headstart.warmstart.conflict import Guarded, Revocable
from tests.plain import Plain

LOG = hs.worlds.Synthetic(n_actions=3, n_log=90).draw(np.random.default_rng(3)).log
LIE = hs.Log(LOG.actions, LOG.outcomes + 5.0 * (LOG.actions == 0), LOG.contexts, LOG.propensities, n_actions=3)
USER = np.zeros(LOG.n_features)


def _warm(oracle, log=LOG):
    return hs.WarmStart(oracle, hs.IPSWeighting(log), rng=1)


def _meet(policy, rounds: int, seed: int = 4) -> list[int]:
    """Users whose outcomes are the action's index plus noise."""
    rng, actions = np.random.default_rng(seed), []
    for _ in range(rounds):
        action = policy.play(USER)
        policy.update(USER, action, 0.5 * action + rng.normal(0.0, 0.5))
        actions.append(action)
    return actions


PER_ACTION = {
    "UCB": lambda: hs.UCB(3),
    "EpsilonGreedy": lambda: hs.EpsilonGreedy(3, epsilon=0.2, rng=1),
    "ThompsonGaussian": lambda: hs.ThompsonGaussian(3, rng=1),
    "UCBNormal": lambda: hs.UCBNormal(3),
    "ThompsonNormal": lambda: hs.ThompsonNormal(3, rng=1),
}


@pytest.mark.parametrize("name", PER_ACTION)
def test_a_withdrawn_action_is_known_by_its_users_alone(name: str):
    policy = Revocable(_warm(PER_ACTION[name]()))
    _meet(policy, 40)
    known = policy.readings()
    assert policy.virtual_plays[1] > 0
    policy.withdraw(1)
    after = policy.readings()
    users = policy._online.readings()
    assert (after.counts[1], after.means[1]) == (users.counts[1], pytest.approx(users.means[1], nan_ok=True))
    for other in (0, 2):
        assert (after.counts[other], after.means[other]) == (known.counts[other], known.means[other])
    assert policy.virtual_plays[1] == 0
    _meet(policy, 40)
    assert policy.virtual_plays[1] == 0  # the log is not asked again
    assert policy.is_withdrawn.tolist() == [False, True, False]


def test_withdrawing_everything_leaves_the_oracle_that_never_saw_a_log():
    policy, bare = Revocable(_warm(hs.UCB(3))), hs.UCB(3)
    rng = np.random.default_rng(8)
    for _ in range(60):
        action, outcome = policy.play(USER), rng.normal()
        policy.update(USER, action, outcome)
        bare.update(None, action, outcome)
    for action in range(3):
        policy.withdraw(action)
    for name, values in bare.get_state().items():
        np.testing.assert_array_equal(policy.oracle.get_state()[name], values)
    assert policy.play(USER) == bare.play()


def test_an_oracle_that_mixes_its_actions_begins_again_with_the_same_users():
    """Exp3's weights depend on every action: without the log of action 0 it is the one that never had it."""
    log = hs.Log(LOG.actions, np.clip(LOG.outcomes, 0.0, 1.0), LOG.contexts, LOG.propensities, n_actions=3)
    policy = Revocable(hs.WarmStart(hs.Exp3(3, rng=1), hs.IPSWeighting(log), schedule="batch", rng=1), rng=7)
    assert policy.kernel_state is None
    for i in range(30):
        policy.update(USER, i % 3, float(i % 2))
    policy.play(USER)
    assert policy.virtual_plays[0] > 0
    policy.withdraw(0)
    policy.play(USER)
    assert policy.virtual_plays[0] == 0
    assert policy.readings().counts[0] == 10
    assert policy.readings().counts[1] > 10


def test_a_new_beginning_is_made_of_what_was_saved():
    """A twin whose log says something else takes up a state, and withdraws action 0: the rest is the saved log's."""

    def make(shift: float) -> Revocable:
        outcomes = np.clip(LOG.outcomes + shift, 0.0, 1.0)
        log = hs.Log(LOG.actions, outcomes, LOG.contexts, LOG.propensities, n_actions=3)
        return Revocable(hs.WarmStart(hs.Exp3(3, rng=1), hs.IPSWeighting(log), schedule="batch", rng=1), rng=7)

    policy, twin = make(0.0), make(0.3)
    policy.play(USER)
    twin.set_state(policy.get_state())
    for one in (policy, twin):
        one.withdraw(0)
        one.play(USER)
    np.testing.assert_array_equal(twin.readings().means, policy.readings().means)
    np.testing.assert_array_equal(twin.probabilities(USER), policy.probabilities(USER))


@pytest.mark.parametrize("name", ["UCB", "ThompsonGaussian"])
def test_compiled_and_plain_withdraw_alike(name: str):
    summary = hs.IPSWeighting(LIE).summary()
    world = hs.worlds.Synthetic(n_actions=3, n_log=90)
    policies = {
        "compiled": lambda w, log, rng: Guarded(_warm(PER_ACTION[name](), LIE), summary),
        "plain": lambda w, log, rng: Plain(Guarded(_warm(PER_ACTION[name](), LIE), summary)),
    }
    curves = hs.simulate(world, policies, rounds=150, runs=3, seed=2)
    np.testing.assert_array_equal(curves["compiled"].regrets, curves["plain"].regrets)


def test_a_lie_is_withdrawn_with_its_reason_and_only_the_lie():
    policy = Guarded(_warm(hs.UCB(3), LIE))
    _meet(policy, 300)
    (withdrawal,) = policy.withdrawals
    assert withdrawal.action == 0
    assert withdrawal.round <= 300
    assert f"{withdrawal.plays} users of action 0 had" in withdrawal.reason
    assert policy.policy.is_withdrawn.tolist() == [True, False, False]
    assert "withdrawn [0]" in repr(policy)


def test_without_conflict_the_guard_changes_nothing():
    guarded, bare = Guarded(_warm(hs.UCB(3))), _warm(hs.UCB(3))
    assert _meet(guarded, 200) == _meet(bare, 200)
    assert guarded.withdrawals == []


def test_min_ucb_is_guarded_as_it_is():
    summary = hs.IPSWeighting(LIE).summary()
    policy = Guarded(hs.MinUCB(3, summary, forced=2.0), summary)
    _meet(policy, 300)
    assert [each.action for each in policy.withdrawals] == [0]
    assert policy.policy.log_sizes[0] == 0.0
    assert policy.policy.log_sizes[1] > 0.0


def test_a_forced_play_finds_the_slandered_best_action():
    """Action 2 is best by 0.5 and its log is 5 too low. Without forced plays nobody is ever shown it.

    A conflict of many standard deviations is what a large `effect` is for: two or three plays tell.
    """
    slander = hs.Log(
        LOG.actions, LOG.outcomes - 5.0 * (LOG.actions == 2), LOG.contexts, LOG.propensities, n_actions=3
    )
    summary = hs.IPSWeighting(slander).summary()
    blind = Guarded(hs.MinUCB(3, summary), summary)
    assert 2 not in _meet(blind, 400)
    seeing = Guarded(hs.MinUCB(3, summary, forced=2.0), summary, effect=1.0)
    assert np.mean(np.array(_meet(seeing, 400)[200:]) == 2) > 0.8
    assert [each.action for each in seeing.withdrawals] == [2]


def test_a_copy_of_a_guard_has_the_same_future():
    policy = Guarded(_warm(hs.ThompsonGaussian(3, rng=1), LIE))
    _meet(policy, 50)
    twin = deepcopy(policy)
    assert _meet(policy, 100, seed=9) == _meet(twin, 100, seed=9)


def test_what_cannot_be_guarded_is_refused():
    summary = hs.IPSWeighting(LOG).summary()
    with pytest.raises(OptionError, match="decides on contexts"):
        Guarded(hs.WarmStart(hs.LinUCB(3, LOG.n_features), hs.LinearModel(LOG), rng=1), summary)
    with pytest.raises(OptionError, match="UCB cannot withdraw a log"):
        Guarded(hs.UCB(3), summary)
    with pytest.raises(OptionError, match="needs a summary"):
        Guarded(hs.MinUCB(3, summary))
    with pytest.raises(OptionError, match="summary must be of 3 actions, got 1"):
        Guarded(_warm(hs.UCB(3)), Summary(np.zeros(1), np.ones(1), np.ones(1)))
    begun = _warm(hs.UCB(3))
    begun.play(USER)
    with pytest.raises(OptionError, match="has already learnt from the log"):
        Guarded(begun, summary)
    with pytest.raises(OptionError, match="policy must be a WarmStart"):
        Revocable(hs.UCB(3))  # type: ignore[arg-type]
