"""`headstart store`: a sound store passes, and every kind of fault is found."""

import json
import sqlite3

import pytest
from typer.testing import CliRunner

from headstart.cli import app
from headstart.logs.tables import read_log
from headstart.serve import Engine
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.sources import Sources
from headstart.serve.engine.verification import verify_store
from tests.serve.experiments import CONTEXTS, Clock, make_config, make_log


def fill(engine, clock, n=60):
    """A little of everything."""
    for i in range(n):
        clock.seconds += 1.0
        user = {"age": float(i % 5), "likes": "videos" if i % 2 else "images"}
        available = ["image"] if i % 7 == 0 else None
        decision = engine.decide("ads", user, available, event_id=f"u{i}")
        if i % 3:
            engine.outcome("ads", decision.event_id, float(i % 2))
        if i % 10 == 4:
            engine.outcome("ads", f"u{i - 1}", 0.25)
            engine.outcome("ads", f"nobody{i}", 1.0)
        if i == 20:
            engine.freeze("ads")
        if i == 30:
            engine.unfreeze("ads")
        if i == 40:
            engine.roll_back("ads", 50)


SETTINGS = {
    "plain": {},
    "warm": {"evaluator": "ExactMatching", "oracle": "ThompsonBeta", "holdout": 0.1},
    "linear": {"oracle": "LinUCB"},
    "thompson": {"oracle": "LinThompson", "evaluator": "IPSWeighting"},
    "guarded": {"evaluator": "IPSWeighting", "guard": "Guarded"},
    "windows": {"outcome_window": 5.0, "default_outcome": 0.0, "oracle": "ThompsonGaussian"},
    "late": {"outcome_window": 0.5, "oracle": "Exp3", "schedule": "batch", "evaluator": "HistoricalAverage"},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_sound_store_passes_and_every_decision_is_made_again(address, name, monkeypatch):
    monkeypatch.setattr("headstart.serve.engine.ledger.SNAPSHOT_EVERY", 40)
    log, clock = make_log(), Clock()
    settings = {"contexts": CONTEXTS, **SETTINGS[name]}
    if "evaluator" in settings:
        settings["log"] = log
    config = make_config(address, **settings)
    with Engine.open(config, clock=clock) as engine:
        fill(engine, clock)
        engine.close_windows()
        engine._ledgers["ads"].save_snapshot(every=1)
        engine.decide("ads", {"age": 0.0, "likes": "images"})
        engine._ledgers["ads"].save_snapshot(every=1)
        live = engine.fingerprint("ads")
    sources = Sources()
    sources.read(config.experiments["ads"])
    store = open_store(address)
    verdict = verify_store(store.query, sources)
    store.close()
    assert verdict.faults == []
    assert verdict.decisions == verdict.decided_again == 61
    assert verdict.snapshots == 2
    assert verdict.fingerprints["ads"] == live
    with Engine.open(config, clock=clock) as engine:  # from the snapshot
        assert engine.fingerprint("ads") == live


# The configuration is event 1; decisions have even numbers, their outcomes the odd ones after them.
FAULTS = {
    "a missing event": (
        "DELETE FROM events WHERE sequence = 20",
        "event 21 of 'ads' does not follow the event before it",
    ),
    "a changed outcome": (
        """UPDATE events SET body = '{"outcome":0.75}' WHERE sequence = 5""",
        "is not the fold",
    ),
    "a changed action": (
        "UPDATE events SET body = json_set(body, '$.action', iif(body ->> 'action' = 'image', 'video', 'image')) "
        "WHERE sequence = 4",
        "was not drawn from the probabilities",
    ),
    "changed probabilities": (
        "UPDATE events SET body = json_set(body, '$.probabilities', json('[0.5, 0.5]'), '$.propensity', 0.5) "
        "WHERE sequence = 4",
        "is not what the state",
    ),
    "a changed version": (
        "UPDATE events SET body = json_set(body, '$.version', 3) WHERE sequence = 8",
        "has version 3",
    ),
    "a time that goes back": ("UPDATE events SET time = 5 WHERE sequence = 9", "has a time before"),
    "a lost decision": ("DELETE FROM events WHERE sequence = 2", "has no decision"),
    "a changed snapshot": (
        """UPDATE snapshots SET body = replace(body, '"began":{"whole":"0"}', '"began":{"whole":"1"}')""",
        "is not the fold",
    ),
    "an unknown kind": ("UPDATE events SET kind = 'magic' WHERE kind = 'frozen'", "unknown kind"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(tmp_path, fault):
    statement, message = FAULTS[fault]
    path, clock = str(tmp_path / "events.sqlite"), Clock()
    with Engine.open(make_config(path, oracle="UCB"), clock=clock) as engine:
        for i in range(10):
            engine.outcome("ads", engine.decide("ads", event_id=f"u{i}").event_id, float(i % 2))
        engine.freeze("ads")
        engine._ledgers["ads"].save_snapshot(every=1)
    result = CliRunner().invoke(app, ["store", "verify", path])
    assert result.exit_code == 0, result.output
    with sqlite3.connect(path) as connection:
        assert connection.execute(statement).rowcount > 0
    connection.close()
    result = CliRunner().invoke(app, ["store", "verify", path])
    assert result.exit_code == 1
    assert message in result.output.replace("\n", " ")


def test_a_withdrawn_file_leaves_the_rest_verifiable(tmp_path):
    """Decisions under a log that is gone are counted, not made again; after the withdrawal they are."""
    path, clock = str(tmp_path / "events.sqlite"), Clock()
    config = make_config(path, contexts=CONTEXTS, log=make_log(), evaluator="IPSWeighting")
    with Engine.open(config, clock=clock) as engine:
        fill(engine, clock, 5)
        engine.withdraw_log("ads")
        fill(engine, clock, 8)
    store = open_store(path)
    verdict = verify_store(store.query)  # without the log
    store.close()
    assert verdict.faults == []
    assert (verdict.decisions, verdict.decided_again) == (8, 3)


def test_export_writes_the_next_log(tmp_path):
    path, clock = str(tmp_path / "events.sqlite"), Clock()
    with Engine.open(make_config(path, contexts=CONTEXTS), clock=clock) as engine:
        fill(engine, clock, 10)
        rows = list(engine.export("ads"))
    for format in ("jsonl", "dsjson", "parquet"):
        target = tmp_path / f"log.{format}"
        result = CliRunner().invoke(app, ["store", "export", path, "ads", "--out", str(target), "--format", format])
        assert result.exit_code == 0, result.output
        assert target.stat().st_size > 0
        known = sum(row["outcome"] is not None for row in rows)
        told = f"{len(rows)} decisions of ads, {known} of them with an outcome, are in {target}"
        assert told.replace(" ", "") in result.output.replace("\n", "").replace(" ", "")
    by_name = read_log(tmp_path / "log.dsjson", action="tag")
    assert set(by_name.action_names) <= {str(row["action"]) for row in rows}
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["propensity"] for line in lines] == [row["propensity"] for row in rows]


def test_export_of_what_is_not_there_says_so(tmp_path):
    path = str(tmp_path / "events.sqlite")
    Engine.open(make_config(path)).close()
    for arguments, message in [
        (["store", "verify", str(tmp_path / "none.sqlite")], "there is no store at"),
        (["store", "export", path, "adds", "--out", str(tmp_path / "x")], "no experiment 'adds'; known: ads"),
    ]:
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 1
        assert message in str(result.exception)
