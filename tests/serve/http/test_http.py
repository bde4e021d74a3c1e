"""The service over real HTTP."""

import io
import random
import string
from http.client import HTTPConnection

import pyarrow.parquet as pq
import pytest

from headstart.serve.client import Client, RequestFailed
from headstart.serve.http.access import draw_key
from tests.serve.in_process import ADS, JSON, USER, served


@pytest.fixture(scope="module")
def ads(tmp_path_factory):
    with served(tmp_path_factory.mktemp("http") / "ads.sqlite") as client:
        yield client


def _decide(client, **fields):
    return client.post("/v1/ads/decide", json={"context": USER, **fields})


def test_a_decision_names_its_action_and_the_chances_it_was_drawn_with(ads):
    answer = _decide(ads, event_id="first")
    assert answer.status_code == 200
    decision = answer.json()
    assert set(decision) == {"event_id", "action", "propensity", "probabilities", "version"}
    assert decision["event_id"] == "first"
    assert decision["propensity"] == decision["probabilities"][decision["action"]]
    assert sum(decision["probabilities"].values()) == pytest.approx(1.0)


def test_the_same_id_gets_the_same_decision_and_another_context_is_a_conflict(ads):
    decision = _decide(ads, event_id="again").json()
    assert _decide(ads, event_id="again").json() == decision
    answer = ads.post("/v1/ads/decide", json={"context": {**USER, "age": 35}, "event_id": "again"})
    assert answer.status_code == 409
    assert answer.json()["error"]["code"] == "conflict"


def test_a_unit_keeps_its_action_and_its_outcome_finds_its_newest_decision(ads):
    first, again = (_decide(ads, unit="customer-7").json() for _ in range(2))
    assert "follows" not in first
    assert again == {
        **first,
        "event_id": again["event_id"],
        "version": again["version"],
        "follows": first["event_id"],
    }
    told = ads.post("/v1/ads/outcome", json={"unit": "customer-7", "outcome": 1}).json()
    assert told == {"event_id": again["event_id"], "status": "applied"}
    rows = ads.get("/v1/ads/log").text.splitlines()
    assert any('"unit":"customer-7"' in row and f'"follows":"{first["event_id"]}"' in row for row in rows)


@pytest.mark.parametrize(
    ("report", "status", "told"),
    [
        ({"unit": "nobody", "outcome": 1}, 404, "no decision of 'ads' is of the unit 'nobody'"),
        ({"unit": "", "outcome": 1}, 422, "unit must be 1 to 200 printable characters"),
        ({"unit": "c", "event_id": "e", "outcome": 1}, 422, "event_id and unit are both there"),
        ({"outcome": 1}, 422, "event_id is missing (or unit"),
    ],
)
def test_an_outcome_names_one_decision(ads, report, status, told):
    answer = ads.post("/v1/ads/outcome", json=report)
    assert (answer.status_code, told in answer.json()["error"]["message"]) == (status, True)


def test_outcomes_with_names_over_http(tmp_path):
    shop = {"actions": ["mail", "nothing"], "outcomes": {"click": {}, "revenue": {}}, "value": "revenue - click"}
    with served(tmp_path / "shop.sqlite", {"ads": shop}) as client, Client(str(client.base_url), "ads") as ads:
        event_id = ads.decide()["event_id"]
        assert ads.outcome(event_id, {"click": 1}) == {
            "event_id": event_id, "status": "waiting", "outcomes": {"click": "waiting"},
        }  # fmt: skip
        assert ads.outcome(event_id, {"revenue": 12.5})["status"] == "applied"
        for report, told in (
            ({"outcome": 1}, "has outcomes with names"),
            ({"outcomes": {"click": "yes"}}, "outcomes.click must be a finite number, got text"),
            ({"outcomes": [1]}, "outcomes must be an object of at least one outcome by name, got a list"),
            ({"outcome": 1, "outcomes": {"click": 1}}, "outcome and outcomes are both there"),
            ({"outcomes": {"click": 1}, "report_id": 7}, "report_id must be 1 to 100 printable characters"),
        ):
            answer = client.post("/v1/ads/outcome", json={"event_id": event_id, **report})
            assert (answer.status_code, told in answer.json()["error"]["message"]) == (422, True), told
        assert '"outcome":11.5' in client.get("/v1/ads/log").text


