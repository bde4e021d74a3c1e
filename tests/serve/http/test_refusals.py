"""What callers are told of a failure, and what the log is."""

import logging
import sqlite3
import threading
from contextlib import contextmanager

from headstart.errors import OptionError
from headstart.serve import Engine, StoreUnavailable
from headstart.serve.errors import PolicyFailed, UnknownExperiment
from headstart.serve.http.access import draw_key
from headstart.serve.http.app import App
from headstart.serve.http.refusals import Refusals
from headstart.serve.store.questions import READ_EVENTS
from headstart.serve.store.sqlite import SQLiteStore
from tests.serve.in_process import ADS, USER, configure, running, served
from tests.serve.waiting import wait

INTERNAL = ("/", "sqlite", "10.0.0.9", "psycopg", "port 5432")


def test_a_failure_is_told_without_internals_and_logged_with_its_cause_once(caplog):
    now = [0.0]
    refusals = Refusals(clock=lambda: now[0])
    cause = "PostgreSQL: connection to 10.0.0.9, port 5432 failed: /run/psycopg"
    for _ in range(1208):
        refusal = refusals.of(StoreUnavailable(cause), may_look=True)
    assert (refusal.status, refusal.code) == (503, "store_unavailable")
    assert "same event_id" in refusal.message
    assert not [word for word in INTERNAL if word in refusal.message]
    assert [cause in record.message for record in caplog.records] == [True]
    now[0] = 11.0
    refusals.of(StoreUnavailable(cause), may_look=True)
    assert "1,207 requests since" in caplog.records[-1].message
    refusals.of(StoreUnavailable("the disk is full"), may_look=True)
    assert "the disk is full" in caplog.records[-1].message


def test_what_is_not_foreseen_is_500_with_its_traceback_in_the_log(caplog):
    refusal = Refusals().of(RuntimeError("/etc/secret"), may_look=True)
    assert (refusal.status, refusal.message) == (500, "the service failed: see its log")
    assert caplog.records[-1].exc_info[1].args == ("/etc/secret",)


def test_a_policy_that_fails_is_our_failure_not_the_caller_s(caplog):
    refusal = Refusals().of(PolicyFailed("singular matrix in /usr/lib"), may_look=True)
    assert (refusal.status, refusal.code) == (500, "policy_failed")
    assert "/usr/lib" not in refusal.message


def test_lists_are_for_those_who_may_look():
    error = UnknownExperiment("no experiment 'adds'; known: ads, salaries")
    assert Refusals().of(error, may_look=True).message == "no experiment 'adds'; known: ads, salaries"
    assert Refusals().of(error, may_look=False).message == "no experiment 'adds'"
    guessed = OptionError("ads has no setting 'oracel'; did you mean 'oracle'? known: oracle, seed")
    assert Refusals().of(guessed, may_look=False).message == "ads has no setting 'oracel'"


def test_a_caller_who_may_only_decide_is_not_told_what_else_there_is(tmp_path):
    caller, reader = draw_key("shop", ("decide", "outcome")), draw_key("desk", ("decide", "read"))
    keys = {key.name: {"sha256": key.sha256, "scopes": sorted(key.scopes)} for _, key in (caller, reader)}
    with served(tmp_path / "s.sqlite", keys=keys) as client:
        for (secret, _), is_told in ((caller, False), (reader, True)):
            client.headers["Authorization"] = f"Bearer {secret}"
            answers = [
                client.post("/v1/adds/decide", json={}),
                client.post("/v1/ads/decide", json={"context": USER, "available": ["x"]}),
                client.post("/v1/ads/decide/batch", json={"decisions": [{"context": USER, "available": ["x"]}]}),
            ]
            assert [answer.status_code for answer in answers] == [404, 422, 200]
            assert ["known:" in answer.text for answer in answers] == [is_told] * 3


