"""Running the service: uvicorn on one event loop, structured logs, a graceful end."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping

import orjson
import uvicorn

from headstart.addresses import mask_secrets
from headstart.serve.config import ServiceConfig
from headstart.serve.engine.engine import Engine
from headstart.serve.engine.starting import StartState
from headstart.serve.http.access import Door, read_keys
from headstart.serve.http.app import App
from headstart.serve.http.limits import LimitedProtocol
from headstart.serve.http.service import Service, listen
from headstart.serve.options import ServerOptions

_GRACE_SECONDS = 10
_OTHER_FILES = 500  # the store's, the logs', and connections that are turned away
_SWITCH_SECONDS = 0.001  # between the event loop and the writer: at Python's 5 ms a group waits longer than a commit


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """time, level, source, message; a traceback or an answer's figures where there are. Passwords are masked."""
        told: dict[str, object] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "source": record.name,
            "message": mask_secrets(record.getMessage()),
        }
        if "answer" in record.__dict__:
            told.update(record.__dict__["answer"])
        if record.exc_info:
            told["traceback"] = mask_secrets(self.formatException(record.exc_info))
        return orjson.dumps(told).decode()


def run_service(
    config: ServiceConfig,
    options: ServerOptions | None = None,
    *,
    read_config: Callable[[], ServiceConfig] | None = None,
    log_level: str = "info",
    on_ready: Callable[[int, Mapping[str, StartState | None]], None] = lambda port, starts: None,
) -> None:
    """Serve until SIGINT or SIGTERM: requests in flight are answered, then the store is closed.

    It listens at once; `on_ready` is told the port once it decides (port 0 takes a free one), and how each experiment
    started. `read_config` reads the configuration again, at a SIGHUP or when an admin asks for it.
    """
    options = options or ServerOptions.read(config.server)
    Door(read_keys(config.keys), options)  # what is wrong with them is said before the store is opened
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    sys.setswitchinterval(_SWITCH_SECONDS)
    _allow_files(options.connections + _OTHER_FILES)
    logging.basicConfig(handlers=[handler], level=log_level.upper(), force=True)

    def tell(port: int) -> None:
        _keep_what_is_there()
        on_ready(port, service.starts())

    service = Service(options, lambda: App(Engine.start(config), options, read_config), tell)
    _reload_at_signal(service)
    with listen(options) as listening:
        make_server(service, service.begin).run([listening])
    if service.failure is not None:
        raise service.failure


def _reload_at_signal(service: Service) -> None:
    """SIGHUP reads the configuration again; without a handler it would end the process."""
    if sys.platform != "win32":

        def reload(*_: object) -> None:  # not in the handler: it may wait for what it interrupted
            threading.Thread(target=service.reload, name="headstart-reload", daemon=True).start()

        signal.signal(signal.SIGHUP, reload)


def make_server(app: App | Service, on_ready: Callable[[int], None] = lambda port: None) -> uvicorn.Server:
    """The server around an app: `run()` serves, `should_exit = True` ends it."""
    return _Server(
        uvicorn.Config(
            app,
            host=app.options.host,
            port=app.options.port,
            http=LimitedProtocol,
            ws="none",
            proxy_headers=False,  # uvicorn would believe X-Forwarded-For of anybody on this machine
            timeout_keep_alive=round(LimitedProtocol.idle_seconds),
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=_GRACE_SECONDS,
            server_header=False,
            date_header=False,
        ),
        on_ready,
    )


def _keep_what_is_there() -> None:
    """Leave modules, kernels and experiments to the process's end: who collects garbage looks at them no more.

    Each look is a pause of all threads, of 80 to 100 ms for what is there before the first decision, and of some 10
    for what has come since.
    """
    gc.collect()  # what is garbage now would stay as well
    gc.freeze()


def _allow_files(needed: int) -> None:
    """Have a descriptor for every connection: many systems give a process 1,024, and the store needs some of them."""
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Server(uvicorn.Server):
    """uvicorn's, which tells when it listens and ends connections whose time is over."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[int], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then tell the port."""
        await super().startup(sockets)
        if self.started:
            self._on_ready(self.servers[0].sockets[0].getsockname()[1])

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second; every tenth time the connections are looked at."""
        if counter % 10 == 0:
            now = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                if isinstance(connection, LimitedProtocol):
                    connection.end_if_due(now)
        app = self.config.app
        has_failed = isinstance(app, Service) and app.failure is not None
        return await super().on_tick(counter) or has_failed