def test_an_action_is_retired_and_reinstated_over_http(tmp_path):
    with served(tmp_path / "ads.sqlite") as client:
        told = client.post("/v1/ads/retire", json={"action": "video", "reason": "sold out"})
        assert told.status_code == 200
        assert _decide(client).json()["probabilities"]["video"] == 0.0
        assert client.post("/v1/ads/reinstate", json={"action": "video"}).json()["sequence"] > told.json()["sequence"]
        assert client.post("/v1/ads/retire", json={"action": None}).status_code == 422
        assert client.post("/v1/ads/retire", json={"action": "radio"}).status_code == 422
        deeds = [deed["what"] for deed in client.get("/v1/ads/report").json()["deeds"]]
        assert "retired the action video" in deeds


def test_a_person_is_erased_over_http(tmp_path):
    with served(tmp_path / "ads.sqlite") as client:
        for i in range(3):
            _decide(client, unit="anna", event_id=f"a{i}")
        assert client.post("/v1/ads/erase", json={}).status_code == 422
        assert client.post("/v1/ads/erase", json={"unit": "anna", "event_id": "a1"}).status_code == 422
        assert client.post("/v1/ads/erase", json={"unit": "anna", "reason": "asked"}).json()["sequence"] > 0
        assert client.post("/v1/ads/erase", json={"unit": "anna"}).status_code == 404
        assert client.post("/v1/ads/erase", json={"event_id": "a1"}).json() == {"sequence": 0}
        assert "anna" not in client.get("/v1/ads/log").text
        told = client.get("/v1/ads/decisions/a1").json()
        assert (told["context"], told["sentence"].endswith("for whom was erased.")) == ({}, True)
        deeds = [deed["what"] for deed in client.get("/v1/ads/report").json()["deeds"]]
        assert "erased the contexts of 3 decisions" in deeds


def test_only_available_actions_have_a_chance(ads):
    decision = _decide(ads, available=["video", "text"]).json()
    assert decision["probabilities"]["image"] == 0.0
    assert decision["action"] in ("video", "text")


def test_an_outcome_of_zero_is_an_outcome(ads):
    before = ads.get("/v1/ads/state").json()["outcomes"]
    event_id = _decide(ads).json()["event_id"]
    report = {"event_id": event_id, "outcome": 0}
    assert ads.post("/v1/ads/outcome", json=report).json()["status"] == "applied"
    assert ads.post("/v1/ads/outcome", json=report).json()["status"] == "duplicate"
    assert ads.post("/v1/ads/outcome", json={**report, "outcome": 1}).json()["status"] == "conflicting"
    assert ads.get("/v1/ads/state").json()["outcomes"] == before + 1


def test_an_outcome_of_an_unknown_decision_is_kept_as_dangling(ads):
    answer = ads.post("/v1/ads/outcome", json={"event_id": "nobody", "outcome": 1})
    assert answer.json() == {"event_id": "nobody", "status": "dangling"}
    assert ads.get("/v1/ads/state").json()["dangling"] >= 1


def test_a_batch_answers_each_of_its_own(ads):
    users = [{"context": USER}, {"context": {"age": 1}}, {"context": USER, "event_id": "in-a-batch"}]
    decisions = ads.post("/v1/ads/decide/batch", json={"decisions": users}).json()["decisions"]
    assert [next(iter(d)) for d in decisions] == ["event_id", "error", "event_id"]
    assert decisions[2]["event_id"] == "in-a-batch"
    outcomes = [{"event_id": decisions[0]["event_id"], "outcome": 1.0}, {"event_id": "?", "outcome": 2}]
    receipts = ads.post("/v1/ads/outcome/batch", json={"outcomes": outcomes}).json()["outcomes"]
    assert [receipt["status"] for receipt in receipts] == ["applied", "dangling"]


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("decide", b"{", 400, "not JSON"),
        ("decide", b"[]", 400, "must be a JSON object, got a list"),
        ("decide", b'{"context": []}', 422, "context must be an object"),
        ("decide", b'{"contxt": {}}', 422, "'contxt' is not a field; known: context"),
        ("decide", b"{}", 422, "context column 'age' is missing"),
        ("decide", b'{"context": {"age": "x", "likes_videos": "yes"}}', 422, "'age' must be a number, got 'x'"),
        ("decide", b'{"context": {"age": 1, "likes_videos": ["yes"]}}', 422, "no category ['yes']"),
        ("decide", b'{"context": {"age": 1e999, "likes_videos": "yes"}}', 4, ""),
        ("decide", b'{"event_id": ""}', 422, "event_id must be 1 to 200"),
        ("decide", b'{"available": []}', 422, "available must be a list of at least one"),
        ("outcome", b'{"event_id": "a"}', 422, "outcome must be a finite number, got null"),
        ("outcome", b'{"outcome": 1}', 422, "event_id is missing"),
        ("outcome", b'{"event_id": "a", "outcome": NaN}', 400, "not JSON"),
        ("outcome/batch", b'{"outcomes": []}', 422, "outcomes must be a list of 1 to 1000"),
        ("outcome/batch", b'{"outcomes": [{"event_id": 3, "outcome": 1}]}', 422, r"outcomes[0].event_id must be"),
        ("roll-back", b"{}", 422, "version must be"),
        ("freeze", b'{"reason": 3}', 422, "reason must be text"),
    ],
)
def test_a_bad_body_is_told_what_is_wrong(ads, path, body, status, message):
    answer = ads.post(f"/v1/ads/{path}", content=body, headers=JSON)
    assert answer.status_code == status or answer.status_code // 100 == status
    assert message in answer.json()["error"]["message"]


