"""The OpenAPI document, written by hand beside the wire: what each path takes and every answer it may give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from headstart import __version__
from headstart.estimates.outliers import Range
from headstart.serve.columns import Kind
from headstart.serve.config import Label
from headstart.serve.engine.bounds import LIMIT
from headstart.serve.engine.surprises import CATEGORY_PATTERN, LARGEST_WHOLE, LONGEST_CATEGORY
from headstart.serve.http.report_schema import EVENT_ID, UNIT, report_schema
from headstart.serve.http.steering_schema import Verb
from headstart.serve.http.wire import MAX_BATCH
from headstart.serve.outcomes import NO_OUTCOMES, NamedOutcomes

Schema: TypeAlias = Mapping[str, object]  # of JSON
_MAYBE_ID = {**EVENT_ID, "type": ["string", "null"], "description": "Made by the service if there is none."}
_MAYBE_UNIT = {
    **UNIT,
    "type": ["string", "null"],
    "description": "Who comes back: the same unit keeps its action, as long as the experiment says.",
}
_BY_ID = {"parameters": [{"name": "event_id", "in": "path", "required": True, "schema": EVENT_ID}]}
_ASK = {
    "type": "object",
    "description": "As for one user; an error in the context or the actions is answered in its place.",
    "additionalProperties": False,
    "properties": {
        "context": {"type": ["object", "null"]},
        "available": {"type": ["array", "null"], "minItems": 1},
        "event_id": _MAYBE_ID,
        "unit": _MAYBE_UNIT,
    },
}
_RECEIPT = {
    "type": "object",
    "required": ["event_id", "status"],
    "properties": {
        "event_id": {"type": "string"},
        "status": {
            "type": "string",
            "description": "applied, waiting, duplicate, conflicting, late, early, dangling or set_aside.",
        },
        "outcomes": {
            "type": "object",
            "description": "What became of each of the outcomes that have names.",
            "additionalProperties": {"type": "string"},
        },
    },
}
_DECISION = {
    "type": "object",
    "required": ["event_id", "action", "propensity", "probabilities", "version"],
    "properties": {
        "event_id": {"type": "string"},
        "action": {"description": "The action drawn, by its name."},
        "propensity": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "probabilities": {
            "type": "object",
            "description": "The chances that the action was drawn with.",
            "additionalProperties": {"type": "number", "minimum": 0, "maximum": 1},
        },
        "version": {"type": "integer", "description": "The last event that changed what the policy would do."},
        "follows": {"type": "string", "description": "The event id of the decision whose action its unit keeps."},
    },
}
_RECORDED = {
    "type": "object",
    "required": ["sequence"],
    "properties": {"sequence": {"type": "integer", "description": "The event; 0 if there was nothing to change."}},
}
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
        }
    },
}
_KEPT = "Done: it was in the store before this answer was sent."
_REFUSALS = {
    400: "The body is not a JSON object.",
    401: "The request has no API key, or a wrong one.",
    403: "The key lacks the scope, or a page of another site asks.",
    404: "There is no such experiment.",
    408: "The body did not come in time.",
    409: "The event id belongs to another decision, or the experiment's present state does not allow it.",
    413: "The body is too large.",
    415: "The content type is not application/json.",
    421: "The service does not go by the name that was asked for.",
    422: "A field has the wrong kind or value; the message names it.",
    429: "There were too many requests: wait a second.",
    503: "The store cannot be written, or did not answer in time: ask again with the same event id.",
}


def write_document(
    experiments: Mapping[str, Schema],
    named: Mapping[str, NamedOutcomes] | None = None,
    steering: Mapping[str, Iterable[Verb]] | None = None,
) -> dict[str, object]:
    """The document for these experiments: {name: JSON schema of its decide request}, outcomes, people's verbs."""
    paths: dict[str, object] = {}
    for name, decide in experiments.items():
        at, outcomes = f"/v1/{name}", (named or {}).get(name, NO_OUTCOMES)
        paths[f"{at}/decide"] = {"post": _post("Decide for one user", decide, _ref("Decision"), 409)}
        paths[f"{at}/decide/batch"] = {
            "post": _post("Decide for many users, in one commit", _many("decisions", _ASK),
                          _many("decisions", {"anyOf": [_ref("Decision"), _ref("Error")]}), 409)
        }  # fmt: skip
        paths[f"{at}/outcome"] = {"post": _post("Report an outcome", report_schema(outcomes), _ref("Receipt"))}
        paths[f"{at}/outcome/batch"] = {
            "post": _post("Report many outcomes", _many("outcomes", report_schema(outcomes, is_in_batch=True)),
                          _many("outcomes", {"anyOf": [_ref("Receipt"), _ref("Error")]}))
        }  # fmt: skip
        for verb in (steering or {}).get(name, ()):
            paths[f"{at}/{verb.name}"] = {"post": _post(verb.summary, verb.request, _RECORDED, 409)}
        paths[f"{at}/state"] = {"get": _get("What the policy believes")}
        paths[f"{at}/report"] = {"get": _get("What the page shows")}
        paths[f"{at}/decisions/{{event_id}}"] = {"get": {**_get("One decision: why, and what came"), **_BY_ID}}
        paths[f"{at}/log"] = {"get": _log()}
    for path, summary in (
        ("/health", "Is the process alive?"),
        ("/ready", "Is it ready to decide? If not, why, in a word"),
        ("/v1/status", "What is known of its health"),
    ):
        paths[path] = {"get": _get(summary)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "headstart decision service", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": {"Decision": _DECISION, "Receipt": _RECEIPT, "Error": _ERROR},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


# Of a category that nobody declared: what an event can keep.
_UNSEEN = {
    "maxLength": LONGEST_CATEGORY,
    "pattern": CATEGORY_PATTERN,
    "minimum": -LARGEST_WHOLE,
    "maximum": LARGEST_WHOLE - 1,
}


def decide_schema(
    actions: Sequence[Label], contexts: Mapping[str, Kind], ranges: Mapping[str, Range] | None = None
) -> dict[str, object]:
    """The request of `decide` for an experiment with these actions, context columns and ranges of numbers."""
    columns: dict[str, object] = {}
    for name, kind in contexts.items():
        low, high = (ranges or {}).get(name, (-LIMIT, LIMIT))
        is_number = kind == "number"
        columns[name] = (
            {"type": ["number", "null"], "minimum": low, "maximum": high}
            if is_number
            else {"type": _types_of(kind), "examples": list(kind), **_UNSEEN}  # others are taken too, and counted
        )
    context: dict[str, object] = {
        "type": "object",
        "description": "What is known of the user: a value for each declared column.",
        "additionalProperties": False,
        "properties": columns,
    }
    if columns:
        context["required"] = list(columns)
    else:
        context["type"] = ["object", "null"]
    request: dict[str, object] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "context": context,
            "available": {
                "type": ["array", "null"],
                "description": "The actions that this user may get; all of them if it is left out.",
                "minItems": 1,
                "items": {"enum": list(actions)},
            },
            "event_id": _MAYBE_ID,
            "unit": _MAYBE_UNIT,
        },
    }
    if columns:
        request["required"] = ["context"]
    return request


