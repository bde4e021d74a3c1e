"""Before its start and after its end everybody is shown the safe action; in between a share is decided for."""

from __future__ import annotations

from typing import Any

from headstart.serve import Engine
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.verification import verify_store
from tests.serve.experiments import Clock, make_config

START = 1_700_000_000  # 2023-11-14T22:13:20Z, when a test's clock begins
LIFE = {"ramp": [["2023-11-14T22:13:30Z", 0.2], ["2023-11-14T22:13:40Z", 1.0]], "end": "2023-11-14T22:14:00Z"}
EVEN: dict[str, Any] = {
    "actions": ["a", "b", "c"], "oracle": "ABTest", "epsilon": 0.0, "safe_action": "c", "life": LIFE,
}  # fmt: skip


def check_sound(address: str) -> None:
    store = open_store(address)
    try:
        verdict = verify_store(store.query)
    finally:
        store.close()
    assert (verdict.faults, verdict.decided_again) == ([], verdict.decisions)


def test_the_vector_that_is_logged_is_the_one_that_was_drawn_from(address):
    """Of a third each: a fifth of it and four fifths for c, 1/15, 1/15, 1/15 + 12/15 = 13/15."""
    clock = Clock()
    expected = {0: (0.0, 0.0, 1.0), 10: (1 / 15, 1 / 15, 13 / 15), 20: (1 / 3, 1 / 3, 1 / 3), 40: (0.0, 0.0, 1.0)}
    with Engine.open(make_config(address, **EVEN), clock=clock) as engine:
        for seconds, chances in expected.items():
            clock.seconds = START + seconds
            drawn = [engine.decide("ads") for _ in range(5)]
            for decision in drawn:
                assert max(abs(p - q) for p, q in zip(decision.probabilities, chances, strict=True)) < 1e-12
                engine.outcome("ads", decision.event_id, 1.0)
            state = engine.state("ads")
            told = [action["chance"] for action in state["actions"]]
            assert max(abs(p - q) for p, q in zip(told, chances, strict=True)) < 1e-12
        assert state["life"]["stage"] == "over"
        assert state["learnt"] == 20  # what comes after the end counts
        known = engine.fingerprint("ads")
    with Engine.open(make_config(address, **EVEN), clock=clock) as engine:
        assert engine.fingerprint("ads") == known
    check_sound(address)


def test_units_come_in_as_the_share_grows_and_keep_what_they_got(tmp_path):
    address, clock = str(tmp_path / "e.sqlite"), Clock()
    with Engine.open(make_config(address, **EVEN), clock=clock) as engine:
        units = [f"c{i}" for i in range(40)]
        before = {unit: engine.decide("ads", unit=unit) for unit in units}
        assert {each.action for each in before.values()} == {"c"}
        clock.seconds = START + 12
        some = {unit: engine.decide("ads", unit=unit) for unit in units}
        assert {each.follows for each in some.values()} == {None}
        again = {unit: engine.decide("ads", unit=unit) for unit in units}
        assert all(again[unit].follows == some[unit].event_id for unit in units)
        clock.seconds = START + 25
        grown = {unit: engine.decide("ads", unit=unit) for unit in units}
        for unit in units:
            if some[unit].action != "c":
                assert (grown[unit].action, grown[unit].follows) == (some[unit].action, some[unit].event_id)
            else:  # all of the share is there now
                assert grown[unit].follows is None
                assert max(abs(p - 1 / 3) for p in grown[unit].probabilities) < 1e-12
        clock.seconds = START + 100
        assert {engine.decide("ads", unit=unit).action for unit in units} == {"c"}
    check_sound(address)


def test_the_hold_out_is_a_part_of_the_share_and_without_the_safe_action_the_experiment_decides(tmp_path):
    """Who is held out has a third each, of which the ramp leaves a fifth: nobody is exposed before the share is."""
    address, clock = str(tmp_path / "e.sqlite"), Clock(START + 12)
    with Engine.open(make_config(address, **EVEN, holdout=1.0), clock=clock) as engine:
        decision = engine.decide("ads")
        assert (decision.is_holdout, round(decision.probabilities[0], 12)) == (True, round(1 / 15, 12))
        assert engine.decide("ads", available=["a", "b"]).probabilities == (0.5, 0.5, 0.0)
        engine.retire("ads", "c")
        assert engine.decide("ads").probabilities == (0.5, 0.5, 0.0)
    check_sound(address)
