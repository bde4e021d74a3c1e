"""The decision service on loopback under wrk: durable decisions against the same server without a store, and a peer.

The peer is what one would write in an afternoon: a Starlette endpoint that parses the same JSON, draws an action and
commits a row to SQLite (WAL, synchronous = FULL) before it answers, one commit a request.
"""

from __future__ import annotations

import argparse
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.timing import print_table

CONFIG = """
store = "{store}"

[server]
host = "127.0.0.1"
port = {port}

[experiments.ads]
actions = ["image", "video", "text"]
contexts = {{ age = "number", likes_videos = ["yes", "no"] }}
oracle = "ThompsonNormal"
"""
BODY = '{"context": {"age": 34, "likes_videos": "yes"}}'
SCRIPT = f"""
wrk.method = "POST"
wrk.body = '{BODY}'
wrk.headers["Content-Type"] = "application/json"
"""
NO_STORE = '''
import sys
from contextlib import contextmanager
from headstart.serve import Engine, load_config
from headstart.serve.http.app import App
from headstart.serve.http.server import make_server
from headstart.serve.store.sqlite import SQLiteStore
from headstart.serve.store.reader import Reader

class Turn:
    def __init__(self, head, query):
        self.head, self.found, self.traces, self.query = head, {}, {}, query
    def find(self, sought):
        pass
    def insert(self, events):
        NoStore.last = self.head = self.head._replace(sequence=events[-1].sequence)
        return events
    def execute(self, statement, parameters=()):
        pass  # a snapshot of what nobody stored

class NoStore(SQLiteStore):
    """The configuration is read from a store as ever; decisions are numbered and forgotten."""
    last = None
    @contextmanager
    def writing(self, experiment, *asked, **told):
        if self.last is None:  # while the engine opens
            with super().writing(experiment, *asked, **told) as turn:
                yield turn
            return
        yield Turn(self.last, self.query)

config = load_config(sys.argv[1])
engine = Engine.open(config, store=NoStore(config.store))
name = next(iter(config.experiments))
engine._writers[name]._run_idle = lambda: None  # nobody looks into the store, which knows of nothing
NoStore.last = Reader(engine._store.query).head(name)
make_server(App(engine)).run()
'''
PEER = """
import sqlite3, sys, random, uuid
import orjson, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

database = sqlite3.connect(sys.argv[1], check_same_thread=False, isolation_level=None)
database.execute("PRAGMA journal_mode = WAL")
database.execute("PRAGMA synchronous = FULL")
database.execute("CREATE TABLE decisions (id TEXT PRIMARY KEY, context TEXT, action TEXT, propensity REAL)")
ACTIONS = ("image", "video", "text")

async def decide(request):
    context = orjson.loads(await request.body())["context"]
    action, event_id = random.choice(ACTIONS), uuid.uuid4().hex
    database.execute("BEGIN")
    database.execute("INSERT INTO decisions VALUES (?, ?, ?, ?)", (event_id, orjson.dumps(context), action, 1 / 3))
    database.execute("COMMIT")
    answer = {"event_id": event_id, "action": action, "propensity": 1 / 3}
    return Response(orjson.dumps(answer), media_type="application/json")

async def ready(request):
    return Response(b"{}")

app = Starlette(routes=[Route("/v1/ads/decide", decide, methods=["POST"]), Route("/ready", ready)])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error", access_log=False)
"""
PEER_NAME = "Starlette, a commit a request"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=8, help="of load per figure")
    parser.add_argument("--goes", type=int, default=3, help="each figure is the median of so many, taken in turns")
    given, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder, _servers(Path(folder)) as ports:
        script = Path(folder) / "decide.lua"
        script.write_text(SCRIPT)
        for port in ports.values():
            load(port, script, 16, 1)
        for connections in (1, 16, 64, 256):
            rates: dict[str, list[float]] = {name: [] for name in ports}
            for _ in range(given.goes):  # in turns: the machine's noise falls on all alike
                for name, port in ports.items():
                    rates[name].append(load(port, script, connections, given.seconds)[0])
            median = {name: sorted(found)[len(found) // 2] for name, found in rates.items()}
            durable = median["headstart, durable"]
            print_table(
                f"Decisions a second, {connections} connections, wrk on the same 2 cores, median of {given.goes}",
                ("server", "decisions a second", "headstart, durable, is"),
                [
                    (name, f"{rate:,.0f}", f"{durable / rate:.2f} times" if rate != durable else "")
                    for name, rate in median.items()
                ],
            )
        rows = []
        for connections in (1, 16, 64, 256):
            rate, half, most, worst = load(ports["headstart, durable"], script, connections, given.seconds)
            rows.append((str(connections), f"{rate:,.0f}", f"{half:.2f}", f"{most:.2f}", f"{worst:.2f}"))
        print_table(
            "Durable decisions: latency in milliseconds",
            ("connections", "decisions a second", "50 %", "90 %", "99 %"),
            rows,
        )


@contextmanager
def _servers(folder: Path) -> Iterator[dict[str, int]]:
    commands, ports = {}, {}
    for name in ("headstart, durable", "headstart, no store"):
        ports[name] = free_port()
        config = folder / f"{len(ports)}.toml"
        config.write_text(CONFIG.format(store=f"{len(ports)}.sqlite", port=ports[name]))
        commands[name] = [sys.executable, "-m", "headstart.cli", "serve", str(config), "--log-level", "warning"]
    forgetful = folder / "no_store.py"
    forgetful.write_text(NO_STORE)
    commands["headstart, no store"] = [sys.executable, str(forgetful), str(config)]
    peer = folder / "peer.py"
    peer.write_text(PEER)
    ports[PEER_NAME] = free_port()
    commands[PEER_NAME] = [
        sys.executable, str(peer), str(folder / "peer.sqlite"), str(ports[PEER_NAME]),
    ]  # fmt: skip
    running = [subprocess.Popen(command) for command in commands.values()]
    try:
        for port in ports.values():
            await_server(port)
        yield ports
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(10)


def load(
    port: int, script: Path, connections: int, seconds: int, experiment: str = "ads"
) -> tuple[float, float, float, float]:
    """Requests a second, and the latency that 50, 90 and 99 % stay below."""
    url = f"http://127.0.0.1:{port}/v1/{experiment}/decide"
    command = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{seconds}s",
        "--timeout",
        "30s",
        "--latency",
        "-s",
        str(script),
        url,
    ]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in told or "Socket errors" in told:
        raise SystemExit(f"the server on port {port} failed under load:\n{told}")
    rate = re.search(r"Requests/sec:\s+([\d.]+)", told)
    latencies = dict(re.findall(r"(\d+)%\s+([\d.]+(?:us|ms|s))", told))
    assert rate is not None
    return float(rate[1]), *(_milliseconds(latencies[share]) for share in ("50", "90", "99"))  # type: ignore[return-value]


def _milliseconds(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()  # type: ignore[union-attr]
    return float(number) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def await_server(port: int) -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=1).read()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"no server on port {port} after 30 s")


if __name__ == "__main__":
    main()
