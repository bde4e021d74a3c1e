"""OfflineOnly: the log's verdict, for good."""

from __future__ import annotations

import numpy as np

import headstart as hs
from tests.plain import Plain


def test_it_commits_to_the_best_mean_and_never_learns():
    """IPSW means: action 0 is 0.5, action 1 is 0.75; a thousand bad outcomes change nothing."""
    log = hs.Log([0, 0, 1, 1], [0.0, 1.0, 0.5, 1.0], propensities=[0.5] * 4)
    policy = hs.OfflineOnly(hs.Greedy(2), hs.IPSWeighting(log))
    for _ in range(1000):
        assert policy.play(None) == 1
        policy.update(None, 1, -100.0)
    np.testing.assert_array_equal(policy.probabilities(None), [0.0, 1.0])
    assert policy.virtual_plays.tolist() == [2, 2]
    assert policy.play(None, [0]) == 0


def test_an_action_without_data_is_never_its_choice_and_ties_go_to_the_lowest():
    """Action 0 has no rows; 1 and 2 have the same negative mean."""
    log = hs.Log([1, 2], [-1.0, -1.0], propensities=[1.0, 1.0], n_actions=3)
    policy = hs.OfflineOnly(hs.Greedy(3), hs.IPSWeighting(log))
    assert policy.play(None) == 1


def test_batch_over_contexts_takes_every_action_until_its_first_null():
    log = hs.Log([0, 0, 1, 1], [0.0, 1.0, 0.5, 1.0], [[1.0]] * 4)
    policy = hs.OfflineOnly(hs.Greedy(2), hs.ExactMatching(log, rng=1), rng=1)
    assert policy.play([1.0]) == 1
    assert policy.virtual_plays.tolist() == [2, 2]


def test_each_round_goes_on_with_the_log_and_still_learns_nothing_online():
    """Compiled, and through the plain loop with the same seeds: the same regret. Linear regression's None is no end,
    so the offline phase goes on with every user; in batch the first None ends an action."""
    world = hs.worlds.Synthetic(2, 10, n_log=20, step=0.0, is_contextual=True)
    phi = hs.features.blocks(2, 10)

    def policy(schedule, wrap):
        return lambda drawn, log, rng: hs.OfflineOnly(
            hs.LinUCB(2, 10, beta=0.0, features=phi), wrap(hs.LinearModel(log, phi)), schedule=schedule, rng=rng
        )

    curves = hs.simulate(
        world,
        {
            "compiled": policy("each-round", lambda e: e),
            "plain": policy("each-round", Plain),
            "batch": policy("batch", lambda e: e),
        },
        rounds=60,
        runs=8,
        seed=2,
    )
    np.testing.assert_array_equal(curves["compiled"].regrets, curves["plain"].regrets)
    assert curves["compiled"].mean < curves["batch"].mean