def test_open_endpoints_say_a_word_and_readers_get_the_rest(tmp_path):
    """Of two experiments one has lost its log: that is nobody's business, and no reason to stop the other."""
    secret, key = draw_key("ops", ("admin",))
    keys = {"ops": {"sha256": key.sha256, "scopes": ["admin"]}}
    log = tmp_path / "yesterday.csv"
    log.write_text("ad,click\n" + "video,1\nimage,0\nvideo,0\nimage,1\n" * 30)
    source = {"path": str(log), "action": "ad", "outcome": "click", "estimate_propensities": True}
    lost = {"actions": ["image", "video"], "oracle": "UCB", "evaluator": "ExactMatching", "log": source}
    log.unlink()
    with served(tmp_path / "s.sqlite", {"ads": ADS, "lost": lost}, keys=keys) as client:
        assert client.get("/health").json() == {"status": "alive"}
        ready = client.get("/ready")
        assert (ready.status_code, ready.json()) == (200, {"is_ready": True, "why": "experiment"})
        assert client.get("/openapi.json").status_code == 401
        assert client.get("/v1/status").status_code == 401
        client.headers["Authorization"] = f"Bearer {secret}"
        status = client.get("/v1/status").json()
        assert "yesterday.csv" in status["broken"]["lost"]
        assert client.post("/v1/ads/decide", json={"context": USER}).status_code == 200
        refused = client.post("/v1/lost/decide", json={})
        assert refused.status_code == 503
        assert "yesterday" not in refused.text


class _Held(SQLiteStore):
    """A store whose events come when they are let go: a long log."""

    def __init__(self, path):
        super().__init__(path)
        self.is_free = threading.Event()

    def query(self, statement, parameters=()):
        if statement == READ_EVENTS:
            self.is_free.wait(30)
        return super().query(statement, parameters)


def test_while_it_opens_callers_are_asked_to_wait(tmp_path):
    place = tmp_path / "s.sqlite"
    store = _Held(str(place))
    with running(App(Engine.start(configure(place), store=store))) as client:
        ready = client.get("/ready")
        assert (ready.status_code, ready.json()) == (503, {"is_ready": False, "why": "opening"})
        answer = client.post("/v1/ads/decide", json={"context": USER})
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "opening")
        assert "cannot decide yet" in answer.json()["error"]["message"]
        assert answer.headers["retry-after"] == "1"
        assert client.get("/health").status_code == 200
        store.is_free.set()
        wait(lambda: client.get("/ready").json() == {"is_ready": True})
        assert client.post("/v1/ads/decide", json={"context": USER}).status_code == 200


@contextmanager
def _locked(app, place):
    """A store that does not answer: another process has its turn, and somebody holds what readers need."""
    other = sqlite3.connect(place, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        with app.engine._ledgers["ads"].lock:
            yield
    finally:
        other.execute("ROLLBACK")
        other.close()


def test_no_request_is_open_longer_than_its_deadline(tmp_path, caplog):
    """Whether it waits on the event loop or in a thread that hangs; readiness answers all the same."""
    place = tmp_path / "s.sqlite"
    app = App(Engine.open(configure(place, server={"deadline": 0.3})))
    with running(app) as client:
        with _locked(app, place):
            answers = [
                client.post("/v1/ads/decide", json={"context": USER, "event_id": "late"}),
                client.post("/v1/ads/freeze", json={}),
            ]
            for path in ("/ready", "/v1/ads/state"):  # told from memory, or refused: in time
                assert client.get(path).elapsed.total_seconds() < 2.0
        for answer in answers:
            assert answer.elapsed.total_seconds() < 2.0
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            error = answer.json()["error"]
            assert error["code"] == "too_slow"
            assert "asking again with the same event_id is safe" in error["message"]
        client.timeout = 10
        decision = _ask_again(client)
        assert client.get("/v1/ads/state").json()["decisions"] == 1, "the first try and the second are one"
        assert decision["event_id"] == "late"
    assert [record.levelno for record in caplog.records if "too_slow" in record.message] == [logging.ERROR]


def _ask_again(client):
    for _ in range(100):
        answer = client.post("/v1/ads/decide", json={"context": USER, "event_id": "late"})
        if answer.status_code == 200:
            return answer.json()
    raise AssertionError(answer.text)
