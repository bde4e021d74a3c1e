"""A batch is not a stream: what is worth trying is tried once, and the chances are what is drawn from."""

import numpy as np
import pytest

import headstart as hs
from headstart.parts.tables.chances import chances_of
from headstart.parts.tables.flight import weighs_flight
from headstart.parts.tables.queue import Queue, line_up
from tests.catalogue import LOG, ORACLES, POLICIES

EVERY = {**ORACLES, **POLICIES}


class Buyer:
    """Tries action 1 with chance 1/2 until `worth` decisions for it are in flight, then never again."""

    def __init__(self, worth, n_features=0):
        self.n_actions, self.worth, self.in_flight, self.n_features = 2, worth, 0, n_features

    def play(self, context, available=None):
        return 0

    def update(self, context, action, outcome):
        pass

    def probabilities(self, context, available=None):
        wants = self.in_flight < self.worth and (context is None or context[0] > 0.0)
        return np.array([0.5, 0.5]) if wants else np.array([1.0, 0.0])

    def expect(self, context, action):
        self.in_flight += action == 1

    def release(self, context, action):
        self.in_flight -= action == 1


NOBODY = np.empty((1, 0))


@pytest.mark.parametrize("n_users", [10, 1_000, 1_000_000])
@pytest.mark.parametrize("worth", [1, 3, 100])
def test_as_many_are_tried_on_as_are_worth_it(n_users, worth):
    """Half of the users are tried until `worth` are in flight; a place is at most an eighth too long."""
    queue = line_up(Buyer(worth), n_users, NOBODY, None)
    expected = queue.chances(NOBODY, None)[0, 1] * n_users
    bought = min(worth, n_users / 2)
    assert bought - 0.5 <= expected <= bought * 1.125 + 1.0
    assert (queue.n_before_rest < n_users) == (n_users > 2 * worth)


def test_by_hand():
    """worth = 2 of 10 users: with 0, 1, 2 and 3 before, half of one each is in flight: 0, 0, 1, 1, then 2.

    So the first four places try, and P(1) = (4 x 1/2) / 10.
    """
    queue = line_up(Buyer(2), 10, NOBODY, None)
    assert queue.chances(NOBODY, None)[0].tolist() == pytest.approx([0.8, 0.2], abs=1e-12)


def test_chances_of_a_user_are_the_average_over_the_places():
    """Whatever the shortcut by halves does, it is sum over l of share_l p_l(x)."""
    rng = np.random.default_rng(0)
    contexts = np.concatenate([np.array([[1.0], [-1.0]]), rng.normal(size=(30, 1))])
    queue = line_up(Buyer(40, n_features=1), 10_000, contexts, None)
    assert len(queue.places) > 20
    plain = sum(
        share * np.array([place.probabilities(row) for row in contexts])
        for share, place in zip(queue.shares, queue.places, strict=True)
    )
    np.testing.assert_allclose(queue.chances(contexts, None), plain, atol=1e-12)
    np.testing.assert_allclose(queue.chances(contexts, None).sum(axis=1), 1.0, atol=1e-12)


def test_an_oracle_that_does_not_weigh_what_is_in_flight_has_one_place():
    policy = hs.ThompsonBeta(3, rng=0)
    assert not weighs_flight(policy)
    queue = line_up(policy, 1_000_000, NOBODY, None)
    assert (len(queue.places), queue.is_blind) == (1, True)


def test_lining_up_leaves_the_policy_as_it_was():
    buyer = Buyer(50)
    line_up(buyer, 1_000, NOBODY, None)
    assert buyer.in_flight == 0


@pytest.mark.parametrize("name", EVERY)
def test_chances_of_many_are_those_of_each(name):
    policy = EVERY[name](5)
    d = getattr(policy, "n_features", 0) or 0
    rng = np.random.default_rng(2)
    contexts = LOG.contexts[:12, :d] + 0.01 * rng.normal(size=(12, d))
    for i in range(12):
        policy.update(contexts[i] if d else None, int(rng.integers(policy.n_actions)), float(rng.random() < 0.5))
    masks = rng.random((12, policy.n_actions)) < 0.6
    masks[:, 0] = True
    for available in (None, masks):
        rows = [
            policy.probabilities(contexts[i] if d else None, None if available is None else available[i])
            for i in range(12)
        ]
        np.testing.assert_allclose(chances_of(policy, contexts, available), rows, atol=1e-9)


def test_halves_of_two_places_are_both_counted():
    first, last = Buyer(1), Buyer(0)
    queue = Queue([first, last], np.array([0.25, 0.75]), (0, 1))
    assert queue.chances(NOBODY, None)[0].tolist() == [0.875, 0.125]
