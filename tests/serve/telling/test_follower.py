"""Reports that are folded beside the decisions: nobody waits for them, and they begin with a snapshot."""

import logging
import time

import numpy as np
import pytest

from headstart.serve import Engine, load_config
from headstart.serve.engine.acceptance import accept_history
from headstart.serve.store.questions import READ_EVENTS, READ_SNAPSHOTS, SAVE_SNAPSHOT
from headstart.serve.store.reader import REPORT
from headstart.serve.telling import follower as following
from headstart.serve.telling.account import Account
from headstart.serve.telling.overviews import Overviews
from headstart.serve.telling.report import Report
from tests.serve.experiments import Clock, make_config
from tests.serve.in_process import served
from tests.serve.telling.plain_sums import PlainSums
from tests.serve.waiting import wait

N = 100_000
ADS = {"actions": ["video", "image"], "oracle": {"name": "UCB", "beta": 0.5}, "seed": 7}


def _metric(client, name):
    lines = client.get("/metrics").text.splitlines()
    return float(next(line for line in lines if line.startswith(name)).split()[-1])


def _play(engine, n, first=0):
    ids = [f"u{i}" for i in range(first, first + n)]
    engine.decide_many("ads", [{"event_id": event_id} for event_id in ids])
    engine.outcome_many("ads", [(event_id, float(i % 3 == 0)) for i, event_id in enumerate(ids)])


def _report(overviews, position):
    """The report when it has come so far."""
    wait(lambda: overviews["ads"].as_dict()["as_of"]["position"] == position)
    return overviews["ads"].as_dict()


def test_the_first_metrics_and_page_after_a_start_do_not_wait_for_the_log(long_store):
    """They took 4 s: the whole log was folded first. 100 ms is for the best of three: others use the machine too."""
    with served(long_store, {"ads": ADS}) as client:
        client.get("/health")
        took, lags = [], []
        for _ in range(3):
            started = time.perf_counter()
            lags.append(_metric(client, "headstart_report_lag_events"))
            took.append(time.perf_counter() - started)
        started = time.perf_counter()
        report = client.get("/v1/ads/report").json()
        assert time.perf_counter() - started < 1.5
        assert took[0] < 1.0
        assert min(took) < 0.1
        assert lags[0] > 0
        assert report["decisions"] == N // 2
        if report["as_of"]["position"] < N + 1:
            assert f"as of event {report['as_of']['position']:,} of 100,001" in report["as_of"]["text"]
        wait(lambda: _metric(client, "headstart_report_lag_events") == 0, seconds=60)
        assert sum(action["shown"] for action in client.get("/v1/ads/report").json()["actions"]) == N // 2


def test_a_restart_takes_up_the_report_where_it_was(tmp_path):
    path = tmp_path / "events.sqlite"
    with Engine.open(make_config(str(path))) as engine:
        overviews = Overviews(engine)
        _play(engine, 1000)
        before = _report(overviews, 2001)
        wait(lambda: engine.health()["is_folder"])
        overviews.close()
    with Engine.open(make_config(str(path))) as engine:
        read = []
        query = engine._store.query
        engine._ledgers["ads"].reader._query = lambda *asked: read.append(asked) or query(*asked)
        overviews = Overviews(engine)
        again = _report(overviews, 2001)
        overviews.close()
        begun = [parameters[1] for statement, parameters in read if statement == READ_EVENTS]
        assert all(after >= 2001 for after in begun)  # no event was folded again
    assert {**again, "history": None} == {**before, "history": None}


def _keep(engine, position, body):
    with engine._store.writing("ads") as turn:
        turn.execute(SAVE_SNAPSHOT, ("ads", REPORT, position, body))


