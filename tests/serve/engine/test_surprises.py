"""Live users with nulls and unknown categories: answered over HTTP, recorded as they came, counted, learnt, shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.serve import Engine, load_config
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.verification import verify_store
from tests.serve.experiments import make_log
from tests.serve.in_process import served
from tests.serve.logs import write_clean

CONTEXTS = {"age": "number", "city": ["north", "south"]}
ADS = {"actions": ["image", "video"], "contexts": CONTEXTS, "oracle": "LinUCB", "seed": 7}


def as_verified(path: Path) -> None:
    store = open_store(str(path))
    verdict = verify_store(store.query)
    store.close()
    assert verdict.faults == []
    assert verdict.decided_again == verdict.decisions


@pytest.mark.parametrize(
    ("user", "status"),
    [
        ({"age": None, "city": "north"}, 200),
        ({"age": 30, "city": None}, 200),
        ({"age": 30, "city": "Atlantis"}, 200),
        ({"age": 30, "city": ""}, 200),
        ({"age": "thirty", "city": "north"}, 422),  # text is no number
        ({"age": True, "city": "north"}, 422),
        ({"age": 30, "city": 3}, 422),  # no city is a number
        ({"age": 30, "city": True}, 422),
        ({"age": 30, "city": ["north"]}, 422),
        ({"age": 30, "city": "x" * 201}, 422),
        ({"age": 30, "city": "a\u0000b"}, 422),  # what a store could not keep
        ({"age": 30}, 422),  # an absent column may be a typing error
        ({"age": 30, "town": "north"}, 422),
    ],
)
def test_null_and_unknown_are_answered_and_what_is_wrong_is_not(tmp_path: Path, user: dict[str, Any], status: int):
    with served(tmp_path / "s.sqlite", {"ads": ADS}) as client:
        assert client.post("/v1/ads/decide", json={"context": user}).status_code == status
        assert client.get("/v1/ads/state").json()["decisions"] == int(status == 200)


def test_they_are_counted_shown_and_recorded_as_they_came(tmp_path: Path):
    users = [{"age": 30, "city": "Atlantis"}] * 3 + [{"age": None, "city": None}, {"age": 30, "city": "north"}]
    with served(tmp_path / "s.sqlite", {"ads": ADS}) as client:
        for i, user in enumerate(users):
            decision = client.post("/v1/ads/decide", json={"context": user, "event_id": f"u{i}"}).json()
            client.post("/v1/ads/outcome", json={"event_id": decision["event_id"], "outcome": i % 2})
            again = client.post("/v1/ads/decide", json={"context": user, "event_id": f"u{i}"})
            assert again.json() == decision  # a retry
        other = client.post("/v1/ads/decide", json={"context": users[3], "event_id": "u0"})
        assert other.status_code == 409
        state, report = client.get("/v1/ads/state").json(), client.get("/v1/ads/report").json()
        metrics, page = client.get("/metrics").text, client.get("/experiments/ads").text
        rows = [line for line in client.get("/v1/ads/log?format=jsonl").text.splitlines() if line]
        assert client.get("/v1/ads/log?format=parquet").status_code == 200
    assert (state["unseen"], state["missing"]) == ({"city": 3}, {"age": 1, "city": 1})
    assert (state["learnt"], state["not_learnable"]) == (5, 0)
    words = "3 users had a city that nobody declared: seen as of no known city."
    assert words in [alarm["message"] for alarm in report["alarms"]]
    assert words in page
    assert 'headstart_unseen_categories_total{column="city",experiment="ads"} 3.0' in metrics
    assert 'headstart_missing_values_total{column="age",experiment="ads"} 1.0' in metrics
    assert '"city":"Atlantis"' in rows[0]
    assert '"age":null' in rows[3]
    as_verified(tmp_path / "s.sqlite")


def opened(folder: Path, **settings: Any) -> Engine:
    return Engine.open(load_config({"store": str(folder / "s.sqlite"), "experiments": {"ads": {**ADS, **settings}}}))


def chances(engine: Engine, **user: Any) -> tuple[float, ...]:
    return engine.decide("ads", {"age": 30.0, "city": "north", **user}).probabilities


def test_a_missing_number_is_seen_as_the_middle_and_an_unknown_category_as_none(tmp_path: Path):
    """The middle is the log's mean; without a log, that of the declared range; without either, 0."""
    log, by_log = make_log(), {"age": "number", "likes": ["images", "videos"]}
    mean = float(log.contexts[:, 0].mean())
    settings = {"contexts": by_log, "log": {"rows": log, "despite_audit": True}, "evaluator": "LinearModel"}
    with opened(tmp_path, **settings) as engine:
        policy = engine._ledgers["ads"].fold.policy
        missing = {"age": "missing", "likes": "unseen"}
        seen = policy.as_vector({"age": None, "likes": "cats"}, missing)
        np.testing.assert_array_equal(seen, [mean, 0.0, 0.0])
        whole = policy.as_vector({"age": mean, "likes": "videos"})
        np.testing.assert_array_equal(whole, [mean, 0.0, 1.0])
    (tmp_path / "s.sqlite").unlink()
    (tmp_path / "s.sqlite.anchor").unlink()
    with opened(tmp_path, contexts={**CONTEXTS, "age": {"range": [20, 60]}}) as engine:
        for i in range(60):
            decision = engine.decide("ads", {"age": 20.0 + i % 40, "city": "north"})
            engine.outcome("ads", decision.event_id, (i % 40) / 40 * (decision.action == "image"))
        policy = engine._ledgers["ads"].fold.policy
        np.testing.assert_array_equal(
            policy.as_vector({"age": None, "city": "north"}, {"age": "missing"}), [40, 1, 0]
        )
        assert chances(engine, age=None) == chances(engine, age=40.0)


