"""What is in flight: forgotten by rules that events alone decide, and known to a policy that minds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headstart.errors import OptionError
from headstart.oracles.lin_knowledge_gradient import LinKnowledgeGradient
from headstart.parts import layers
from headstart.serve import Engine, load_config
from headstart.serve.config import ExperimentConfig, read_experiment
from headstart.serve.engine import flight as flights
from headstart.serve.engine import packing
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.sources import Sources
from headstart.serve.engine.verification import verify_store
from headstart.serve.store.events import DECISION, Event
from headstart.serve.store.reader import Reader
from tests.serve.experiments import CONTEXTS, Clock, make_config, make_log

SECOND = 1_000_000


def settle(**settings: Any) -> ExperimentConfig:
    return read_experiment("ads", {"actions": ["a", "b"], "contexts": {"age": "number"}, **settings})


def depart(flight: flights.Flight, config: ExperimentConfig, sequence: int, time: int = 0) -> None:
    body = {"action": "a", "context": {"age": 1.0}}
    flight.depart(Event(sequence, "ads", DECISION, str(sequence), time, None, body), config)


def forget(flight: flights.Flight, config: ExperimentConfig, now: int = 0) -> list[int]:
    return [decision for decision, _ in flight.forget(config, now)]


def test_a_decision_is_forgotten_once_more_newer_ones_than_that_have_landed():
    """Of five decisions, 3, 4 and 5 land: two newer ones have overtaken 2 only after the third."""
    config, flight = settle(forget_after=2), flights.Flight()
    for sequence in range(1, 6):
        depart(flight, config, sequence)
    for sequence in (4, 5):
        flight.land(sequence)
        assert forget(flight, config) == []
    flight.land(3)
    assert forget(flight, config) == [1, 2]
    assert not flight.waiting


def test_a_long_delay_is_not_forgotten():
    """However many are in flight: where outcomes come in the order of the decisions, nobody is overtaken."""
    config, flight = settle(forget_after=1), flights.Flight()
    for sequence in range(1, 500):
        depart(flight, config, sequence)
        if sequence > 200:
            flight.land(sequence - 200)
        assert forget(flight, config) == []
    assert len(flight.waiting) == 200


def test_a_window_without_a_default_ends_the_waiting_when_it_has_closed():
    """Ten seconds: an outcome at ten seconds is in time, one after that is late."""
    config, flight = settle(forget_after=100, outcome_window=10.0), flights.Flight()
    depart(flight, config, 1, time=0)
    depart(flight, config, 2, time=5 * SECOND)
    assert forget(flight, config, 10 * SECOND) == []
    assert forget(flight, config, 10 * SECOND + 1) == [1]


def test_with_a_default_it_ends_when_the_default_is_learnt():
    config, flight = settle(forget_after=100, outcome_window=10.0, default_outcome=0.0), flights.Flight()
    depart(flight, config, 1, time=0)
    assert forget(flight, config, 99 * SECOND) == []


def test_of_more_than_are_remembered_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(flights, "MOST", 3)
    config, flight = settle(forget_after=100), flights.Flight()
    for sequence in range(1, 6):
        depart(flight, config, sequence)
    assert forget(flight, config) == [1, 2]


def test_a_snapshot_does_not_walk_through_what_is_in_flight(monkeypatch: pytest.MonkeyPatch):
    """Nobody is decided for while one is made: 20,000 decisions, value by value, took half a second."""
    config, flight, walked, pack = settle(), flights.Flight(), [], packing._pack
    for sequence in range(1, flights.MOST + 1):
        depart(flight, config, sequence)
    monkeypatch.setattr(packing, "_pack", lambda value: walked.append(value) or pack(value))
    assert flights.Flight.from_dict(packing.unpack(packing.pack(flight.as_dict()))).waiting == flight.waiting
    assert len(walked) < 10


def test_a_saved_flight_is_the_same():
    config, flight = settle(forget_after=2), flights.Flight()
    for sequence in range(1, 6):
        depart(flight, config, sequence, time=sequence)
    flight.land(2)
    flight.freeze()
    flight.land(3)
    again = flights.Flight.from_dict(flight.as_dict())
    assert again.as_dict() == flight.as_dict()
    assert list(again.waiting) == [1, 4, 5]
    assert list(again.known) == [1, 3, 4, 5]
    assert list(again.thaw()) == [1, 3, 4, 5]
    assert list(again.known) == [1, 4, 5]


# -- the service around a policy that minds: what `start` makes of a log, deciding by context


def open_started(address: str, **settings: Any) -> Engine:
    table = {"actions": ["video", "image"], "contexts": CONTEXTS, "log": {"rows": make_log()}, "seed": 7, **settings}
    config = load_config({"store": address, "experiments": {"ads": table}})
    return Engine.open(config, clock=Clock())


def ages(n: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(5)
    return [{"age": float(rng.normal()), "likes": str(rng.choice(["images", "videos"]))} for _ in range(n)]


def pending(engine: Engine) -> list[float]:
    """What the oracle inside was told of, per action."""
    fold = engine._fold("ads")
    oracle = list(layers(fold.policy.policy))[-1]
    assert isinstance(oracle, LinKnowledgeGradient)
    return oracle.get_state()["pending"].tolist()


def shown(engine: Engine) -> list[float]:
    return [float(action["shown"]) for action in engine.state("ads")["actions"]]


def test_decisions_are_expected_and_their_outcomes_release_them(tmp_path):
    with open_started(str(tmp_path / "s.sqlite"), holdout=0.3) as engine:
        for i, user in enumerate(ages(30)):
            engine.decide("ads", user, event_id=str(i))
        assert engine.state("ads")["held_out"] > 0
        assert pending(engine) == shown(engine)  # users who are held out are users in flight
        assert engine.state("ads")["version"] == engine.state("ads")["position"]
        for i in range(30):
            engine.outcome("ads", str(i), 1.0)
        assert pending(engine) == [0.0, 0.0]


def test_a_store_of_decisions_in_flight_verifies_restarts_and_refolds(tmp_path):
    """Decisions are made in groups and one by one, with and without outcomes between them."""
    address = str(tmp_path / "s.sqlite")
    with open_started(address) as engine:
        users = ages(120)
        engine.decide_many("ads", [{"context": user, "event_id": f"a{i}"} for i, user in enumerate(users[:40])])
        for i in range(0, 40, 3):
            engine.outcome("ads", f"a{i}", float(i % 2))
        for i, user in enumerate(users[40:80]):
            engine.decide("ads", user, event_id=f"b{i}")
            engine.outcome("ads", f"b{i}", float(i % 3 == 0))
        engine.set_aside("ads", "a1")
        engine.decide_many("ads", [{"context": user, "event_id": f"c{i}"} for i, user in enumerate(users[80:])])
        told, whole = pending(engine), engine.fingerprint("ads")
        assert sum(told) == 120 - 14 - 40 - 1  # all, but for those learnt and the one set aside
    with open_started(address) as engine:  # from the snapshot that closing wrote, or from the events
        assert engine.fingerprint("ads") == whole
        assert pending(engine) == told
    store = open_store(address)
    sources = Sources()
    sources.read(load_config({"store": address, "experiments": {"ads": _table()}}).experiments["ads"])
    verdict = verify_store(store.query, sources)
    assert verdict.faults == []
    assert verdict.decided_again == verdict.decisions == 120
    assert verdict.fingerprints["ads"] == whole
    fold = Fold("ads", Reader(store.query), sources.find)
    fold.quiet_until = 2**62  # the policy is built when it is asked for: at the end, from what counts
    for event in Reader(store.query).events("ads"):
        fold.apply(event)
    fold.quiet_until = 0
    assert fold.fingerprint() == whole
    store.close()


def _table() -> dict[str, Any]:
    return {"actions": ["video", "image"], "contexts": CONTEXTS, "log": {"rows": make_log()}, "seed": 7}


def test_a_frozen_policy_is_told_nothing_until_it_is_unfrozen(tmp_path):
    with open_started(str(tmp_path / "s.sqlite")) as engine:
        users = ages(60)
        for i, user in enumerate(users[:20]):
            engine.decide("ads", user, event_id=str(i))
        before = pending(engine)
        engine.freeze("ads")
        version = engine.state("ads")["version"]
        for i, user in enumerate(users[20:]):
            assert engine.decide("ads", user, event_id=str(20 + i)).version == version
        for i in range(30):
            engine.outcome("ads", str(i), 1.0)
        assert pending(engine) == before
        engine.unfreeze("ads")
        assert sum(pending(engine)) == 30
        held = engine.fingerprint("ads")
        engine.roll_back("ads", engine.state("ads")["version"])  # built anew from the events
        assert sum(pending(engine)) == 30
        assert held != engine.fingerprint("ads")


def test_what_is_in_flight_is_not_explored_again(tmp_path):
    """The action that looks worse is explored with chance 1/2 until enough is in flight, then by the floor alone."""
    with open_started(str(tmp_path / "s.sqlite"), epsilon=0.1) as engine:
        user = {"age": 0.0, "likes": "videos"}
        first = engine.decide("ads", user)
        for _ in range(100):
            last = engine.decide("ads", user)
        assert min(first.probabilities) == 0.5
        assert min(last.probabilities) == 0.05


def test_an_experiment_that_was_recorded_before_counts_nothing_in_flight(tmp_path):
    """A configuration of an earlier headstart has no `forget_after`: its decisions are made again as they were."""
    config = settle()
    assert config.forget_after is None
    assert "forget_after" not in config.as_dict()
    with Engine.open(make_config(str(tmp_path / "s.sqlite")), clock=Clock()) as engine:
        assert engine._fold("ads").config.forget_after == 1000  # a new one gets it, for life


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3"])
def test_rejects_what_is_no_number_to_forget_after(value: Any):
    with pytest.raises(OptionError, match=r"experiments\.ads\.forget_after must be a whole number of at least 1"):
        settle(forget_after=value)


def test_a_horizon_is_for_what_start_makes_of_a_log():
    with pytest.raises(OptionError, match=r"experiments\.ads\.horizon is for what start makes of a log"):
        settle(horizon=500)
    assert settle(horizon=500, log={"rows": make_log()}).horizon == 500
