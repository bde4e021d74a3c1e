"""`headstart explain`, run as a user would: a policy's file, a store, a running service."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import headstart as hs
from headstart.cli import app
from tests.serve.in_process import served

ADS = {"actions": ["image", "video"], "oracle": "UCB"}


def run(*arguments):
    done = CliRunner().invoke(app, ["explain", *map(str, arguments)])
    return done.exit_code, " ".join(done.output.split())


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    rng = np.random.default_rng(2)
    age, seen = rng.uniform(20, 60, 300), rng.integers(2, size=300)
    bought = 0.02 * age * seen + rng.normal(size=300)
    log = hs.Log(np.array(["text", "video"])[seen], bought, {"age": age}, np.full(300, 0.5))
    path = tmp_path_factory.mktemp("explain") / "offer.policy"
    hs.start(log, decide_on=["age"], rng=1).save(path)
    return path


def test_a_policy_says_why_this_user_gets_this_action(policy):
    code, told = run(policy, "--user", '{"age": 55}')
    assert code == 0
    assert told.startswith("video has a chance of ")
    assert "for a user with age 55 The log says: a mean outcome of" in told
    own = hs.load(policy).explain({"age": 55})
    assert all(sentence in told for sentence in own.sentences)
    code, text = run(policy, "--user", '{"age": 55}', "--action", "text", "--json")
    assert (code, json.loads(text)["action"]) == (0, "text")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--user", "age=55"], """--user must be JSON, e.g. '{"age": 31}', got 'age=55'"""),
        (["--user", "[55]"], "--user must be an object of columns"),
        (["--user", '{"size": 1}'], "context column 'size'"),
        (["6f0c2e"], "is a policy and records no decisions: give --user"),
    ],
)
def test_what_is_asked_wrongly_is_said(policy, arguments, message):
    code, told = run(policy, *arguments)
    assert code == 1
    assert message in told or "context column 'age' is missing" in told


def test_the_store_and_the_service_say_the_same_of_a_decision(tmp_path):
    store = tmp_path / "events.sqlite"
    with served(store, {"ads": ADS, "other": ADS}) as client:
        decided = client.post("/v1/ads/decide", json={"event_id": "order/7"}).json()
        client.post("/v1/ads/outcome", json={"event_id": "order/7", "outcome": 1})
        by_service = run(str(client.base_url).rstrip("/"), "order/7")
        by_store = run(store, "order/7")
        unknown = run(str(client.base_url).rstrip("/"), "nobody")
    assert by_service == by_store
    code, told = by_store
    assert code == 0
    assert told.startswith("Decision order/7 of ads, ")
    assert f"{decided['action']} was drawn with a chance of {decided['propensity']:.1%}".replace("%", " %") in told
    assert "Outcomes of users so far: 1 of " in told
    assert unknown == (1, "Error: no decision 'nobody' in ads, other")
    assert run(store)[0] == 1
    assert "which decision? give its event id" in run(store)[1]
    assert "there is no store at" in run(tmp_path / "nothing.sqlite", "x")[1]
