"""Callers: every client goes through the scenarios of the protocol, and talks to a real service."""

import asyncio
import inspect
import json
from pathlib import Path

import httpx
import pytest

from headstart.serve.async_client import AsyncClient
from headstart.serve.client import Client, RequestFailed
from headstart.serve.talking import Attempt, Fallback, Manner, Pause, Reply, Request, converse
from tests.serve.in_process import USER, served

SCENARIOS = json.loads(Path(__file__).with_name("scenarios.json").read_text(encoding="utf-8"))


class Script:
    """A service that answers as a scenario says, and writes down what it was asked."""

    def __init__(self, replies):
        self.replies, self.sent, self.waits = list(replies), [], []

    def answer(self, request):
        body = json.loads(request.content) if request.content else None
        self.sent.append([request.method, request.url.path, body])
        reply = self.replies.pop(0)
        if reply == "nothing":
            raise httpx.ConnectError("refused")
        status, told = reply
        return httpx.Response(status, json=told) if told is not None else httpx.Response(status)

    async def pause(self, seconds):
        self.waits.append(seconds)


def _call_plain(scenario, script, settings):
    with Client(
        "http://service", "ads", sleep=script.waits.append, transport=httpx.MockTransport(script.answer), **settings
    ) as client:
        verb, given = scenario["call"]
        try:
            return getattr(client, verb)(**given), None, client.fallbacks
        except RequestFailed as error:
            return None, error, client.fallbacks


def _call_async(scenario, script, settings):
    async def run():
        transport = httpx.MockTransport(script.answer)
        async with AsyncClient(
            "http://service", "ads", sleep=script.pause, transport=transport, **settings
        ) as client:
            verb, given = scenario["call"]
            try:
                return await getattr(client, verb)(**given), None, client.fallbacks
            except RequestFailed as error:
                return None, error, client.fallbacks

    return asyncio.run(run())


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario["name"])
@pytest.mark.parametrize("call", [_call_plain, _call_async], ids=["Client", "AsyncClient"])
def test_scenarios_of_the_protocol(call, scenario):
    script = Script(scenario["replies"])
    settings = {name: scenario[name] for name in ("retries", "fallback") if name in scenario}
    gave, error, fallbacks = call(scenario, script, settings)
    assert script.sent == scenario["sent"]
    assert not script.replies
    if "fails" in scenario:
        assert error is not None
        told = {"status": error.status, "code": error.code, "message": str(error)}
        assert {name: told[name] for name in scenario["fails"]} == scenario["fails"]
    else:
        assert error is None
        if isinstance(scenario["gives"], dict):
            gave = {name: gave[name] for name in scenario["gives"]}
        assert gave == scenario["gives"]
    assert fallbacks == scenario.get("fallbacks", 0)
    for seconds, (low, high) in zip(script.waits, scenario.get("waits", []), strict=False):
        assert low <= seconds <= high


def test_both_clients_have_the_same_verbs_and_parameters():
    verbs = [name for name, each in vars(Client).items() if inspect.isfunction(each) and not name.startswith("_")]
    assert sorted(verbs) == ["close", "decide", "decide_many", "outcome", "outcome_many", "state"]
    for verb in verbs:
        ours, theirs = (list(inspect.signature(getattr(each, verb)).parameters) for each in (Client, AsyncClient))
        assert ours == theirs


def test_patience_ends_a_conversation_and_shortens_its_last_attempt():
    now = [0.0]
    talk = converse(Request("/x", {}), Manner(timeout=2.0, retries=9, patience=1.0), clock=lambda: now[0])
    assert next(talk) == Attempt(Request("/x", {}), 1.0)  # not 2: no more than there is patience for
    now[0] = 0.6
    assert isinstance(talk.send(Reply(None, fault="away")), Pause)
    now[0] = 0.7
    assert next(talk).timeout == pytest.approx(0.3)
    now[0] = 0.99
    with pytest.raises(RequestFailed, match="away"):
        talk.send(Reply(None, fault="away"))


def test_an_outage_costs_one_wait_and_ends_by_itself():
    now = [0.0]
    script = Script(["nothing", [200, {"event_id": "b", "action": "video"}]])
    with Client(
        "http://service", "ads", retries=0, fallback="image", transport=httpx.MockTransport(script.answer)
    ) as client:
        client._fallback = Fallback("image", clock=lambda: now[0])
        assert [client.decide()["action"] for _ in range(3)] == ["image"] * 3
        assert len(script.sent) == 1  # the others were not asked for
        assert [answer["action"] for answer in client.decide_many([None, None])] == ["image", "image"]
        assert client.fallbacks == 5
        now[0] = 1.5
        assert client.decide()["action"] == "video"


def test_the_async_client_talks_to_a_real_service(tmp_path):
    async def run(address):
        async with AsyncClient(address, "ads") as client:
            decision = await client.decide(USER)
            receipt = await client.outcome(decision["event_id"], 1.0)
            many = await asyncio.gather(*(client.decide(USER) for _ in range(20)))
            with pytest.raises(RequestFailed) as refused:
                await client.decide({"age": "old"})
            state = await client.state()
        return receipt, many, refused.value.status, state

    with served(tmp_path / "s.sqlite") as http:
        receipt, many, status, state = asyncio.run(run(str(http.base_url)))
    assert receipt["status"] == "applied"
    assert len({answer["event_id"] for answer in many}) == 20
    assert status == 422
    assert state["decisions"] == 21
    assert state["outcomes"] == 1


def test_a_service_that_stops_is_fallen_back_from_and_returned_to(tmp_path):
    with served(tmp_path / "s.sqlite") as http:
        address = str(http.base_url)
        client = Client(address, "ads", fallback="text", patience=0.3)
        assert "is_fallback" not in client.decide(USER)
    shown = client.decide(USER)
    assert (shown["action"], shown["is_fallback"]) == ("text", True)
    assert client.outcome(shown["event_id"], 1.0)["status"] == "fallback"
    client.close()
