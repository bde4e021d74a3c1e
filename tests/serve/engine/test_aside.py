"""Setting one decision aside: everything goes on as if its outcome had never come, nor would."""

from __future__ import annotations

from typing import Any

import pytest

from headstart.errors import OptionError
from headstart.serve import Engine
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.verification import verify_store
from headstart.serve.errors import UnknownDecision
from headstart.serve.telling.overviews import Overviews
from tests.serve.experiments import Clock, make_config
from tests.serve.waiting import wait

SETTINGS: dict[str, dict[str, Any]] = {
    "UCB": {"oracle": "UCB"},
    "ThompsonNormal": {"oracle": "ThompsonNormal"},
    "LinUCB": {"oracle": "LinUCB", "contexts": {"age": "number"}},
}


def open_engine(address: str, clock: Clock | None = None, **settings: Any) -> Engine:
    return Engine.open(make_config(address, **settings), clock=clock or Clock())


def live(engine: Engine, n: int = 30, prefix: str = "u") -> None:
    has_age = bool(engine.config.experiments["ads"].contexts)
    for i in range(n):
        decision = engine.decide("ads", {"age": 20.0 + i} if has_age else None, event_id=f"{prefix}{i}")
        engine.outcome("ads", decision.event_id, float(i % 3 == 0))


def told(engine: Engine) -> list[Any]:
    return [(a["policy"], a["online"]) for a in engine.state("ads")["actions"]]


def check_sound(address: str, fingerprint: bytes) -> None:
    store = open_store(address)
    verdict = verify_store(store.query)
    store.close()
    assert verdict.faults == []
    assert verdict.decisions == verdict.decided_again
    assert verdict.fingerprints["ads"] == fingerprint


@pytest.mark.parametrize("name", SETTINGS)
def test_a_wild_outcome_that_is_set_aside_was_never_learnt(address, name):
    settings = SETTINGS[name]
    with open_engine(address, **settings) as engine:
        live(engine)
        before = told(engine)
        engine.outcome(
            "ads",
            engine.decide("ads", {"age": 1e9} if "contexts" in settings else None, event_id="wild").event_id,
            1e6,
        )
        assert told(engine) != before
        sequence = engine.set_aside("ads", "wild", "a typing error", by="Ann")
        assert told(engine) == before
        state = engine.state("ads")
        assert (state["set_aside"], state["decisions"], state["learnt"], state["waiting"]) == (1, 31, 30, 0)
        event = engine.last_event("ads", "set_aside")
        assert (event.sequence, event.body) == (
            sequence,
            {"event_id": "wild", "reason": "a typing error", "by": "Ann", "address": ""},
        )
        live(engine, 5, "later")
        engine._ledgers["ads"].save_snapshot(every=1)
        here = engine.fingerprint("ads")
    check_sound(address, here)
    with open_engine(address, **settings) as engine:  # from the snapshot
        assert engine.fingerprint("ads") == here


def test_an_outcome_that_comes_later_is_not_learnt_either(address):
    with open_engine(address) as engine:
        live(engine)
        engine.decide("ads", event_id="wild")
        before = told(engine)
        engine.set_aside("ads", "wild")
        assert engine.outcome("ads", "wild", 1e6).status == "set_aside"
        assert engine.outcome("ads", "wild", 1e6).status == "duplicate"
        assert [policy for policy, _ in told(engine)] == [policy for policy, _ in before]
        assert engine.state("ads")["outliers"] == []
        here = engine.fingerprint("ads")
    check_sound(address, here)


def test_with_a_default_outcome_nothing_is_learnt_at_the_close(address):
    clock = Clock()
    with open_engine(address, clock, outcome_window=60, default_outcome=0.0) as engine:
        engine.decide_many("ads", [{"event_id": f"u{i}"} for i in range(4)])
        engine.outcome("ads", "u0", 1e6)
        engine.set_aside("ads", "u0")
        clock.seconds += 61
        assert engine.close_windows() in (0, 4)  # the engine's own thread may have been first
        state = engine.state("ads")
        assert (state["learnt"], state["defaults"], state["waiting"]) == (3, 3, 0)
        engine.set_aside("ads", "u1")  # after its window
        state = engine.state("ads")
        assert (state["learnt"], state["set_aside"], state["waiting"]) == (2, 2, 0)
        assert sum(a["policy"]["counts"] for a in state["actions"]) == 2
        rows = {row["event_id"]: (row["outcome"], row["is_set_aside"]) for row in engine.export("ads")}
        assert rows == {"u0": (None, True), "u1": (None, True), "u2": (0.0, False), "u3": (0.0, False)}
        here = engine.fingerprint("ads")
    check_sound(address, here)


def test_it_is_done_once_however_often_it_is_asked_for(address):
    with open_engine(address) as engine:
        live(engine, 3)
        first = engine.set_aside("ads", "u1", "why not")
        assert engine.set_aside("ads", "u1", "again") == first
        assert [event.kind for event in engine.events("ads")].count("set_aside") == 1


def test_an_unknown_decision_cannot_be_set_aside(address):
    with open_engine(address) as engine:
        engine.outcome("ads", "dangling", 1.0)
        for event_id in ("nobody", "dangling"):
            with pytest.raises(UnknownDecision, match=f"no decision of 'ads' has the event_id '{event_id}'"):
                engine.set_aside("ads", event_id)
        with pytest.raises(OptionError, match="event_id must be"):
            engine.set_aside("ads", "")
        assert len(engine.events("ads")) == 2


def test_what_was_set_aside_can_be_taken_back(address):
    with open_engine(address) as engine:
        live(engine)
        before = told(engine)
        engine.set_aside("ads", "u3")
        assert told(engine) != before
        assert engine.take_back("ads", "u3", "it was right") > 0
        assert engine.take_back("ads", "u3") == 0
        assert told(engine) == before
        assert engine.state("ads")["set_aside"] == 0
        assert engine.set_aside("ads", "u3") > 0
        here = engine.fingerprint("ads")
    check_sound(address, here)


def test_it_holds_through_a_freeze_a_roll_back_and_another_configuration(address):
    with open_engine(address) as engine:
        live(engine, 10)
        engine.freeze("ads")
        live(engine, 5, "cold")
        engine.set_aside("ads", "cold2")
        engine.unfreeze("ads")
        assert sum(a["policy"]["counts"] for a in engine.state("ads")["actions"]) == 14
        engine.set_aside("ads", "u4")
        engine.roll_back("ads", 21)  # after the tenth user
        assert sum(a["policy"]["counts"] for a in engine.state("ads")["actions"]) == 9
    with open_engine(address, oracle="ThompsonNormal") as engine:
        assert sum(a["policy"]["counts"] for a in engine.state("ads")["actions"]) == 9
        here = engine.fingerprint("ads")
    check_sound(address, here)


def test_a_report_follows(tmp_path):
    with open_engine(str(tmp_path / "s.sqlite")) as engine:
        live(engine)
        overviews = Overviews(engine)
        overview = overviews["ads"]
        before = overview.as_dict()["value"]["mean"]
        engine.outcome("ads", engine.decide("ads", event_id="wild").event_id, 1e6)
        wait(lambda: overview.as_dict()["value"]["mean"] > 1000)
        engine.set_aside("ads", "wild")
        wait(lambda: overview.as_dict()["value"]["mean"] == before)
        assert overview.as_dict()["decisions"] == 31
        overviews.close()
