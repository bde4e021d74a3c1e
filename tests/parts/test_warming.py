"""Warming: after it nothing is compiled or loaded in a user's request, whatever he asks for."""

from typing import Any

import numpy as np
import pytest

import headstart as hs
from headstart.estimates.control_line import ControlLine
from headstart.kernels.compile import compiled
from headstart.parts import OracleAbilities
from headstart.parts.warming import warm

rng = np.random.default_rng(1)
X, A = rng.standard_normal((400, 2)), rng.integers(0, 2, 400)
Y = X[:, 0] + 0.1 * A + rng.standard_normal(400)
LOG = hs.Log(A, Y, X, np.full(400, 0.5))


def warm_ucb() -> Any:
    return hs.WarmStart(hs.UCB(2), hs.IPSWeighting(LOG), rng=1)


POLICIES = {
    "start": lambda: hs.start(LOG, rng=1),
    "start by context": lambda: hs.start(LOG, decide_on=[0, 1], rng=1),
    "warm start": warm_ucb,
    "by context": lambda: hs.WarmStart(hs.LinUCB(2, 2), hs.ExactMatching(LOG, rng=1), rng=1),
    "guarded": lambda: hs.Guarded(warm_ucb()),
    "guarded by context": lambda: hs.Guarded(warm_ucb(), log=LOG),
    "adjusted": lambda: hs.Adjusted(warm_ucb(), ControlLine.of_log(LOG)),
    "forest": lambda: hs.EpsilonForest(2, 2, rng=1),
    "offline only": lambda: hs.OfflineOnly(hs.Greedy(2), hs.IPSWeighting(LOG), rng=1),
}


@pytest.mark.parametrize("name", POLICIES)
def test_no_request_compiles(name: str):
    policy = POLICIES[name]()
    warm(policy)
    abilities = OracleAbilities(policy)
    context = np.zeros(2) if abilities.n_features else None
    before = compiled.cache_info().misses  # type: ignore[attr-defined]
    for _ in range(2):
        policy.probabilities(context)
        action = policy.play(context)
        abilities.expect(context, action)
        abilities.release(context, action)
        policy.update(context, action, 1.0)
    assert compiled.cache_info().misses == before  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["guarded", "guarded by context"])
def test_a_guard_that_withdraws_the_log_compiles_nothing(name: str):
    policy = POLICIES[name]()
    warm(policy)
    before = compiled.cache_info().misses  # type: ignore[attr-defined]
    for _ in range(20):
        policy.update(np.zeros(2), policy.play(np.zeros(2)), -50.0)
    assert {each.action for each in policy.withdrawals} == {0, 1}
    assert compiled.cache_info().misses == before  # type: ignore[attr-defined]


def test_a_guard_s_test_has_seen_nobody():
    policy = hs.Guarded(warm_ucb())
    warm(policy)
    told = policy.get_state()["watch"]
    fresh = hs.Guarded(warm_ucb()).get_state()["watch"]
    assert all(np.array_equal(told[name], fresh[name]) for name in fresh)
