"""The fold when what it reads from the store fails half-way: no state is kept that no event has."""

from __future__ import annotations

import pytest

from headstart.serve import Engine, StoreUnavailable
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.sources import Sources
from headstart.serve.store.questions import READ_LEARNT
from headstart.serve.store.reader import Reader
from tests.serve.experiments import Clock, make_config


def test_a_policy_whose_rebuilding_failed_is_built_anew(address):
    """It was kept half-taught: the next decision came from a policy that had forgotten its users."""
    with Engine.open(make_config(address), clock=Clock()) as engine:
        for i in range(20):
            engine.decide("ads", event_id=str(i))
            engine.outcome("ads", str(i), float(i % 2))
        engine.roll_back("ads", engine.state("ads")["version"])
        whole = engine.fingerprint("ads")
    store = open_store(address)
    failures = ["the disk is gone"]

    def query(statement, parameters=()):
        if statement == READ_LEARNT and failures:
            raise StoreUnavailable(failures.pop())
        return store.query(statement, parameters)

    fold = Fold("ads", Reader(query), Sources().find)
    fold.quiet_until = 2**62  # the policy is built when it is asked for
    for event in Reader(store.query).events("ads"):
        fold.apply(event)
    with pytest.raises(StoreUnavailable, match="the disk is gone"):
        _ = fold.policy
    assert fold.fingerprint() == whole
    store.close()
