"""A rolling change of configuration: the replica that was started with the old one tells the new one."""

import io
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import headstart as hs
from headstart.serve import Engine, load_config
from tests.serve.in_process import served
from tests.serve.waiting import wait

OLD = {
    "actions": ["image", "video", "text"],
    "contexts": {"age": "number", "likes": ["yes", "no"]},
    "oracle": "UCB",
    "epsilon": 1.0,
    "holdout": 0.2,
}
USER = {"age": 34, "likes": "yes"}
CHANGES = {
    "added": {"actions": ["image", "video", "text", "sound"]},
    "removed": {"actions": ["image", "text"]},
    "reordered": {"actions": ["text", "image", "video"]},
    "column-added": {"contexts": {"age": "number", "likes": ["yes", "no"], "city": ["Rome", "Bern"]}},
    "column-removed": {"contexts": {"likes": ["yes", "no"]}},
    "column-of-another-kind": {"contexts": {"age": ["young", "old"], "likes": ["yes", "no"]}},
}
USERS = {"city": "Rome", "age": 34, "likes": "yes"}
PAGES = ("/", "/metrics", "/v1/ads/report", "/experiments/ads", "/v1/ads/state", "/openapi.json")


def _user(table):
    values = {**USERS, "age": "old"} if isinstance(table["contexts"].get("age"), list) else USERS
    return {column: values[column] for column in table["contexts"]}


def _play(client, user, n):
    users = [{"context": user} for _ in range(n)]
    decisions = client.post("/v1/ads/decide/batch", json={"decisions": users}).json()["decisions"]
    outcomes = [{"event_id": d["event_id"], "outcome": float(i % 2)} for i, d in enumerate(decisions)]
    assert client.post("/v1/ads/outcome/batch", json={"outcomes": outcomes}).status_code == 200
    return decisions


@pytest.mark.parametrize("change", list(CHANGES))
def test_the_replica_with_the_old_configuration_tells_the_new_one(postgres, change):
    address, new_table = postgres.new_store(), {**OLD, **CHANGES[change]}
    with served(address, {"ads": OLD}) as old:
        before = _play(old, USER, 40)
        with served(address, {"ads": new_table}) as new:
            after = _play(new, _user(new_table), 40)
            # A replica's fold and its report follow the store each by itself.
            wait(lambda: old.get("/v1/ads/state").json()["position"] == 162)
            wait(lambda: old.get("/v1/ads/report").json()["as_of"]["position"] == 162)
            for path in PAGES:
                assert old.get(path).status_code == new.get(path).status_code == 200, path
            reports = [client.get("/v1/ads/report").json() for client in (old, new)]
            for report in reports:
                assert [action["name"] for action in report["actions"]] == new_table["actions"]
                kept = [d["action"] for d in before + after if d["action"] in new_table["actions"]]
                shown = {action["name"]: action["shown"] for action in report["actions"]}
                assert shown == {label: kept.count(label) for label in new_table["actions"]}
                assert report["checks"]["p"] > 1e-4
            _check_exports(old, new, new_table, [d for d in before + after if d["action"] in new_table["actions"]])


def _check_exports(old, new, table, kept):
    lines = [json.loads(line) for line in old.get("/v1/ads/log").text.splitlines()]
    assert lines == [json.loads(line) for line in new.get("/v1/ads/log").text.splitlines()]
    assert [line["event_id"] for line in lines] == [decision["event_id"] for decision in kept]
    for line, decision in zip(lines, kept, strict=True):
        assert list(line["probabilities"]) == table["actions"]
        for label, chance in line["probabilities"].items():
            assert chance == decision["probabilities"].get(label, 0.0)
    told = pq.read_table(io.BytesIO(old.get("/v1/ads/log?format=parquet").content)).to_pylist()
    declared = {**table["contexts"], **OLD["contexts"]}
    for row, line in zip(told, lines, strict=True):
        assert row["probabilities"] == line["probabilities"]
        assert set(row["context"]) == set(declared)
        for column in declared:
            value = line["context"].get(column)
            assert row["context"][column] == value or row["context"][column] == str(value)
    assert len(old.get("/v1/ads/log?format=dsjson").text.splitlines()) == len(kept)


def test_an_export_is_of_the_moment_when_it_began(address):
    """The configuration changes while it is read: no row is cut off, none is of the new one."""
    with Engine.open(load_config({"store": address, "experiments": {"ads": OLD}})) as engine:
        for i in range(30):
            engine.decide("ads", USER, event_id=f"u{i}")
        export = engine.export("ads")
        rows = iter(export)
        first = next(rows)
        other = load_config({"store": address, "experiments": {"ads": {**OLD, "actions": ["sound", "text"]}}})
        with Engine.open(other) as changed:
            changed.decide("ads", USER, event_id="later")
            seen = [first, *rows]
            assert [row["event_id"] for row in seen] == [f"u{i}" for i in range(30)]
            assert export.labels == OLD["actions"]
            kept = [row["event_id"] for row in seen if row["action"] == "text"]
            assert [row["event_id"] for row in changed.export("ads") if row["action"] == "text"][: len(kept)] == kept


def test_an_export_across_configurations_is_read_as_a_log(tmp_path):
    with Engine.open(load_config({"store": str(tmp_path / "s.sqlite"), "experiments": {"ads": OLD}})) as engine:
        for decision in engine.decide_many("ads", [{"context": USER}] * 60):
            engine.outcome("ads", decision.event_id, 1.0)
    table = {**OLD, "actions": ["text", "image", "video"]}
    with served(tmp_path / "s.sqlite", {"ads": table}) as client:
        _play(client, USER, 60)
        for format in ("jsonl", "parquet"):
            path = tmp_path / f"log.{format}"
            path.write_bytes(client.get(f"/v1/ads/log?format={format}").content)
            log = hs.read_log(path)
            assert len(log) == 120
            assert np.allclose(log.propensities, 1 / 3)
