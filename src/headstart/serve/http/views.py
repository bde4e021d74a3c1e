"""What can be looked at: health, metrics, state, reports, the log, the pages. Nothing here changes anything."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from typing import IO, TYPE_CHECKING, TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from headstart.errors import HeadstartError
from headstart.serve.engine.export import Export
from headstart.serve.engine.health import Health
from headstart.serve.errors import UnknownExperiment
from headstart.serve.http.deadlines import in_thread, too_slow
from headstart.serve.http.openapi import decide_schema, write_document
from headstart.serve.http.steering_schema import steering_verbs
from headstart.serve.http.wire import RequestError, as_error, as_json
from headstart.serve.telling.formats import as_dsjson, as_jsonl, write_parquet
from headstart.serve.telling.one_decision import OneDecision, tell_decision
from headstart.serve.telling.pages import render_decision, render_experiment, render_index

if TYPE_CHECKING:
    from headstart.serve.http.app import App

Look: TypeAlias = Callable[[Request], Awaitable[Response]]
_HTTP_CODES = {
    404: ("not_found", "no such path: /openapi.json lists them"),
    405: ("wrong_method", "another method"),
}
_ADVICE = {
    401: {"WWW-Authenticate": 'Basic realm="headstart"'},
    429: {"Retry-After": "1"},
    503: {"Retry-After": "1"},
}
_FORMATS = ("jsonl", "dsjson", "parquet")
_POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; frame-ancestors 'none'"
_AS_SAID = {"X-Content-Type-Options": "nosniff"}  # a browser takes data for data, whoever has it loaded
_SAFE = {
    **_AS_SAID,
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}
_STATIC = {"page.css": "text/css", "page.js": "text/javascript", "plotly.min.js": "text/javascript"}


def make_routes(app: App) -> Starlette:
    """A Starlette app for everything but decisions and outcomes."""
    looks = Looks(app)
    guarded = {
        "/v1/experiments": looks.experiments,
        "/v1/status": looks.status,
        "/v1/{experiment}/state": looks.state,
        "/v1/{experiment}/report": looks.report,
        "/v1/{experiment}/decisions/{event_id:path}": looks.decision,
        "/metrics": looks.metrics,
        "/openapi.json": looks.openapi,
        "/": looks.index,
        "/experiments/{experiment}": looks.experiment,
        "/experiments/{experiment}/decisions": looks.decision_page,
        "/experiments/{experiment}/decisions/{event_id:path}": looks.decision_page,
    }
    opened = {"/health": looks.health, "/ready": looks.ready, "/static/{name}": looks.static}
    routes = [Route(path, _guard(app, look)) for path, look in guarded.items()]
    routes += [Route("/v1/{experiment}/log", _guard(app, looks.log, has_deadline=False))]
    routes += [Route(path, look) for path, look in opened.items()]
    # Paths that only take POST: the right method never comes here, the wrong one is told so.
    routes += [Route(f"/v1/{{experiment}}/{verb}", _not_here, methods=["POST"]) for verb in app.posts]
    routes += [Route("/v1/reload", _not_here, methods=["POST"])]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        app.overviews.start()
        yield
        await in_thread(app.overviews.close)
        await in_thread(app.engine.close)

    async def refuse(request: Request, error: Exception) -> Response:
        return _refuse(app, request, error)

    made = Starlette(routes=routes, lifespan=lifespan)
    for kind in (HTTPException, RequestError, HeadstartError, Exception):
        made.add_exception_handler(kind, refuse)
    return made


def _guard(app: App, look: Look, *, has_deadline: bool = True) -> Look:
    """For callers who may read. An export has no deadline: it goes on for as long as its caller reads."""

    async def guarded(request: Request) -> Response:
        app.admit(request.scope, "read")
        if not has_deadline:
            return await look(request)
        seconds = app.options.deadline
        try:
            with app.deadlines.within(seconds):
                return await look(request)
        except TimeoutError:
            raise too_slow(seconds) from None

    return guarded


async def _not_here(request: Request) -> Response:
    raise HTTPException(404)


class Looks:
    """One method a path."""

    def __init__(self, app: App) -> None:
        self._app, self._engine = app, app.engine

    def _find(self, request: Request) -> str:
        name: str = request.path_params["experiment"]
        if name not in self._app.overviews:
            known = ", ".join(self._app.overviews)
            raise UnknownExperiment(f"no experiment {name!r:.80}; known: {known}")
        return name

    async def health(self, _: Request) -> Response:
        """The process is alive."""
        return _json({"status": "alive"})

    async def ready(self, _: Request) -> Response:
        """It can decide, durably; what is in the way is a word, as anybody may ask. Nothing is waited for."""
        told = self._readiness(self._engine.health())
        return _json(told, 200 if told["is_ready"] else 503)

    async def status(self, _: Request) -> Response:
        """All that is known of its health, for those who run it."""
        health = self._engine.health()
        return _json({**self._readiness(health), **health})

    def _readiness(self, health: Health) -> dict[str, object]:
        """One broken experiment is no reason to send the users of all others away."""
        if not health["is_writable"]:
            return {"is_ready": False, "why": "store"}
        if health["opening"]:  # that is over soon; till then another server has all of them
            return {"is_ready": False, "why": "opening"}
        if health["broken"]:
            return {"is_ready": len(health["broken"]) < len(self._engine.config.experiments), "why": "experiment"}
        return {"is_ready": True}

    async def metrics(self, _: Request) -> Response:
        """For Prometheus."""
        text = await in_thread(self._app.metrics.as_text)
        return Response(text, media_type="text/plain; version=0.0.4")

    async def openapi(self, _: Request) -> Response:
        """The API as a document."""
        configs = {name: self._engine.configuration(name) for name in self._app.overviews}
        decides = {n: decide_schema(list(e.actions), e.contexts, e.ranges) for n, e in configs.items()}
        named = {name: each.outcomes for name, each in configs.items()}
        steering = {n: steering_verbs(e.actions, sorted(e.guardrails)) for n, e in configs.items()}
        return _json(write_document(decides, named, steering))

    async def experiments(self, _: Request) -> Response:
        """Names of the experiments."""
        return _json({"experiments": list(self._app.overviews)})

    async def state(self, request: Request) -> Response:
        """What the policy believes."""
        return _json(await in_thread(self._engine.state, self._find(request)))

    async def report(self, request: Request) -> Response:
        """What the page shows."""
        return _json(await in_thread(self._app.overviews[self._find(request)].as_dict))

    async def decision(self, request: Request) -> Response:
        """One decision: why this action, and what came of it."""
        return _json(await self._tell_decision(request))

    async def _tell_decision(self, request: Request) -> OneDecision:
        event_id = request.path_params.get("event_id") or request.query_params.get("event_id", "")
        return await in_thread(tell_decision, self._engine, self._find(request), event_id)

    async def log(self, request: Request) -> Response:
        """Decisions and outcomes as the next log."""
        name, format = self._find(request), request.query_params.get("format", "jsonl")
        if format not in _FORMATS:
            raise RequestError(422, "invalid", f"format must be one of {', '.join(_FORMATS)}, got {format!r:.80}")
        export = await in_thread(self._engine.export, name)
        if format == "parquet":
            file = await in_thread(_spool, export)
            return StreamingResponse(
                _pieces(file),
                media_type="application/vnd.apache.parquet",
                headers={**_AS_SAID, "Content-Disposition": f'attachment; filename="{name}.parquet"'},
            )
        lines: Iterator[bytes] = (as_jsonl if format == "jsonl" else as_dsjson)(export)
        return StreamingResponse(_joined(lines), headers=_AS_SAID, media_type="application/jsonl")

    async def index(self, _: Request) -> Response:
        """The list of experiments."""
        reports = await in_thread(
            lambda: [overview.as_page(with_audit=False) for overview in self._app.overviews.values()]
        )
        return HTMLResponse(render_index(reports), headers=_SAFE)

    async def experiment(self, request: Request) -> Response:
        """One experiment's page."""
        report = await in_thread(self._app.overviews[self._find(request)].as_page)
        return HTMLResponse(render_experiment(report), headers=_SAFE)

    async def decision_page(self, request: Request) -> Response:
        """One decision's page, by a path or by the form of its experiment's page."""
        return HTMLResponse(render_decision(await self._tell_decision(request)), headers=_SAFE)

    async def static(self, request: Request) -> Response:
        """Style, script, and plotly's own bundle out of its package: no page asks another host."""
        name = request.path_params["name"]
        if name not in _STATIC:
            raise HTTPException(404)
        body = await in_thread(_read_static, name)
        headers = {**_AS_SAID, "Cache-Control": "max-age=3600", "Content-Length": str(len(body))}
        return StreamingResponse(_slices(body), media_type=_STATIC[name], headers=headers)


