"""A real server on a real port, in a thread of the test's own."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx

from headstart.serve import Engine, ServiceConfig, load_config
from headstart.serve.http.app import App
from headstart.serve.http.server import make_server

ADS: dict[str, Any] = {
    "actions": ["image", "video", "text"],
    "contexts": {"age": "number", "likes_videos": ["yes", "no"]},
    "oracle": {"name": "ThompsonGaussian"},
}
JSON = {"Content-Type": "application/json"}
USER = {"age": 34, "likes_videos": "yes"}


@contextmanager
def served(store: Any, experiments: Mapping[str, Any] | None = None, **tables: Any) -> Iterator[httpx.Client]:
    """A client of a server that lives as long as the block."""
    with running(App(Engine.open(configure(store, experiments, **tables)))) as client:
        yield client


def configure(store: Any, experiments: Mapping[str, Any] | None = None, **tables: Any) -> ServiceConfig:
    """The configuration of a service on a free port."""
    return load_config(
        {
            "store": str(store),
            "experiments": experiments or {"ads": ADS},
            **{**tables, "server": {"port": 0, **tables.get("server", {})}},
        }
    )


@contextmanager
def running(app: App) -> Iterator[httpx.Client]:
    """A client of an app that is served as long as the block lives."""
    ready, ports = threading.Event(), []
    server = make_server(app, lambda port: (ports.append(port), ready.set()))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert ready.wait(60), "the server did not start"
        with httpx.Client(base_url=f"http://127.0.0.1:{ports[0]}", timeout=30, verify=False) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(30)
