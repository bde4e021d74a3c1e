"""A full disk over HTTP: 503 for what cannot be recorded, reads go on, and it mends by itself."""

import sqlite3
import threading
import time

import httpx

from headstart.serve import Engine, load_config
from headstart.serve.http.app import App
from headstart.serve.http.server import make_server
from headstart.serve.store import sqlite as module
from headstart.serve.store.sqlite import SQLiteStore
from tests.serve.in_process import ADS, USER
from tests.serve.waiting import wait


class SmallDisk:
    """Connections to a store that may be full: SQLite itself then refuses another page, as on a full disk."""

    def __init__(self) -> None:
        self.limit: int | None = None
        self._connections: list[sqlite3.Connection] = []

    def connect(self, path: str) -> sqlite3.Connection:
        connection = module.connect_sqlite(path)
        self._connections.append(connection)
        self._apply(connection)
        return connection

    def fill(self) -> None:
        opened = [each for each in self._connections if _is_open(each)]
        self.limit = opened[-1].execute("PRAGMA page_count").fetchone()[0]
        for connection in opened:
            self._apply(connection)

    def _apply(self, connection: sqlite3.Connection) -> None:
        if self.limit is not None:
            connection.execute(f"PRAGMA max_page_count = {self.limit}")


def _is_open(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return False
    return True


def test_a_full_store_is_503_and_reads_go_on_until_there_is_room(tmp_path, caplog):
    disk = SmallDisk()
    path = tmp_path / "ads.sqlite"
    config = load_config({"store": str(path), "experiments": {"ads": ADS}, "server": {"port": 0}})
    engine = Engine.open(config, store=SQLiteStore(path, disk.connect))
    ready, ports = threading.Event(), []
    server = make_server(App(engine), lambda port: (ports.append(port), ready.set()))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert ready.wait(60)
        with httpx.Client(base_url=f"http://127.0.0.1:{ports[0]}", timeout=30, verify=False) as client:
            first = client.post("/v1/ads/decide", json={"context": USER, "event_id": "first"}).json()
            disk.fill()
            statuses = []
            while 503 not in statuses:
                event_id = f"e{len(statuses)}"
                answer = client.post("/v1/ads/decide", json={"context": USER, "event_id": event_id})
                statuses.append(answer.status_code)
                assert len(statuses) < 400, "the store was never full"
            assert answer.json()["error"]["code"] == "store_unavailable"
            assert answer.headers["retry-after"] == "1"
            assert client.get("/v1/ads/state").json()["decisions"] == len(statuses)  # the first and all but the last
            assert client.get("/experiments/ads").status_code == 200
            for _ in range(30):  # longer than any pause between two probes: ready means that a write succeeded
                assert client.post("/v1/ads/decide", json={"context": USER}).status_code == 503
                assert client.get("/ready").status_code == 503
                time.sleep(0.1)
            assert sum("the store fails" in record.getMessage() for record in caplog.records) == 1
            disk.limit = None
            wait(lambda: client.get("/ready").status_code == 200)
            assert sum("the store works again" in record.getMessage() for record in caplog.records) == 1
            again = client.post("/v1/ads/decide", json={"context": USER, "event_id": event_id})
            assert again.status_code == 200
            assert client.post("/v1/ads/decide", json={"context": USER, "event_id": "first"}).json() == first
    finally:
        server.should_exit = True
        thread.join(30)
