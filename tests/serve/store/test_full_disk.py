"""A full disk over HTTP: 503 for what cannot be recorded, reads go on, and it mends by itself."""

import sqlite3
import threading

import httpx

from headstart.serve import Engine, load_config
from headstart.serve.http.app import App
from headstart.serve.http.server import make_server
from headstart.serve.store import sqlite as module
from headstart.serve.store.sqlite import SQLiteStore
from tests.serve.in_process import ADS, USER


def test_a_full_store_is_503_and_reads_go_on(tmp_path):
    connections: list[sqlite3.Connection] = []

    def connect(path: str) -> sqlite3.Connection:
        connections.append(module.connect_sqlite(path))
        return connections[-1]

    path = tmp_path / "ads.sqlite"
    config = load_config({"store": str(path), "experiments": {"ads": ADS}, "server": {"port": 0}})
    engine = Engine.open(config, store=SQLiteStore(path, connect))
    ready, ports = threading.Event(), []
    server = make_server(App(engine), lambda port: (ports.append(port), ready.set()))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert ready.wait(60)
        with httpx.Client(base_url=f"http://127.0.0.1:{ports[0]}", timeout=30) as client:
            first = client.post("/v1/ads/decide", json={"context": USER, "event_id": "first"}).json()
            pages = connections[-1].execute("PRAGMA page_count").fetchone()[0]
            connections[-1].execute(f"PRAGMA max_page_count = {pages}")  # SQLITE_FULL, as from a full disk
            statuses = []
            for i in range(400):
                connections[-1].execute(f"PRAGMA max_page_count = {pages}")
                answer = client.post("/v1/ads/decide", json={"context": USER, "event_id": f"e{i}"})
                statuses.append(answer.status_code)
                if answer.status_code == 503:
                    break
            assert statuses[-1] == 503, "the store was never full"
            assert answer.json()["error"]["code"] == "store_unavailable"
            assert answer.headers["retry-after"] == "1"
            assert client.get("/v1/ads/state").json()["decisions"] == len(statuses)  # the first and all but the last
            assert client.get("/experiments/ads").status_code == 200
            assert client.get("/ready").status_code == 503
            # The writer opens a new connection after a failure: there is room again.
            again = client.post("/v1/ads/decide", json={"context": USER, "event_id": f"e{len(statuses) - 1}"})
            assert again.status_code == 200
            assert client.post("/v1/ads/decide", json={"context": USER, "event_id": "first"}).json() == first
            assert client.get("/ready").status_code == 200
    finally:
        server.should_exit = True
        thread.join(30)