@cache
def _read_static(name: str) -> bytes:
    is_ours = not name.startswith("plotly")
    place = files("headstart.serve.telling.pages") / "static" if is_ours else files("plotly") / "package_data"
    return (place / name).read_bytes()


async def _slices(body: bytes) -> AsyncIterator[bytes]:
    """As fast as the caller reads: whole, it would be kept for each one who does not."""
    for start in range(0, len(body), 1 << 16):
        yield body[start : start + (1 << 16)]


def _spool(export: Export) -> IO[bytes]:
    file = tempfile.SpooledTemporaryFile(1 << 24)  # noqa: SIM115 - closed when it has been sent
    write_parquet(export, file)
    file.seek(0)
    return file


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        yield from iter(lambda: file.read(1 << 16), b"")


def _joined(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Lines in pieces of about 64 kB: one hop between threads each."""
    piece: list[bytes] = []
    size = 0
    for line in lines:
        piece.append(line)
        size += len(line)
        if size > 1 << 16:
            yield b"".join(piece)
            piece, size = [], 0
    yield b"".join(piece)


def _json(value: object, status: int = 200) -> Response:
    return Response(as_json(value), status, _AS_SAID, media_type="application/json")


def _refuse(app: App, request: Request, error: Exception) -> Response:
    """Every error has the one shape."""
    headers: dict[str, str] = {}
    if isinstance(error, HTTPException):
        headers.update(error.headers or {})
        code, message = _HTTP_CODES.get(error.status_code, ("refused", str(error.detail)))
        error = RequestError(error.status_code, code, message)
    caller = request.scope.get("caller")
    refusal = app.refusals.of(error, may_look=caller is not None and caller.may_look)
    answer = _json(as_error(refusal), refusal.status)
    answer.headers.update(headers | _ADVICE.get(refusal.status, {}))
    return answer
