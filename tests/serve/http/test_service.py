"""The service listens before it has opened anything, and reads its configuration again when it is told to."""

import socket
import threading
from contextlib import contextmanager

import httpx
import pytest

from headstart.errors import OptionError
from headstart.serve import Engine, load_config
from headstart.serve.errors import StoreUnavailable
from headstart.serve.http.app import App
from headstart.serve.http.server import make_server
from headstart.serve.http.service import Service, listen
from headstart.serve.options import ServerOptions
from tests.serve.experiments import make_config
from tests.serve.in_process import ADS, USER, configure, running
from tests.serve.paused_store import PausedStore
from tests.serve.ready import fill_store
from tests.serve.waiting import wait


@contextmanager
def serving(make_app):
    """A client of a service that is opened beside it, the service, and where it tells that it is open."""
    listening, ports, opened = threading.Event(), [], []
    service = Service(ServerOptions(port=0), make_app, opened.append)

    def begin(port):
        service.begin(port)
        ports.append(port)
        listening.set()

    server = make_server(service, begin)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert listening.wait(60)
        with httpx.Client(base_url=f"http://127.0.0.1:{ports[0]}", timeout=30, verify=False) as client:
            yield client, service, opened
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


def test_it_answers_while_the_store_is_opened(tmp_path):
    is_free = threading.Event()

    def make_app():
        is_free.wait(30)
        return App(Engine.start(configure(tmp_path / "x.sqlite")))

    with serving(make_app) as (client, _, opened):
        assert client.get("/health").json() == {"status": "alive"}
        ready = client.get("/ready")
        assert (ready.status_code, ready.json()) == (503, {"is_ready": False, "why": "opening"})
        for answer in (
            client.post("/v1/ads/decide", json={"context": USER}),
            client.get("/"),
            client.get("/metrics"),
        ):
            assert answer.status_code == 503
            assert answer.json()["error"]["code"] == "opening"
            assert answer.headers["retry-after"] == "1"
        assert opened == []
        is_free.set()
        wait(lambda: bool(opened))
        assert client.get("/ready").status_code == 200
        assert client.post("/v1/ads/decide", json={"context": USER}).status_code == 200


@pytest.fixture
def half_open(tmp_path):
    """Two experiments, one of which has much to fold and is stopped on the way."""
    address = str(tmp_path / "events.sqlite")
    fill_store(address, 10_000)
    ads = make_config(address).experiments["ads"].as_dict()
    return PausedStore(address), configure(address, {"ads": ads, "quick": ADS})


def test_an_experiment_is_served_while_another_is_opened(half_open):
    store, config = half_open
    with serving(lambda: App(Engine.start(config, store=store))) as (client, _, opened):
        assert store.is_asked.wait(30)
        wait(lambda: client.post("/v1/quick/decide", json={"context": USER}).status_code == 200)
        answer = client.post("/v1/ads/decide", json={})
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "opening")
        assert "it is being opened: 50% of its events are folded" in answer.json()["error"]["message"]
        assert answer.headers["retry-after"] == "1"
        assert client.get("/ready").json() == {"is_ready": False, "why": "opening"}
        status = client.get("/v1/status").json()
        assert status["opening"] == ["ads"]
        assert opened == []
        store.is_free.set()
        wait(lambda: bool(opened))
        assert client.post("/v1/ads/decide", json={}).status_code == 200
        assert client.get("/ready").status_code == 200


def test_it_may_end_while_it_opens(half_open):
    store, config = half_open
    with serving(lambda: App(Engine.start(config, store=store))) as (_, service, opened):
        assert store.is_asked.wait(30)
        threading.Timer(0.5, store.is_free.set).start()
    assert opened == []
    assert service.failure is None


def test_a_start_that_fails_ends_it_with_its_cause(tmp_path):
    def make_app():
        raise StoreUnavailable("no such database")

    with serving(make_app) as (_, service, _):
        wait(lambda: service.failure is not None)
        assert str(service.failure) == "no such database"


def test_a_wrong_experiment_ends_it_with_its_cause(tmp_path):
    config = configure(tmp_path / "x.sqlite", {"ads": {"actions": ["a", "b"], "oracle": "UBC"}, "quick": ADS})
    with serving(lambda: App(Engine.start(config))) as (_, service, _):
        wait(lambda: service.failure is not None)
        assert "has no 'UBC'" in str(service.failure)


def test_a_port_in_use_is_a_plain_error():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OptionError, match=rf"127\.0\.0\.1:{port} cannot be listened on: Address already in use"):
            listen(ServerOptions(port=port))


def test_an_admin_has_the_file_read_again(tmp_path):
    path, text = (
        tmp_path / "ads.toml",
        'store = "x.sqlite"\n[server]\nport = 0\n[experiments.ads]\nactions = ["a", "b"]\n',
    )
    path.write_text(text)
    app = App(Engine.open(load_config(path)), read_config=lambda: load_config(path))
    with running(app) as client:
        path.write_text(text + 'epsilon = 1.0\n[experiments.new]\nactions = ["a", "b"]\n')
        told = client.post("/v1/reload", json={})
        assert told.json() == {"experiments": {"ads": "taken up", "new": "opened"}}
        assert client.post("/v1/new/decide", json={}).status_code == 200
        assert client.get("/v1/new/state").status_code == 200
        assert client.get("/").status_code == 200
        path.write_text(text + "epsylon = 1.0\n")
        wrong = client.post("/v1/reload", json={})
        assert wrong.status_code == 422
        assert "has no setting 'epsylon'" in wrong.json()["error"]["message"]
        assert client.post("/v1/new/decide", json={}).status_code == 200
        assert client.get("/v1/reload").status_code == 405


def test_a_service_without_a_file_has_nothing_to_read_again(tmp_path):
    with running(App(Engine.open(configure(tmp_path / "x.sqlite")))) as client:
        answer = client.post("/v1/reload", json={})
        assert answer.status_code == 422
        assert "not started from a file" in answer.json()["error"]["message"]
