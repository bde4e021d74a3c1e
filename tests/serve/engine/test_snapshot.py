"""A policy's state as bytes: laid over a new policy it has the same future, and asking changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headstart as hs
from headstart.serve.engine.snapshot import load_policy, save_policy
from headstart.worlds import Synthetic

LOG = Synthetic(n_actions=3, n_log=300).draw(np.random.default_rng(1)).log
POLICIES: dict[str, Callable[[int], Any]] = {
    "start": lambda seed: hs.start(LOG, rng=seed),
    "start by context": lambda seed: hs.start(LOG, decide_on=range(6), rng=seed),
    "warm start": lambda seed: hs.WarmStart(hs.ThompsonNormal(3, rng=seed), hs.IPSWeighting(LOG), rng=seed),
    "LinUCB": lambda seed: hs.LinUCB(3, 6),
    "forest": lambda seed: hs.EpsilonForest(3, 6, rng=seed),
}


@pytest.mark.parametrize("name", POLICIES)
def test_a_saved_policy_has_the_same_future_and_asking_changes_nothing(name: str):
    rng = np.random.default_rng(2)
    users, outcomes = rng.uniform(-1, 1, (60, 6)), rng.normal(size=60)
    policy = POLICIES[name](3)
    for x, y in zip(users[:30], outcomes[:30], strict=True):
        policy.update(x, policy.play(x), y)
    policy.probabilities(users[0])  # virtual plays that were due are made
    saved = save_policy(policy)
    assert saved is not None
    for x in users:
        policy.probabilities(x)
    assert save_policy(policy) == saved
    twin = POLICIES[name](3)
    load_policy(twin, saved)
    for x, y in zip(users[30:], outcomes[30:], strict=True):
        action = policy.play(x)
        assert twin.play(x) == action
        policy.update(x, action, y)
        twin.update(x, action, y)
    assert save_policy(twin) == save_policy(policy)