def test_unknown_paths_methods_and_experiments_have_the_same_shape_of_error(ads):
    for answer, status in (
        (ads.post("/v1/adds/decide", json={}), 404),
        (ads.get("/v1/adds/state"), 404),
        (ads.get("/nothing"), 404),
        (ads.get("/v1/ads/decide"), 405),
        (ads.post("/v1/ads/state"), 405),
        (ads.get("/v1/ads/log?format=xml"), 422),
        (ads.get("/static/nothing.js"), 404),
    ):
        assert answer.status_code == status
        assert set(answer.json()["error"]) == {"code", "message"}


def test_a_large_body_is_refused(tmp_path):
    with served(tmp_path / "s.sqlite", server={"body_limit": 1000}) as client:
        answer = client.post("/v1/ads/decide", content=b"x" * 1001, headers=JSON)
        assert answer.status_code == 413
        assert client.post("/v1/ads/decide", content=iter([b"x" * 600] * 3), headers=JSON).status_code == 413
        assert _decide(client).status_code == 200


def test_ten_thousand_fuzzed_bodies_are_never_a_failure_of_ours(ads):
    """Ten thousand requests by the plainest client there is: httpx takes longer to ask than the service to answer."""
    source, asking = random.Random(5), HTTPConnection(ads.base_url.host, ads.base_url.port, timeout=30)
    good = '{"context": {"age": 34, "likes_videos": "yes"}, "event_id": "x", "available": ["image"], "outcome": 1}'
    for _ in range(10_000):
        text = list(good)
        for _ in range(source.randint(1, 6)):
            at = source.randrange(len(text))
            kind = source.random()
            if kind < 0.4:
                text[at] = source.choice(string.printable)
            elif kind < 0.7:
                del text[at]
            else:
                text[at:at] = source.choice(["[", "]", "{", "}", "null", "1e309", '"\\ud800"', "-0", "\x00", "true"])
        path = source.choice(["decide", "outcome", "decide/batch", "outcome/batch", "roll-back"])
        body = "".join(text).encode("utf-8", "surrogatepass")
        asking.request("POST", f"/v1/ads/{path}", body, JSON)
        answer = asking.getresponse()
        answer.read()
        assert answer.status < 500, "".join(text)
    asking.close()


def test_the_log_is_given_in_three_formats(ads):
    event_id = _decide(ads).json()["event_id"]
    ads.post("/v1/ads/outcome", json={"event_id": event_id, "outcome": 1})
    lines = ads.get("/v1/ads/log").text.splitlines()
    assert len(lines) == ads.get("/v1/ads/state").json()["decisions"]
    table = pq.read_table(io.BytesIO(ads.get("/v1/ads/log?format=parquet").content))
    assert table.num_rows == len(lines)
    assert event_id in table["event_id"].to_pylist()
    known = sum(outcome is not None for outcome in table["outcome"].to_pylist())
    assert len(ads.get("/v1/ads/log?format=dsjson").text.splitlines()) == known


def test_health_readiness_metrics_and_document(ads):
    assert ads.get("/health").json() == {"status": "alive"}
    assert ads.get("/ready").json() == {"is_ready": True}
    status = ads.get("/v1/status").json()
    assert (status["is_ready"], status["error"], status["lag"]) == (True, None, 0)
    told = ads.get("/metrics").text
    for name in ("headstart_decisions_total", "headstart_commit_seconds_bucket", "headstart_chi_square_p",
                 "headstart_effective_sample_size", "headstart_dangling_total", "headstart_lag_events"):  # fmt: skip
        assert name in told
    assert "/v1/ads/decide" in ads.get("/openapi.json").json()["paths"]
    assert ads.get("/v1/experiments").json() == {"experiments": ["ads"]}


