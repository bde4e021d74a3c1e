"""The introduction's ad, live: the service starts from the log and simulated users come through HTTP."""

from __future__ import annotations

import csv
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from headstart.experiments.demo import example_log
from headstart.experiments.paper import intro
from headstart.logs.log import Log
from headstart.serve.client import Client
from headstart.serve.config import Label, load_config
from headstart.serve.engine.engine import Engine
from headstart.serve.engine.state import State
from headstart.serve.http.app import App
from headstart.serve.http.server import make_server

_BATCH = 20  # users per request: a page that fills while one looks at it


@contextmanager
def serve_introduction(folder: Path, *, seed: int, port: int = 0) -> Iterator[str]:
    """The service on a free port, started from the introduction's log; gives its address."""
    write_csv(example_log(seed), folder / "yesterday.csv")
    config = load_config(
        {
            "store": str(folder / "ads.sqlite"),
            "server": {"port": port},
            "experiments": {
                "ads": {
                    "actions": list(intro.ACTION_NAMES),
                    "contexts": {"likes_videos": ["yes", "no"]},
                    "log": {"path": str(folder / "yesterday.csv"), "action": "ad", "outcome": "click"},
                    "holdout": 0.1,
                    "seed": seed,
                }
            },
        }
    )
    listening = threading.Event()
    ports: list[int] = []

    def tell(given: int) -> None:
        ports.append(given)
        listening.set()

    server = make_server(App(Engine.open(config)), tell)
    thread = threading.Thread(target=server.run, name="headstart-demo", daemon=True)
    thread.start()
    try:
        while not listening.wait(0.1):
            if not thread.is_alive():
                raise RuntimeError("the service did not start: its log above says why")
        yield f"http://127.0.0.1:{ports[0]}"
    finally:
        server.should_exit = True
        thread.join(30)


def send_users(address: str, n_users: int, *, seed: int, progress: Callable[[int], None]) -> State:
    """Simulated users through HTTP: each sees what the service decides, and clicks or not. The state at the end."""
    source = random.Random(seed)
    rates = dict(zip(("yes", "no"), intro.WORLD.rates, strict=True))
    index: dict[Label, int] = {name: a for a, name in enumerate(intro.ACTION_NAMES)}
    with Client(address, "ads") as client:
        for sent in range(0, n_users, _BATCH):
            likes = [source.choice(("yes", "no")) for _ in range(min(_BATCH, n_users - sent))]
            decisions = client.decide_many([{"likes_videos": kind} for kind in likes])
            clicks = {
                decision["event_id"]: float(source.random() < rates[kind][index[decision["action"]]])
                for kind, decision in zip(likes, decisions, strict=True)
            }
            client.outcome_many(clicks)
            progress(len(likes))
        return client.state()


def write_csv(log: Log, path: Path) -> None:
    """The log as a colleague would send it."""
    likes = log.contexts[:, log.context_names.index("likes_videos=yes")] == 1
    assert log.propensities is not None
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["likes_videos", "ad", "click", "propensity"])
        for i in range(len(log)):
            action = log.action_names[int(log.actions[i])]
            writer.writerow(["yes" if likes[i] else "no", action, int(log.outcomes[i]), log.propensities[i]])
