"""Oracles that start from a log or forget: saved, copied or pickled, they have the same future."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import headstart as hs
from headstart.estimates.summary import Summary

SUMMARY = Summary(np.array([0.2, 0.5, 0.4]), np.array([0.1, 0.1, 0.2]), np.full(3, 0.25))
LOG = hs.worlds.Synthetic(n_actions=3, n_log=60).draw(np.random.default_rng(3)).log

ORACLES = {
    "UCBTuned": lambda seed: hs.UCBTuned(3),
    "UCBNormal": lambda seed: hs.UCBNormal(3),
    "KLUCB": lambda seed: hs.KLUCB(3),
    "MinUCB": lambda seed: hs.MinUCB(3, SUMMARY, bias_bound=0.1, forced=0.5),
    "MinLinUCB": lambda seed: hs.MinLinUCB(3, 2, np.tile(5.0 * np.eye(2), (3, 1, 1)), np.ones((3, 2))),
    "DiscountedUCB": lambda seed: hs.DiscountedUCB(3, half_life=20.0),
    "SlidingWindowUCB": lambda seed: hs.SlidingWindowUCB(3, window=9),
    "DiscountedThompson": lambda seed: hs.DiscountedThompson(3, half_life=20.0, rng=seed),
}


def _future(oracle, n: int = 30) -> list:
    rng, told = np.random.default_rng(7), []
    for i in range(n):
        context = rng.standard_normal(oracle.n_features) if oracle.n_features else None
        told += [oracle.probabilities(context).tolist(), oracle.play(context)]
        oracle.update(context, told[-1], float(i % 3 == 0))
    return told


@pytest.mark.parametrize("name", ORACLES)
def test_a_restored_oracle_has_the_same_future(name: str):
    oracle, restored = ORACLES[name](1), ORACLES[name](2)
    _future(oracle)
    restored.set_state(oracle.get_state())
    twins = [restored, oracle.copy(), copy.deepcopy(oracle), pickle.loads(pickle.dumps(oracle))]
    expected = _future(oracle)
    for twin in twins:
        assert _future(twin) == expected


def test_a_pickled_guard_has_the_same_future():
    guard = hs.Guarded(hs.WarmStart(hs.ThompsonGaussian(3, rng=1), hs.IPSWeighting(LOG), rng=1))
    user = np.zeros(LOG.n_features)
    for i in range(20):
        guard.update(user, i % 3, float(i % 2))
        guard.play(user)
    twin = pickle.loads(pickle.dumps(guard))
    assert [guard.play(user) for _ in range(50)] == [twin.play(user) for _ in range(50)]
    assert twin.withdrawals == guard.withdrawals
