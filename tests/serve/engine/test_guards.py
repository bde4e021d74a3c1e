"""Guardrails that have tripped: the safe action is shown till somebody resumes, on every replica, for every unit."""

import pytest

from headstart.errors import OptionError
from headstart.serve import Engine
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.verification import verify_store
from tests.serve.experiments import Clock, make_config

RAILS = {
    "clicks": {"worse": "lower", "than": 0.2, "then": "fall back"},
    "told": {"worse": "higher", "than": 0.9},
}
EVEN = {
    "actions": ["a", "b", "c"],
    "oracle": "ABTest",
    "epsilon": 0.3,
    "safe_action": "c",
    "guardrails": RAILS,
    "holdout": 0.3,
}
FOUND = {"since": 1, "looked_at": 1, "reason": "a test", "by": "headstart"}


def check_sound(address):
    store = open_store(address)
    try:
        verdict = verify_store(store.query)
    finally:
        store.close()
    assert verdict.faults == []
    assert verdict.decisions == verdict.decided_again


def test_the_safe_action_is_shown_to_all_but_the_hold_out_till_somebody_resumes(address):
    with Engine.open(make_config(address, **EVEN)) as engine:
        assert engine.trip("ads", "clicks", FOUND) == engine.trip("ads", "clicks", FOUND) == 2
        drawn = [engine.decide("ads") for _ in range(40)]
        assert {decision.probabilities for decision in drawn if not decision.is_holdout} == {(0.0, 0.0, 1.0)}
        assert {decision.propensity for decision in drawn if not decision.is_holdout} == {1.0}
        assert {decision.probabilities for decision in drawn if decision.is_holdout} == {(1 / 3, 1 / 3, 1 / 3)}
        assert [each["chance"] for each in engine.state("ads")["actions"]] == [0.0, 0.0, 1.0]
        for decision in drawn:  # learning goes on
            engine.outcome("ads", decision.event_id, 1.0)
        assert engine.state("ads")["learnt"] == 40
    with Engine.open(make_config(address, **EVEN)) as engine:  # and after a restart
        assert engine.state("ads")["tripped"] == [{"guardrail": "clicks", "sequence": 2, "falls_back": True}]
        resumed = engine.resume("ads", "clicks", "it was a holiday", by="ann")
        assert resumed > 0
        assert engine.resume("ads", "clicks") == 0
        assert engine.state("ads")["tripped"] == []
        assert max(max(engine.decide("ads").probabilities) for _ in range(5)) < 0.5
        assert engine.trip("ads", "clicks", FOUND) == 0  # of before: it has begun anew
        assert engine.trip("ads", "clicks", {**FOUND, "since": resumed, "looked_at": resumed}) > resumed
    check_sound(address)


def test_where_the_safe_action_cannot_be_shown_the_policy_decides(address):
    with Engine.open(
        make_config(address, **{**EVEN, "holdout": 0.0, "guardrails": {"clicks": RAILS["clicks"]}})
    ) as engine:
        engine.trip("ads", "clicks", FOUND)
        assert engine.decide("ads", available=["a", "b"]).probabilities == (0.5, 0.5, 0.0)
        engine.retire("ads", "c")
        assert engine.decide("ads").probabilities == (0.5, 0.5, 0.0)
        engine.reinstate("ads", "c")
        assert engine.decide("ads").probabilities == (0.0, 0.0, 1.0)
    check_sound(address)


def test_units_are_shown_the_safe_action_and_drawn_for_anew_afterwards(address):
    """Held out or not is for the life of a unit: those keep what they have."""
    units = [f"c{i}" for i in range(30)]
    with Engine.open(make_config(address, **EVEN), clock=Clock()) as engine:
        before = {unit: engine.decide("ads", unit=unit) for unit in units}
        engine.trip("ads", "clicks", FOUND)
        during = {unit: engine.decide("ads", unit=unit) for unit in units}
        again = {unit: engine.decide("ads", unit=unit) for unit in units}
        for unit in units:
            if before[unit].is_holdout or before[unit].action == "c":
                assert during[unit].follows == before[unit].event_id
            else:
                assert (during[unit].action, during[unit].propensity, during[unit].follows) == ("c", 1.0, None)
                assert again[unit].follows == during[unit].event_id
        engine.resume("ads", "clicks")
        after = {unit: engine.decide("ads", unit=unit) for unit in units}
        anew = [unit for unit in units if during[unit].propensity == 1.0]
        assert all(after[unit].follows is None for unit in anew)
        assert {after[unit].action for unit in anew} > {"c"}
        kept = [unit for unit in units if unit not in anew]
        assert all(after[unit].follows == before[unit].event_id for unit in kept)
        assert len(anew) > 5
        assert len(kept) > 5
    check_sound(address)


def test_one_that_only_raises_an_alarm_changes_no_decision(tmp_path):
    with Engine.open(make_config(str(tmp_path / "e.sqlite"), **EVEN)) as engine:
        engine.trip("ads", "told", FOUND)
        assert engine.state("ads")["tripped"] == [{"guardrail": "told", "sequence": 2, "falls_back": False}]
        assert all(min(engine.decide("ads").probabilities) > 0.0 for _ in range(5))
        with pytest.raises(OptionError, match="no guardrail 'sales'; known: clicks, told"):
            engine.resume("ads", "sales")


def test_a_guardrail_that_is_declared_otherwise_begins_anew_and_one_that_is_not_goes_on(address):
    with Engine.open(make_config(address, **EVEN)) as engine:
        engine.trip("ads", "clicks", FOUND)
        engine.trip("ads", "told", FOUND)
    lower = {**RAILS, "clicks": {**RAILS["clicks"], "than": 0.1}}
    with Engine.open(make_config(address, **{**EVEN, "epsilon": 0.2, "guardrails": lower})) as engine:
        assert [each["guardrail"] for each in engine.state("ads")["tripped"]] == ["told"]
        assert engine.trip("ads", "clicks", FOUND) == 0
        assert engine.trip("ads", "clicks", {**FOUND, "since": 4, "looked_at": 4}) == 5
    check_sound(address)


def test_two_replicas_that_see_it_at_once_record_it_once(address):
    config = make_config(address, **EVEN)
    with Engine.open(config) as one, Engine.open(config) as other:
        assert one.trip("ads", "clicks", FOUND) == other.trip("ads", "clicks", FOUND)
        assert [event.kind for event in one.events("ads")] == ["configuration", "tripped"]
        assert other.decide("ads", event_id="u1").version == 2
    check_sound(address)


def test_verify_finds_a_trip_that_cannot_be(tmp_path):
    address = str(tmp_path / "e.sqlite")
    with Engine.open(make_config(address, **EVEN)) as engine:
        engine.trip("ads", "clicks", {**FOUND, "looked_at": 99})
    store = open_store(address)
    try:
        assert verify_store(store.query).faults == ["tripped 2 cannot be of the guardrail 'clicks'"]
    finally:
        store.close()
