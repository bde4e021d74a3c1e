"""A person is erased: contexts and names go from the bytes of the store, propensities and outcomes stay valid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headstart.cli import app
from headstart.serve import Engine
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.verification import Verification, verify_store
from headstart.serve.errors import UnknownDecision
from headstart.serve.store.events import read_body, write_body
from headstart.serve.units import Unit
from tests.serve.experiments import Clock, make_config

AGE = 41.0625  # nobody else's
LINEAR = {"oracle": "LinUCB", "contexts": {"age": "number", "town": ["x", "y"]}}
SETTINGS: dict[str, dict[str, Any]] = {
    "looks at contexts": LINEAR,
    "learns at close": {**LINEAR, "outcome_window": 5.0, "default_outcome": 0.0},
    "bounds contexts": {**LINEAR, "contexts": {"age": {"range": [18, 40]}, "town": ["x", "y"]}, "outside": "clip"},
    "looks at nobody": {"oracle": "UCB", "contexts": {"age": "number", "town": ["x", "y"]}, "holdout": 0.3},
}


def live(engine: Engine, first: int, n: int) -> None:
    """Users of whom every third is Anna, a unit; her town is null."""
    for i in range(first, first + n):
        is_anna = i % 3 == 1
        context = {"age": AGE, "town": None} if is_anna else {"age": 20.0 + i, "town": "x"}
        engine.decide("ads", context, event_id=f"u{i}", unit="anna" if is_anna else f"c{i % 4}")
        if i % 2:
            engine.outcome("ads", f"u{i}", float(i % 3 == 0))


def verify(address: str) -> Verification:
    store = open_store(address)
    try:
        return verify_store(store.query)
    finally:
        store.close()


def rows_of(engine: Engine) -> dict[str, dict[str, Any]]:
    return {row["event_id"]: dict(row) for row in engine.export("ads")}


@pytest.mark.parametrize("settings", SETTINGS)
def test_contexts_go_and_everything_else_stays(address, settings):
    """Of 30 users 10 are Anna. The state after it is the fold of what is left, live, after a restart and verified."""
    clock, config = Clock(), make_config(address, **SETTINGS[settings])
    with Engine.open(config, clock=clock) as engine:
        live(engine, 0, 30)
        before, counted = rows_of(engine), engine.state("ads")
        assert engine.erase("ads", Unit("anna"), "she asked", by="ann") > 0
        after, state = rows_of(engine), engine.state("ads")
        erased = {f"u{i}" for i in range(30) if i % 3 == 1}
        for event_id, row in after.items():
            changed = {"context", "unit"} if event_id in erased else set()
            assert {name for name in row if row[name] != before[event_id][name]} == changed
        assert {tuple(after[event_id]["context"]) for event_id in erased} == {()}
        assert len({after[event_id]["unit"] for event_id in erased}) == 1  # still one person's, whoever it was
        for name in ("decisions", "outcomes", "learnt", "clipped_contexts", "missing", "shown", "held_out"):
            assert state.get(name) == counted.get(name)
        assert [a["online"] for a in state["actions"]] == [a["online"] for a in counted["actions"]]
        clock.seconds += 10
        live(engine, 30, 20)
        engine.close_windows()
        known = engine.fingerprint("ads")
    with Engine.open(config, clock=clock) as engine:
        assert engine.fingerprint("ads") == known
    verdict = verify(address)
    assert (verdict.faults, verdict.fingerprints["ads"]) == ([], known)
    assert (verdict.decisions, verdict.redacted) == (50, 10)
    assert verdict.decided_again + verdict.redacted + verdict.clouded == verdict.decisions


def test_a_policy_learns_as_if_the_erased_had_never_been_told(tmp_path):
    """A twin that never heard of Anna's outcomes has the same beliefs."""
    means = {}
    for is_anna_told in (True, False):
        address = str(tmp_path / f"{is_anna_told}.sqlite")
        with Engine.open(make_config(address, **LINEAR, epsilon=1.0), clock=Clock()) as engine:  # by lot
            for i in range(20):
                is_anna = i % 4 == 3
                engine.decide(
                    "ads", {"age": 20.0 + i, "town": "x"}, event_id=f"u{i}", unit="anna" if is_anna else None
                )
                if is_anna_told or not is_anna:
                    engine.outcome("ads", f"u{i}", float(i % 2))
            if is_anna_told:
                assert engine.erase("ads", Unit("anna")) > 0
                assert engine.state("ads")["not_learnable"] == 5
            probe = engine.decide("ads", {"age": 30.0, "town": "y"}, event_id="probe")
            means[is_anna_told] = [a["policy"] for a in engine.state("ads")["actions"]], probe.probabilities
    assert means[True][0] == means[False][0]
    assert means[True][1] == means[False][1]


def find_bytes(path: Path, sought: bytes) -> int:
    return sum(each.read_bytes().count(sought) for each in path.parent.glob(f"{path.name}*"))


