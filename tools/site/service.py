"""The service's reference: its configuration from the dataclasses, its HTTP API from the OpenAPI document."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from headstart.serve.config import ExperimentConfig, ServiceConfig
from headstart.serve.http.openapi import decide_schema, write_document
from headstart.serve.http.steering_schema import steering_verbs
from headstart.serve.options import ServerOptions

_COMMENT = re.compile(r"^    (\w+):.*?#\s*(.+)$", re.MULTILINE)
_WRITTEN = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "`true` or `false`",
    "Label": "an action",
    "Range": "`[least, greatest]`",
    "Part": "a name, or a table of `name` and settings",
}
_LISTS = {
    "tuple[Label, ...]": '["image", "video"]',
    "tuple[str, ...]": '["ads.example.com"]',
    "tuple[Network, ...]": '["10.0.0.0/8"]',
}
_TABLES = (
    ("The top of the file", ServiceConfig, ("experiments", "server", "keys")),
    ("[server]", ServerOptions, ()),
    ("[experiments.NAME]", ExperimentConfig, ("name", "ranges", "despite_audit")),
)


def write_configuration() -> str:
    """Every key of the configuration with its type and default, in the order of the dataclasses."""
    lines = [
        "# Configuration of the service",
        "",
        "`headstart serve CONFIG.toml` reads a TOML file of three kinds of tables. This page is written from the",
        "program; [the decision service](../serve.md) has an example and says what each key is for.",
        "",
    ]
    for title, kind, hidden in _TABLES:
        lines += [f"## {title}", "", " ".join((kind.__doc__ or "").split()).replace("`", "``"), ""]
        lines += ["| key | what it is | what to write | if not given |", "|---|---|---|---|"]
        lines += [*_write_fields(kind, hidden), ""]
    return "\n".join(lines)


def _write_fields(kind: Any, hidden: tuple[str, ...]) -> Iterator[str]:
    remarks = dict(_COMMENT.findall(inspect.getsource(kind)))
    for each in fields(kind):
        if each.name not in hidden:
            said = remarks[each.name].replace("|", "or")
            yield f"| `{each.name}` | {said} | {_as_written(str(each.type))} | {_default(each)} |"


def _as_written(kind: str) -> str:
    """What stands in the file for a field of this type."""
    needed = kind.removesuffix(" | None")
    if needed.startswith("tuple["):
        return f"a list, such as `{_LISTS[needed]}`"
    return _WRITTEN.get(needed, "a table")


def _default(field: Field[Any]) -> str:
    if field.default is MISSING:
        return "empty" if field.default_factory is not MISSING else "**must be given**"
    if field.default is None or field.default == () or not isinstance(field.default, str | int | float):
        return "none"
    return f"`{json.dumps(field.default)}`"


def write_http() -> str:
    """Every path with what it takes and what it answers, for an experiment called `ads`."""
    actions = ["image", "video"]
    schema = decide_schema(actions, {"age": "number", "likes_videos": ["yes", "no"]})
    document: Any = write_document({"ads": schema}, steering={"ads": steering_verbs(actions, ["complaints"])})
    lines = [
        "# The HTTP API",
        "",
        "Written from the OpenAPI document that the service gives at `/openapi.json`, for an experiment `ads` with",
        "the actions `image` and `video`. Which key may do what, the pages and `POST /v1/reload` are in",
        "[the decision service](../serve.md#call-it-from-anywhere).",
        "",
    ]
    for path, verbs in document["paths"].items():
        for verb, told in verbs.items():
            lines += [f"## {verb.upper()} {path}", "", f"{told['summary']}.", "", *_write_exchange(told, document)]
    return "\n".join(lines)


def _write_exchange(told: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    body = told.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body:
        yield from ("The request is a JSON object:", "", *_write_schema(body, document), "")
    yield from ("| status | answer |", "|---|---|")
    for status, answer in sorted(told["responses"].items()):
        yield f"| {status} | {answer.get('description', '')} |"
    yield ""


def _write_schema(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    schema = _follow(schema, document)
    required = schema.get("required", ())
    yield from ("| field | type | what it is |", "|---|---|---|")
    for name, each in schema.get("properties", {}).items():
        told = _follow(each, document)
        kind = told.get("type") or [f"`{each}`" for each in told.get("enum", ())] or "object"
        words = [kind] if isinstance(kind, str) else list(kind)
        need = "Required." if name in required else "Optional."
        yield f"| `{name}` | {' or '.join(words)} | {need} {told.get('description', '')} |"


def _follow(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in schema:
        return schema
    found: Any = document
    for part in schema["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return found
