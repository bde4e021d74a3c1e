"""Metrics: what a monitor is told of each experiment."""

import re
import time
from pathlib import Path

from headstart.serve.engine.engine import Engine
from headstart.serve.http.app import App
from tests.serve.in_process import configure, running
from tests.serve.waiting import wait

TWO = {"ads": {"actions": ["a", "b"]}, "offers": {"actions": ["c", "d"]}}
DOCUMENT = Path(__file__).parents[3] / "docs" / "serve.md"


def _read(client):
    """Values by name and labels."""
    lines = [line for line in client.get("/metrics").text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_each_experiment_has_its_own_health(tmp_path):
    app = App(Engine.open(configure(tmp_path / "s.sqlite", TWO)))
    with running(app) as client:
        client.post("/v1/ads/decide", json={})
        wait(lambda: _read(client)['headstart_experiment_folder{experiment="ads"}'] == 1)
        told = _read(client)
        for flag in ("failing", "broken", "hanging", "lost_history"):
            assert told[f'headstart_experiment_{flag}{{experiment="ads"}}'] == 0, flag
        assert told['headstart_experiment_position_events{experiment="ads"}'] == 2
        assert 0 <= told['headstart_experiment_since_commit_seconds{experiment="ads"}'] < 60
        assert 'headstart_experiment_since_commit_seconds{experiment="offers"}' not in told  # none was
        app.engine._ledgers["offers"].stay_broken("a test")
        told = _read(client)
        assert told['headstart_experiment_broken{experiment="offers"}'] == 1
        assert told['headstart_experiment_broken{experiment="ads"}'] == 0
        assert told["headstart_writable"] == 1


def test_lost_history_is_a_flag_of_its_own(tmp_path):
    app = App(Engine.open(configure(tmp_path / "s.sqlite", {"ads": TWO["ads"]})))
    with running(app) as client:
        for _ in range(3):
            client.post("/v1/ads/decide", json={})
        with app.engine._store.writing("ads") as turn:
            turn.execute("DELETE FROM events WHERE sequence > 2")
        wait(lambda: _read(client)['headstart_experiment_lost_history{experiment="ads"}'] == 1)
        assert _read(client)["headstart_writable"] == 0
        assert _read(client)['headstart_decisions_total{experiment="ads"}'] == 3  # what was last seen


def test_metrics_wait_for_no_experiment_that_hangs(tmp_path):
    """The thread that writes stands still in the middle of a turn: they are answered from memory."""
    app = App(Engine.open(configure(tmp_path / "s.sqlite", {"ads": TWO["ads"]})))
    with running(app) as client:
        client.post("/v1/ads/decide", json={})
        _read(client)
        with app.engine._ledgers["ads"].lock:
            started = time.perf_counter()
            told = _read(client)
            page = client.get("/").status_code
            assert time.perf_counter() - started < 2
        assert told['headstart_decisions_total{experiment="ads"}'] == 1
        assert page == 200


def test_every_metric_stands_in_the_document(tmp_path):
    with running(App(Engine.open(configure(tmp_path / "s.sqlite", TWO)))) as client:
        names = set(re.findall(r"^# TYPE (headstart_\w+)", client.get("/metrics").text, re.MULTILINE))
    document = DOCUMENT.read_text(encoding="utf-8")
    names = {name.removesuffix("_created") for name in names}
    assert {name for name in names if f"`{name}`" not in document} == set()
