"""The closed loop: what the service recorded is the next generation's log."""

import random

import httpx

from headstart.judgement.audit.audit import audit
from headstart.logs.tables import read_log
from headstart.serve.demo import send_users
from tests.serve.in_process import served

RATES = {"young": (0.2, 0.5), "old": (0.3, 0.2)}
ACTIONS = ["banner", "letter"]


def _send(client: httpx.Client, n_users: int, source: random.Random) -> None:
    """Users with event ids of their own, so that every draw is the same in every run."""
    for batch in range(n_users // 50):
        ages = [source.choice(("young", "old")) for _ in range(50)]
        asks = {"decisions": [{"context": {"age": age}, "event_id": f"{batch}-{i}"} for i, age in enumerate(ages)]}
        decisions = client.post("/v1/ads/decide/batch", json=asks).json()["decisions"]
        outcomes = [
            {
                "event_id": decision["event_id"],
                "outcome": float(source.random() < RATES[age][ACTIONS.index(decision["action"])]),
            }
            for age, decision in zip(ages, decisions, strict=True)
        ]
        client.post("/v1/ads/outcome/batch", json={"outcomes": outcomes})


def test_three_generations_each_start_from_the_log_of_the_one_before(tmp_path):
    """The audit passes each log, the exported formats agree, and the third generation has learnt from the others.

    Drawing lots has 0.3, always the letter 0.35, the letter for the young and the banner for the old 0.4. With one in
    five users explored, a policy that knows has 0.34 to 0.38; the mean of 2,000 users has a standard error of 0.011.
    """
    source = random.Random(3)
    log = None
    for generation in range(3):
        experiment = {
            "actions": ACTIONS,
            "contexts": {"age": ["young", "old"]},
            "epsilon": 0.2,
            **({} if log is None else {"log": {"path": str(log)}}),
        }
        with served(tmp_path / f"{generation}.sqlite", {"ads": experiment}) as client:
            _send(client, 2_000, source)
            for format in ("jsonl", "parquet", "dsjson"):
                path = tmp_path / f"{generation}.{format}"
                path.write_bytes(client.get("/v1/ads/log", params={"format": format}).content)
            report = client.get("/v1/ads/report").json()
        assert report["checks"]["p"] > 1e-4
        log = tmp_path / f"{generation}.jsonl"
        rows = read_log(str(log))
        assert len(rows) == 2_000
        assert rows.has_propensities
        again = read_log(str(tmp_path / f"{generation}.parquet"))
        assert sorted(rows.propensities) == sorted(again.propensities)
        assert rows.outcomes.sum() == again.outcomes.sum()
        assert audit(rows).verdict.decision != "do not use it"
    assert report["value"]["mean"] > 0.3


def test_the_demo_s_users_come_through_http(tmp_path):
    from headstart.serve.demo import serve_introduction

    with serve_introduction(tmp_path, seed=7) as address:
        state = send_users(address, 200, seed=1, progress=lambda n: None)
        assert state["decisions"] == state["outcomes"] == 200
        assert state["log"]["rows"] == 400
        assert "<h1>ads</h1>" in httpx.get(f"{address}/experiments/ads").text
