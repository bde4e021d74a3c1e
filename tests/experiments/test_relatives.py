"""Known relatives: what they do, by hand, and that they are what their papers say they equal."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
from headstart.errors import OptionError
from headstart.estimates.summary import Summary
from headstart.experiments.relatives import ARRoWCB, EstimateThenCommit, artificial_replay, historical_ucb

LOG = hs.worlds.Synthetic(n_actions=3, n_log=200).draw(np.random.default_rng(4)).log
USER = np.zeros(LOG.n_features)


def test_artificial_replay_uses_rows_only_as_they_are_asked_for():
    """Action 0 has 50 rows of outcome 0, action 1 two of outcome 1: UCB asks for action 1's two, and a few of 0's."""
    log = hs.Log(np.repeat([0, 1], [50, 2]), np.repeat([0.0, 1.0], [50, 2]))
    policy = artificial_replay(hs.UCB(2), log, rng=1)
    assert policy.play() == 1
    assert policy.virtual_plays[1] == 2
    assert 1 <= policy.virtual_plays[0] < 10


def test_historical_ucb_has_learnt_every_row():
    policy = historical_ucb(LOG, beta=0.7, rng=1)
    policy.play()
    counts, means, _, _ = policy.readings()
    np.testing.assert_array_equal(counts, np.bincount(LOG.actions))
    np.testing.assert_allclose(means, [LOG.outcomes[LOG.actions == a].mean() for a in range(3)])
    assert policy.oracle.beta == 0.7


def test_a_commitment_is_for_good_and_is_offline_only_s():
    committed = EstimateThenCommit(hs.IPSWeighting(LOG).summary())
    greedy = hs.OfflineOnly(hs.Greedy(3), hs.IPSWeighting(LOG))
    first = committed.play()
    assert first == greedy.play(USER)
    for _ in range(100):
        committed.update(None, first, -100.0)
    assert committed.play() == first


def test_an_action_that_the_log_never_shows_is_the_last_resort():
    committed = EstimateThenCommit(
        Summary(np.array([np.nan, -9.0]), np.array([np.inf, 1.0]), np.array([np.nan, 1.0]))
    )
    assert committed.play() == 1
    assert committed.play(None, [0]) == 0
    with pytest.raises(OptionError, match="summary must be a Summary"):
        EstimateThenCommit(np.zeros(2))


def test_arrow_cb_fits_log_and_users_by_their_weights():
    """No contexts: theta is a mean. The log's rows of action 0 are 1 and 3, p = 1/2; a user had 8.
    lambda 0: 2; lambda 1/2: (4 / 2 + 8 / 2) / (2 / 2 + 1 / 2) = 4; lambda 1: 8; all but for a ridge of 1e-12.
    """
    log = hs.Log([0, 0, 1], [1.0, 3.0, 0.0], propensities=[0.5, 0.5, 0.5])
    policy = ARRoWCB(log, lambdas=(0.0, 0.5, 1.0), ridge=1e-12, rng=1)
    policy.update(None, 0, 8.0)
    np.testing.assert_allclose(policy._thetas[:, 0, 0], [2.0, 4.0, 8.0], rtol=1e-9)


def test_arrow_cb_leaves_a_log_that_users_contradict():
    """The log's outcomes have the wrong sign: the log alone loses, and users get the credit."""
    lie = hs.Log(LOG.actions, -LOG.outcomes, LOG.contexts, LOG.propensities, n_actions=3)
    policy, rng = ARRoWCB(lie, rng=2), np.random.default_rng(5)
    assert policy.chosen == 0.0
    for _ in range(400):
        context = rng.uniform(-1, 1, LOG.n_features)
        action = policy.play(context)
        policy.update(context, action, float(action == 2) + 0.1 * rng.normal())
    assert policy.chosen > 0.0
    chances = policy.probabilities(rng.uniform(-1, 1, LOG.n_features))
    assert chances[2] == pytest.approx(0.95 + 0.05 / 3)


def test_arrow_cb_refuses_bad_settings():
    for settings in ({"epsilon": 0.0}, {"lambdas": ()}, {"lambdas": (2.0,)}):
        with pytest.raises(OptionError, match=f"{next(iter(settings))} must"):
            ARRoWCB(LOG, **settings)