def _types_of(categories: Kind) -> list[str]:
    """What JSON calls the types of the categories, and null."""
    names = {str: "string", bool: "boolean", int: "integer"}
    return [*dict.fromkeys(names[type(category)] for category in categories), "null"]


def _ref(name: str) -> dict[str, object]:
    return {"$ref": f"#/components/schemas/{name}"}


def _many(name: str, items: Schema) -> dict[str, object]:
    return {
        "type": "object",
        "required": [name],
        "additionalProperties": False,
        "properties": {
            name: {
                "type": "array",
                "description": f"At most {MAX_BATCH:,} of them, each as in the request for one.",
                "minItems": 1,
                "maxItems": MAX_BATCH,
                "items": items,
            }
        },
    }


def _post(summary: str, request: Schema, answer: Schema, *refusals: int) -> dict[str, object]:
    return {
        "summary": summary,
        "requestBody": {"required": True, "content": {"application/json": {"schema": request}}},
        "responses": {
            "200": {"description": _KEPT, "content": {"application/json": {"schema": answer}}},
            **_errors(400, 401, 403, 404, 408, 413, 415, 421, 422, 429, 503, *refusals),
        },
    }


def _get(summary: str) -> dict[str, object]:
    return {
        "summary": summary,
        "responses": {
            "200": {"description": "A JSON object.", "content": {"application/json": {"schema": {"type": "object"}}}},
            **_errors(401, 403, 404, 421, 429, 503),
        },
    }


def _log() -> dict[str, object]:
    formats = {"type": "string", "enum": ["jsonl", "parquet", "dsjson"], "default": "jsonl"}
    return {
        "summary": "The decisions and their outcomes, as the next log",
        "parameters": [{"name": "format", "in": "query", "schema": formats}],
        "responses": {
            "200": {
                "description": "One row per decision.",
                "content": {
                    "application/jsonl": {"schema": {"type": "string"}},
                    "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
                },
            },
            **_errors(401, 403, 404, 421, 422, 429, 503),
        },
    }


def _errors(*statuses: int) -> dict[str, object]:
    shape = {"application/json": {"schema": _ref("Error")}}
    return {str(status): {"description": _REFUSALS[status], "content": shape} for status in statuses}