def test_keys_guard_every_path_but_health(tmp_path):
    secret, key = draw_key("shop", ("decide",))
    table = {"shop": {"sha256": key.sha256, "scopes": ["decide"]}}
    with served(tmp_path / "s.sqlite", keys=table) as client:
        assert _decide(client).status_code == 401
        assert "Basic" in _decide(client).headers["www-authenticate"]
        client.headers["Authorization"] = f"Bearer {secret}"
        assert _decide(client).status_code == 200
        for path in (
            "/",
            "/metrics",
            "/v1/ads/state",
            "/v1/ads/log",
            "/experiments/ads",
            "/openapi.json",
            "/v1/status",
        ):
            assert client.get(path).status_code == 403
        assert client.post("/v1/ads/freeze", json={}).status_code == 403
        assert client.get("/health").status_code == 200


def test_a_caller_who_asks_too_often_waits(tmp_path):
    with served(tmp_path / "s.sqlite", server={"rate_limit": 5}) as client:
        statuses = [_decide(client).status_code for _ in range(10)]
        assert statuses[:5] == [200] * 5
        assert 429 in statuses[5:]


def test_freezing_and_rolling_back_over_http(tmp_path):
    with served(tmp_path / "s.sqlite") as client:

        def learn():
            event_id = _decide(client).json()["event_id"]
            return client.post("/v1/ads/outcome", json={"event_id": event_id, "outcome": 1}).json()["status"]

        assert learn() == "applied"
        version = client.get("/v1/ads/state").json()["version"]
        assert client.post("/v1/ads/freeze", json={"reason": "a test"}).status_code == 200
        assert client.get("/v1/ads/state").json()["is_frozen"] is True
        assert learn() == "waiting"
        client.post("/v1/ads/unfreeze", json={})
        assert client.post("/v1/ads/roll-back", json={"version": version}).status_code == 200
        plays = sum(action["policy"]["counts"] for action in client.get("/v1/ads/state").json()["actions"])
        assert plays == 1.0
        assert client.post("/v1/ads/roll-back", json={"version": 10**6}).status_code == 409


def test_the_client_decides_and_reports(ads):
    with Client(str(ads.base_url), "ads") as client:
        decision = client.decide(USER)
        assert client.outcome(decision["event_id"], 1.0)["status"] == "applied"
        assert len(client.decide_many([USER, USER])) == 2
        assert client.outcome_many({"nobody-2": 1.0})[0]["status"] == "dangling"
        assert client.state()["experiment"] == "ads"
        with pytest.raises(RequestFailed, match="'age' is missing") as refused:
            client.decide({})
        assert refused.value.status == 422


def test_the_client_retries_what_may_be_retried():
    waits = []
    with (
        Client("http://127.0.0.1:9", "ads", retries=2, sleep=waits.append) as client,
        pytest.raises(RequestFailed, match="no answer"),
    ):
        client.decide(USER)
    assert len(waits) == 2
    assert 0.025 <= waits[0] <= 0.075 <= 2 * waits[1]


def test_what_is_durable_is_there_after_a_restart(tmp_path):
    with served(tmp_path / "s.sqlite") as client:
        decision = _decide(client, event_id="kept").json()
        client.post("/v1/ads/outcome", json={"event_id": "kept", "outcome": 1})
        state = client.get("/v1/ads/state").json()
    with served(tmp_path / "s.sqlite") as client:
        assert _decide(client, event_id="kept").json() == decision
        assert client.get("/v1/ads/state").json() == state


def test_a_page_of_every_experiment(tmp_path):
    with served(tmp_path / "s.sqlite", {"ads": ADS, "offers": {"actions": ["a", "b"], "holdout": 0.2}}) as client:
        page = client.get("/")
        assert page.status_code == 200
        assert "/experiments/ads" in page.text
        assert "/experiments/offers" in page.text
        assert "none configured" in client.get("/experiments/ads").text


def test_pages_cannot_be_framed_and_data_is_not_taken_for_a_script(ads):
    for path in ("/", "/experiments/ads"):
        headers = ads.get(path).headers
        assert headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer"
    for path in ("/", "/v1/ads/state", "/v1/ads/log", "/v1/ads/log?format=parquet", "/static/page.js", "/nothing"):
        assert ads.get(path).headers["x-content-type-options"] == "nosniff"