def test_a_category_that_is_declared_later_is_learnt_as_itself(tmp_path: Path):
    """What came stays in the events, so a configuration that knows the city makes something of it."""
    with opened(tmp_path) as engine:
        for i in range(20):
            decision = engine.decide("ads", {"age": 0.0, "city": "Atlantis"}, event_id=f"u{i}")
            engine.outcome("ads", decision.event_id, float(decision.action == "video"))
        assert engine.state("ads")["unseen"] == {"city": 20}
    with opened(tmp_path, contexts={**CONTEXTS, "city": ["north", "south", "Atlantis"]}) as engine:
        assert engine.state("ads")["not_learnable"] == 0
        lost = chances(engine, age=0.0, city="Atlantis")
        assert engine.decide("ads", {"age": 0.0, "city": "Atlantis"}).action == "video"
        assert lost[1] > 0.9
    as_verified(tmp_path / "s.sqlite")


def test_a_category_that_was_known_and_is_no_longer_declared_is_not_learnt(tmp_path: Path):
    """As it always was: the fold of an earlier store does not change."""
    with opened(tmp_path) as engine:
        for i in range(4):
            engine.outcome("ads", engine.decide("ads", {"age": 0.0, "city": "south"}).event_id, float(i % 2))
    with opened(tmp_path, contexts={**CONTEXTS, "city": ["north", "east"]}) as engine:
        assert engine.state("ads")["not_learnable"] == 4
        assert engine.state("ads")["unseen"] == {}


def test_what_is_missing_in_the_log_is_missing_in_live_users_alike(tmp_path: Path):
    """A log with gaps has a column that says so, and a level "missing": a live null is seen as the log's were."""
    path = write_clean(tmp_path / "log.csv", 600)
    header, *rows = path.read_text().splitlines()
    cells = [row.split(",") for row in rows]
    for i, row in enumerate(cells):
        row[0], row[1] = ("" if i % 5 == 0 else row[0]), ("" if i % 7 == 0 else row[1])
    path.write_text("\n".join([header, *(",".join(row) for row in cells)]))
    contexts = {"age": "number", "city": ["north", "south", "east", "west"]}
    log = {"path": str(path), "despite_audit": True}
    settings = {"actions": ["A", "B"], "contexts": contexts, "evaluator": "LinearModel", "log": log}
    with opened(tmp_path, **settings) as engine:
        fold = engine._ledgers["ads"].fold
        assert fold.log is not None
        assert (fold.log["rows"], fold.log["reading"]["filled"]) == (600, {"city": 120, "age": 86})
        names = ["age", "age is missing", "city=north", "city=south", "city=east", "city=west", "city=missing"]
        assert fold.log["columns"] == names
        seen = fold.policy.as_vector({"age": None, "city": None}, {"age": "missing", "city": "missing"})
        np.testing.assert_allclose(seen, [fold.log["centres"]["age"], 1, 0, 0, 0, 0, 1])
        unseen = fold.policy.as_vector({"age": 40.0, "city": "Atlantis"}, {"city": "unseen"})
        np.testing.assert_array_equal(unseen, [40, 0, 0, 0, 0, 0, 0])
        for _ in range(5):
            engine.outcome("ads", engine.decide("ads", {"age": None, "city": None}).event_id, 1.0)
        assert engine.state("ads")["not_learnable"] == 0
    as_verified(tmp_path / "s.sqlite")