@pytest.mark.parametrize("harm", ["cut", "empty", "changed", "of another history"])
def test_a_snapshot_that_cannot_be_taken_up_is_dropped(tmp_path, caplog, harm):
    path = tmp_path / "events.sqlite"
    with Engine.open(make_config(str(path))) as engine:
        overviews = Overviews(engine)
        _play(engine, 1000)
        before = _report(overviews, 2001)
        wait(lambda: engine.health()["is_folder"])
        overviews.close()
    with Engine.open(make_config(str(path))) as engine:
        ((position, body),) = engine._store.query(READ_SNAPSHOTS, ("ads", REPORT))
        harmed = {
            "cut": body[: len(body) // 2],
            "empty": "",
            "changed": body.replace("A", "B", 1),
            "of another history": None,
        }[harm]
        if harmed is None:
            account = Account.load("ads", body)
            account.mark = account.mark._replace(hash="another")
            harmed = account.save().decode()
        _keep(engine, position, harmed)
        overviews = Overviews(engine)
        with caplog.at_level(logging.WARNING, "headstart.serve"):
            again = _report(overviews, 2001)
        overviews.close()
        assert {**again, "history": None} == {**before, "history": None}
        if harm != "of another history":
            assert len([record for record in caplog.records if "report of 'ads' was dropped" in record.message]) == 1


def test_pages_of_the_store_add_up_to_the_plain_twin(address, monkeypatch):
    """Hold-out, changed actions, an outcome for an old decision: as one event at a time, read by its own version."""
    monkeypatch.setattr(following, "PAGE", 7)
    tables = [
        {"actions": ["a", "b"], "oracle": "ThompsonBeta", "holdout": 0.3},
        {"actions": ["c", "b", "a"], "oracle": "ThompsonBeta", "holdout": 0.3},
    ]
    for i, table in enumerate(tables):
        with Engine.open(load_config({"store": address, "experiments": {"ads": table}})) as engine:
            _play(engine, 40, first=100 * i)
            engine.decide("ads", event_id=f"later-{i}")
            if i:
                engine.outcome("ads", "later-0", 1.0)
                overviews = Overviews(engine)
                report = _report(overviews, engine.health()["position"])
                overviews.close()
                events = engine.events("ads")
    plain, actions = PlainSums("abc"), []
    for event in events:
        if event.kind == "configuration":
            actions = ["abc".index(label) for label in event.body["actions"]]
        elif event.kind == "decision":
            chances = np.zeros(3)
            chances[actions] = event.body["probabilities"]
            plain.add_decision(event.time / 1e6, "abc".index(event.body["action"]), chances)
        elif event.kind == "outcome":
            body = event.decision
            plain.add_outcome(
                event.decided / 1e6, "abc".index(body["action"]), body["propensity"], event.body["outcome"],
                is_holdout=body.get("is_holdout", False),
            )  # fmt: skip
    expected = Report(plain.sums.of("cba"))
    assert [a["shown"] for a in report["actions"]] == [a["shown"] for a in expected.actions()]
    assert [a["mean"] for a in report["actions"]] == pytest.approx([a["mean"] for a in expected.actions()])
    assert report["checks"]["chi_square"] == pytest.approx(expected.chi_square()[0])
    assert report["holdout"]["n"] == expected.value(is_holdout=True)["n"] > 0


def test_with_a_default_outcome_the_report_counts_windows_that_are_closed(address):
    clock = Clock()
    with Engine.open(make_config(address, outcome_window=60, default_outcome=0.0), clock=clock) as engine:
        _play(engine, 30)
        overviews = Overviews(engine)
        report = _report(overviews, 61)
        assert report["value"]["n"] == 0
        waiting = "30 outcomes have come: they count when the windows of their decisions close."
        assert report["sentence"].endswith(waiting)  # not that none has
        clock.seconds += 61
        engine.close_windows()
        wait(lambda: overviews["ads"].as_dict()["value"]["n"] == 30)
        assert overviews["ads"].as_dict()["value"]["mean"] == pytest.approx(1 / 3)
        overviews.close()


def test_a_decision_that_was_set_aside_leaves_the_report_and_comes_back(address):
    with Engine.open(make_config(address)) as engine:
        overviews = Overviews(engine)
        _play(engine, 30)
        assert _report(overviews, 61)["value"]["n"] == 30
        engine.set_aside("ads", "u0")
        wait(lambda: overviews["ads"].as_dict()["value"]["n"] == 29)
        engine.take_back("ads", "u0")
        wait(lambda: overviews["ads"].as_dict()["value"]["n"] == 30)
        overviews.close()


def test_a_report_of_events_that_were_lost_is_folded_anew(tmp_path):
    """Somebody accepts that the last 20 users are gone: they are in no report afterwards."""
    path = str(tmp_path / "events.sqlite")
    with Engine.open(make_config(path)) as engine:
        overviews = Overviews(engine)
        _play(engine, 50)
        _report(overviews, 101)
        with engine._store.writing("ads") as turn:
            turn.execute("DELETE FROM events WHERE sequence > 61")
        accept_history(engine._store, "a test", by="somebody")
        wait(lambda: engine.state("ads")["decisions"] == 50 and engine.health()["error"] is None)
        _play(engine, 5, first=1000)
        wait(lambda: sum(a["shown"] for a in overviews["ads"].as_dict()["actions"]) == 55)
        deeds = overviews["ads"].as_dict()["deeds"]
        assert (deeds[0]["what"], deeds[0]["by"]) == ("accepted that events were lost", "somebody")
        overviews.close()
