"""Alarms on values, over HTTP and on the page, and what an administrator does about them."""

from __future__ import annotations

import pytest

from tests.serve.in_process import served

ADS = {"actions": ["image", "video"], "contexts": {"age": "number"}, "oracle": "LinUCB"}
BOUNDED = {**ADS, "contexts": {"age": {"range": [0, 120]}}, "outcome_range": [0, 1]}


def live(client, n: int = 40) -> None:
    for i in range(n):
        decision = client.post("/v1/ads/decide", json={"context": {"age": 20 + i}}).json()
        client.post("/v1/ads/outcome", json={"event_id": decision["event_id"], "outcome": i % 13})


def report(client, age: float, outcome: float, event_id: str = "wild") -> list[int]:
    decided = client.post("/v1/ads/decide", json={"context": {"age": age}, "event_id": event_id})
    told = client.post("/v1/ads/outcome", json={"event_id": event_id, "outcome": outcome})
    return [decided.status_code, told.status_code]


def messages(client) -> list[str]:
    return [alarm["message"] for alarm in client.get("/v1/ads/report").json()["alarms"]]


def test_an_outlier_is_an_alarm_until_it_is_set_aside(tmp_path):
    with served(tmp_path / "s.sqlite", {"ads": ADS}) as client:
        live(client)
        before = client.get("/v1/ads/state").json()["actions"]
        assert messages(client) == []
        assert report(client, 30, 1e6) == [200, 200]
        words = "1 outcome of 1,000,000 is far outside what was seen (0 to 12), event_id 'wild': set it aside if "
        assert messages(client) == [words + "it is a mistake."]
        assert "far outside what was seen (0 to 12)" in client.get("/experiments/ads").text
        metrics = client.get("/metrics").text
        assert 'headstart_outliers{experiment="ads"} 1.0' in metrics
        answer = client.post("/v1/ads/set-aside", json={"event_id": "wild", "reason": "a typing error"})
        assert answer.status_code == 200
        assert client.post("/v1/ads/set-aside", json={"event_id": "wild"}).json() == answer.json()
        assert messages(client) == []
        after = client.get("/v1/ads/state").json()
        assert [a["policy"] for a in after["actions"]] == [a["policy"] for a in before]
        assert 'headstart_set_aside{experiment="ads"} 1.0' in client.get("/metrics").text
        assert client.post("/v1/ads/take-back", json={"event_id": "wild"}).json()["sequence"] > 0


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({"event_id": "nobody"}, 404, "no decision of 'ads' has the event_id 'nobody'"),
        ({}, 422, "event_id is missing"),
        ({"event_id": 7}, 422, "event_id must be 1 to 200"),
        ({"event_id": "x", "reason": 1}, 422, "reason must be text"),
        ({"event_id": "x", "why": ""}, 422, "'why' is not a field"),
    ],
)
def test_a_wrong_request_to_set_aside_says_what_is_wrong(tmp_path, body, status, text):
    with served(tmp_path / "s.sqlite", {"ads": ADS}) as client:
        for verb in ("set-aside", "take-back"):
            answer = client.post(f"/v1/ads/{verb}", json=body)
            assert answer.status_code == status
            assert text in answer.json()["error"]["message"]


def test_what_is_outside_a_declared_range_gets_422_and_the_document_says_so(tmp_path):
    with served(tmp_path / "s.sqlite", {"ads": BOUNDED}) as client:
        answer = client.post("/v1/ads/decide", json={"context": {"age": 1e200}})
        assert answer.status_code == 422
        assert "'age' must be in [0, 120], got 1e+200" in answer.json()["error"]["message"]
        assert report(client, 30, 1e6) == [200, 422]
        path = client.get("/openapi.json").json()["paths"]["/v1/ads/decide"]["post"]
        schema = path["requestBody"]["content"]["application/json"]["schema"]["properties"]["context"]["properties"]
        assert schema["age"] == {"type": ["number", "null"], "minimum": 0.0, "maximum": 120.0}


def test_many_clipped_values_are_an_alarm_on_the_range(tmp_path):
    with served(tmp_path / "s.sqlite", {"ads": {**BOUNDED, "outside": "clip"}}) as client:
        assert report(client, 150, 2.0) == [200, 200]
        assert messages(client) == [
            f"1 of 1 {what} were outside their range ({bound}, declared) and learnt as if at its end: is it right?"
            for what, bound in (("outcomes", "outcome 0 to 1"), ("users", "age 0 to 120"))
        ]
        metrics = client.get("/metrics").text
        assert 'headstart_clipped_outcomes_total{experiment="ads"} 1.0' in metrics
        assert 'headstart_clipped_contexts_total{experiment="ads"} 1.0' in metrics
