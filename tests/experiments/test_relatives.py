"""Known relatives: what they do, by hand, and that they are what their papers say they equal."""

from __future__ import annotations

import numpy as np
import pytest

import headstart as hs
from headstart.errors import OptionError
from headstart.estimates.summary import Summary
from headstart.experiments.relatives import (
    AnchorTS,
    ARRoWCB,
    Commensurate,
    EstimateThenCommit,
    OtO,
    artificial_replay,
    historical_ucb,
)

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


SAID = Summary(np.array([0.0, 0.3, 0.5]), np.full(3, 0.1), np.full(3, 1.0))


def test_anchor_ts_plays_medians_with_the_chances_it_states():
    """20,000 plays: each share within 4.5 standard errors (1 in 50,000 for three); means tie to check the atoms."""
    policy = AnchorTS(SAID, rng=1)
    for action, outcome in ((0, 0.4), (1, 0.4), (2, 0.1), (2, 0.3), (1, 0.2), (0, 0.2)):
        policy.update(None, action, outcome)
    chances = policy.probabilities()
    shares = np.bincount([policy.play() for _ in range(20_000)], minlength=3) / 20_000
    assert (np.abs(shares - chances) < 4.5 * np.sqrt(chances * (1.0 - chances) / 20_000)).all()


def test_anchor_ts_stays_with_users_whom_a_log_contradicts():
    """One user a hundred scales below what a log of 100 says: all but the log's draw are near the user's mean."""
    policy = AnchorTS(SAID, rng=1)
    for action in range(3):
        policy.update(None, action, -100.0 if action == 2 else 0.0)
    assert policy.probabilities()[2] < 1e-6


def test_a_commensurate_prior_that_cannot_be_far_is_the_pooled_posterior():
    """The log's 0.5 with an error of 0.1, 100 plays of variance 1; 50 users of mean 0.2: (50 + 10) / 150 = 0.4."""
    policy = Commensurate(SAID, spike=1.0 - 1e-9, rng=1)
    for _ in range(50):
        policy.update(None, 2, 0.2)
    state = policy.kernel_state
    assert state.locations[2, 0] == pytest.approx(0.4)
    assert state.scales[2, 0] == pytest.approx(np.sqrt(1.0 / 150.0))


def test_a_commensurate_prior_leaves_a_log_that_users_contradict():
    """50 users two deviations off: the spike says N(2; 0, 0.03), a distance of two deviations N(2; 0, 4.03)."""
    policy = Commensurate(SAID, rng=1)
    for _ in range(50):
        policy.update(None, 2, -1.5)
    weights, locations = policy.kernel_state.weights[2], policy.kernel_state.locations[2]
    odds = 0.1 / 0.5 * np.sqrt(0.03 / 4.03) * np.exp(0.5 * 4.0 * (1.0 / 0.03 - 1.0 / 4.03))
    assert weights[-1] / weights[0] == pytest.approx(odds, rel=1e-9)
    assert weights @ locations == pytest.approx(-1.5, abs=0.05)


def test_oto_is_pessimist_without_a_budget_and_optimist_with_all():
    """Sizes 100, 100 and 4: bounds at t = 0 are mean ± sqrt(2 / n): 0.2 ± 0.141 against 0.3 ± 0.707."""
    said = Summary(np.array([0.0, 0.2, 0.3]), np.array([0.1, 0.1, 0.5]), np.full(3, 1.0))
    assert OtO(said, share=0.0).play() == 1
    assert OtO(said, share=100.0).play() == 2
    cautious = OtO(said, share=0.0)
    for _ in range(50):
        cautious.update(None, 1, 0.2)
    assert cautious.play() == 1