def test_the_bytes_are_gone_from_the_file_and_its_write_ahead_log(tmp_path):
    """Also from the snapshot that held what she was in flight with; the engine still runs."""
    path = tmp_path / "e.sqlite"
    with Engine.open(make_config(str(path), **LINEAR), clock=Clock()) as engine:
        live(engine, 0, 400)
        engine._ledgers["ads"].save_snapshot(1)
        assert min(find_bytes(path, b"anna"), find_bytes(path, str(AGE).encode())) > 100
        engine.erase("ads", Unit("anna"))
        assert (find_bytes(path, b"anna"), find_bytes(path, str(AGE).encode())) == (0, 0)
        live(engine, 400, 2)  # she comes back: from now on there is something to know again
        assert find_bytes(path, b"anna") > 0


def test_asked_again_it_has_nothing_to_do_and_nobody_is_unknown(address):
    with Engine.open(make_config(address, **LINEAR), clock=Clock()) as engine:
        engine.decide("ads", {"age": 1.0, "town": "x"}, event_id="one")
        live(engine, 0, 12)
        assert engine.erase("ads", "one") > 0
        assert engine.erase("ads", "one") == 0
        assert engine.erase("ads", "u1") > 0  # by one decision of hers, all of them
        assert sum(not row["context"] for row in engine.export("ads")) == 5
        with pytest.raises(UnknownDecision, match="no decision of 'ads' is of the unit 'anna'"):
            engine.erase("ads", Unit("anna"))
        with pytest.raises(UnknownDecision, match="has the event_id 'nobody'"):
            engine.erase("ads", "nobody")
        assert engine.outcome("ads", "u4", 1.0).status == "applied"  # by its id an outcome still comes
        retried = engine.decide("ads", {"age": 7.0, "town": "y"}, event_id="u1")  # who has the id gets its answer
        assert retried.action == rows_of(engine)["u1"]["action"]
        assert engine.decide("ads", {"age": AGE, "town": "y"}, unit="anna").follows is None
    assert verify(address).faults == []


def test_what_an_erasure_does_not_explain_is_damage(tmp_path):
    address = str(tmp_path / "e.sqlite")
    with Engine.open(make_config(address, **LINEAR), clock=Clock()) as engine:
        live(engine, 0, 9)
        engine.erase("ads", Unit("anna"))
    store = open_store(address)
    sequence, text = store.query("SELECT sequence, body FROM events WHERE event_id = 'u4'")[0]
    body = read_body(text)
    for changed in ({**body, "action": "nobody's"}, {**body, "context": {"age": AGE, "town": None}}):
        with store.writing("ads") as turn:
            turn.execute("UPDATE events SET body = ? WHERE sequence = ?", (write_body(changed), sequence))
        faults = " ".join(verify_store(store.query).faults)
        assert f"event {sequence} of 'ads' does not follow the event before it" in faults
        assert f"names decision {sequence}, which is not what it left of it" in faults
    store.close()


def test_a_replica_that_held_the_contexts_forgets_them_too(address):
    """It was told of the decisions before; it neither goes on with them nor keeps a snapshot of them."""
    config = make_config(address, **LINEAR)
    with Engine.open(config, clock=Clock()) as first, Engine.open(config, clock=Clock()) as second:
        live(first, 0, 30)
        second.decide("ads", {"age": 1.0, "town": "x"}, event_id="s1")
        first.erase("ads", Unit("anna"))
        stale = second._ledgers["ads"]
        stale._keep("fold", 12, b"an old snapshot")
        assert stale.reader.snapshot("ads", "fold") is None
        second.decide("ads", {"age": 2.0, "town": "x"}, event_id="s2")
        first.decide("ads", {"age": 2.0, "town": "x"}, event_id="s3")
        second.decide("ads", {"age": 2.0, "town": "x"}, event_id="s4")
        first.decide("ads", {"age": 2.0, "town": "x"}, event_id="s4")
        assert first.fingerprint("ads") == second.fingerprint("ads")
    assert verify(address).faults == []


def test_the_command_line_erases_beside_a_service(tmp_path):
    path = tmp_path / "ads.toml"
    path.write_text('store = "e.sqlite"\n[experiments.ads]\nactions = ["a", "b"]\noracle = "UCB"\n')
    with Engine.open(make_config(str(tmp_path / "e.sqlite"), actions=["a", "b"], oracle="UCB")) as engine:
        for i in range(6):
            engine.decide("ads", unit="anna" if i % 2 else None, event_id=f"u{i}")
        told = CliRunner().invoke(app, ["store", "erase", str(path), "ads", "--unit", "anna", "--reason", "asked"])
        assert (told.exit_code, told.output) == (0, "3 decisions of ads have no context any more.\n")
        engine.decide("ads", event_id="after")
        assert sum(row["unit"] == "anna" for row in engine.export("ads")) == 0
        told = CliRunner().invoke(app, ["store", "erase", str(path), "ads"])
        assert told.exit_code != 0
    assert find_bytes(tmp_path / "e.sqlite", b"anna") == 0
    verified = CliRunner().invoke(app, ["store", "verify", str(path)])
    assert (verified.exit_code, "3 decisions were erased" in verified.output) == (0, True)
