"""The app as a whole: who did what, the access log, and a configuration that changes while it runs."""

import json
import logging

import httpx
import pytest

from headstart.errors import OptionError
from headstart.serve import Engine
from headstart.serve.http.access import draw_key
from headstart.serve.http.app import App
from headstart.serve.http.server import JsonLines
from tests.serve.in_process import USER, configure, running, served


def _table(*keys):
    return {key.name: {"sha256": key.sha256, "scopes": sorted(key.scopes)} for key in keys}


def _steer(client):
    version = client.get("/v1/ads/state").json()["version"]
    client.post("/v1/ads/freeze", json={"reason": "a sale"})
    client.post("/v1/ads/unfreeze", json={})
    client.post("/v1/ads/roll-back", json={"version": version})
    client.post("/v1/ads/withdraw-log", json={"reason": "it lies"})
    client.post("/v1/ads/freeze", json={})


def _recorded(engine):
    events = [event for event in engine.events("ads") if "by" in event.body]
    return [(event.kind, event.body["by"], event.body["address"]) for event in events]


KINDS = ("frozen", "unfrozen", "rolled_back", "log_withdrawn", "frozen")


def test_what_people_decide_is_recorded_with_who_and_from_where(tmp_path):
    secret, key = draw_key("ops", ("admin",))
    config = configure(tmp_path / "s.sqlite", keys=_table(key), server={"proxies": ["127.0.0.1"]})
    app = App(Engine.open(config))
    with running(app) as client:
        client.headers.update({"Authorization": f"Bearer {secret}", "X-Forwarded-For": "192.0.2.7"})
        _steer(client)
        assert _recorded(app.engine) == [(kind, "ops", "192.0.2.7") for kind in KINDS]
        report = client.get("/v1/ads/report").json()
        assert report["conflicts"] == ["The log was withdrawn by ops (192.0.2.7): it lies"]
        assert "frozen by ops (192.0.2.7) (no reason was given)" in report["alarms"][-1]["message"]


def test_without_keys_it_was_nobody_in_particular(tmp_path):
    app = App(Engine.open(configure(tmp_path / "s.sqlite")))
    with running(app) as client:
        _steer(client)
        assert _recorded(app.engine) == [(kind, "anonymous", "127.0.0.1") for kind in KINDS]


def _lines(caplog):
    formatter = JsonLines()
    return [json.loads(formatter.format(record)) for record in caplog.records if record.name.endswith("access_log")]


def test_the_access_log_has_a_line_per_answer(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger(), "level", logging.ERROR)  # as with --log-level error
    secret, key = draw_key("shop", ("decide",))
    with served(tmp_path / "s.sqlite", keys=_table(key), server={"access_log": True}) as client:
        headers = {"Authorization": f"Bearer {secret}"}
        answer = client.post("/v1/ads/decide?secret=1", json={"context": USER}, headers=headers)
        client.get("/v1/ads/state")
        client.get("/health")
    decided, refused, alive = _lines(caplog)
    assert decided.pop("milliseconds") > 0.0
    assert {name: decided[name] for name in ("key", "address", "method", "path", "status", "bytes")} == {
        "key": "shop",
        "address": "127.0.0.1",
        "method": "POST",
        "path": "/v1/ads/decide",
        "status": 200,
        "bytes": len(answer.content),
    }
    assert secret not in json.dumps(decided)
    assert (refused["key"], refused["address"], refused["status"]) == (None, "127.0.0.1", 401)
    assert (alive["path"], alive["status"]) == ("/health", 200)


def test_there_is_none_unless_it_is_asked_for(tmp_path, caplog):
    with served(tmp_path / "s.sqlite") as client:
        client.get("/health")
    assert _lines(caplog) == []


def test_keys_and_limits_change_while_connections_stay(tmp_path):
    (old, old_key), (new, new_key) = draw_key("shop", ("decide",)), draw_key("shop", ("decide", "read"))
    place = tmp_path / "s.sqlite"
    app = App(Engine.open(configure(place, keys=_table(old_key))))
    with running(app) as client, httpx.Client(base_url=client.base_url, verify=False) as other:

        def decide(secret, caller=client):
            headers = {"Authorization": f"Bearer {secret}"}
            return caller.post("/v1/ads/decide", json={"context": USER}, headers=headers).status_code

        assert (decide(old), decide(new), decide(old, other)) == (200, 401, 200)
        limits = {"body_limit": 1000, "hosts": ["ads.example.com"], "deadline": 7.0, "port": 1, "access_log": True}
        app.reload(configure(place, keys=_table(new_key), server=limits))
        assert (decide(old), decide(new), decide(new, other)) == (401, 200, 200)
        assert client.get("/v1/experiments", headers={"Host": "evil.example"}).status_code == 421
        assert (app.options.deadline, app.options.port, app.options.access_log) == (7.0, 0, True)
        app.reload(configure(place, keys=_table(new_key), server={"rate_limit": 2}))
        assert [decide(new) for _ in range(3)] == [200, 200, 429]


def test_a_configuration_that_is_wrong_changes_nothing(tmp_path):
    _, key = draw_key("shop", ("read",))
    place = tmp_path / "s.sqlite"
    with Engine.open(configure(place, keys=_table(key), server={"host": "0.0.0.0"})) as engine:
        app = App(engine)
        door, options = app.door, app.options
        for wrong in (
            configure(place, keys=_table(key), server={"rate_limit": "fast"}),
            configure(place, keys={"shop": {"sha256": "abc", "scopes": ["read"]}}),
            configure(place),  # without keys it may not listen where it does
        ):
            with pytest.raises(OptionError):
                app.reload(wrong)
            assert (app.door, app.options) == (door, options)
