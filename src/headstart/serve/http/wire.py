"""Requests and answers as JSON: what a body must hold, and the one shape of every error.

{"error": {"code": "unknown_experiment", "message": "no experiment 'adds'; known: ads"}}
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypedDict

import orjson

from headstart.errors import OptionError
from headstart.serve.config import Label
from headstart.serve.engine.asks import User, check_event_id
from headstart.serve.engine.parts import check_report_id
from headstart.serve.units import Unit, check_unit

MAX_BATCH = 1000
_NAMES = {"event_id": check_event_id, "unit": check_unit, "report_id": check_report_id}
_KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}


class RequestError(Exception):
    """A request that is answered with an error: its status, a code for programs, a message for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class OutcomeRequest(NamedTuple):
    """What came of a decision, or of a unit's newest one."""

    of: str | Unit
    outcome: float | dict[str, float]  # or several by their names
    report_id: str | None


class ErrorAnswer(TypedDict):
    """The body of every error."""

    error: dict[str, str]


def as_json(value: object) -> bytes:
    """Compact JSON; floats round-trip exactly."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)


def as_error(error: RequestError) -> ErrorAnswer:
    """The body of every error."""
    return {"error": {"code": error.code, "message": error.message}}


def read_object(body: bytes) -> dict[str, object]:
    """The body as a JSON object."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RequestError(400, "not_json", f"the body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise RequestError(400, "not_an_object", f"the body must be a JSON object, got {_kind(value)}")
    return value


def read_decide(request: object, place: str = "") -> User:
    """One decision's request: {context?, available?, event_id?, unit?}."""
    value = _check_fields(request, ("context", "available", "event_id", "unit"), place)
    context, available = value.get("context"), value.get("available")
    if context is not None and not isinstance(context, dict):
        raise _invalid(f"{place}context must be an object of columns, got {_kind(context)}")
    if available is not None and (not isinstance(available, list) or not available):
        raise _invalid(f"{place}available must be a list of at least one action")
    event_id, unit = (
        None if value.get(name) is None else _check_name(name, value[name], place) for name in ("event_id", "unit")
    )
    return {"context": context, "available": available, "event_id": event_id, "unit": unit}


def read_outcome(report: object, place: str = "") -> OutcomeRequest:
    """One report: {event_id or unit, outcome or outcomes, report_id?}. An outcome of 0 is an outcome."""
    value = _check_fields(report, ("event_id", "unit", "outcome", "outcomes", "report_id"), place)
    if "event_id" not in value and "unit" not in value:
        raise _invalid(f"{place}event_id is missing (or unit, for the newest decision of a unit)")
    if "event_id" in value and "unit" in value:
        raise _invalid(f"{place}event_id and unit are both there: which decision is meant?")
    if "outcome" in value and "outcomes" in value:
        raise _invalid(f"{place}outcome and outcomes are both there: what came?")
    report_id = _check_name("report_id", value["report_id"], place) if "report_id" in value else None
    came = (
        _read_named(value["outcomes"], place)
        if "outcomes" in value
        else _read_number(f"{place}outcome", value.get("outcome"))
    )
    if "unit" in value:
        return OutcomeRequest(Unit(_check_name("unit", value["unit"], place)), came, report_id)
    return OutcomeRequest(_check_name("event_id", value["event_id"], place), came, report_id)


def _read_named(value: object, place: str) -> dict[str, float]:
    if not isinstance(value, dict) or not value:
        raise _invalid(f"{place}outcomes must be an object of at least one outcome by name, got {_kind(value)}")
    return {name: _read_number(f"{place}outcomes.{name:.80}", each) for name, each in value.items()}


def _read_number(at: str, value: object) -> float:
    if isinstance(value, bool):
        return float(value)
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise _invalid(f"{at} must be a finite number, got {_kind(value)}")
    return float(value)


def read_aside(request: object) -> tuple[str, str]:
    """Which decision is meant, and why: {event_id, reason?}."""
    value, reason = _read_reasoned(request, "event_id")
    if "event_id" not in value:
        raise _invalid("event_id is missing")
    return _check_name("event_id", value["event_id"], ""), reason


def read_retire(request: object) -> tuple[Label, str]:
    """Which action is meant, and why: {action, reason?}."""
    value, reason = _read_reasoned(request, "action")
    action = value.get("action")
    if not isinstance(action, str | int) or isinstance(action, bool):
        raise _invalid("action must be an action's name")
    return action, reason


def read_roll_back(request: object) -> tuple[int, str]:
    """Which version is meant, and why: {version, reason?}."""
    value, reason = _read_reasoned(request, "version")
    version = value.get("version")
    if isinstance(version, bool) or not isinstance(version, int | float) or version != version // 1 or version < 0:
        raise _invalid("version must be the whole number of a version to go back to")
    return int(version), reason


def read_resume(request: object) -> tuple[str, str]:
    """Which guardrail is meant, and why: {guardrail, reason?}."""
    value, reason = _read_reasoned(request, "guardrail")
    guardrail = value.get("guardrail")
    if not isinstance(guardrail, str):
        raise _invalid("guardrail must be a guardrail's name")
    return guardrail, reason


def read_erase(request: object) -> tuple[str | Unit, str]:
    """Who is to be forgotten, and why: {unit or event_id, reason?}."""
    value, reason = _read_reasoned(request, "unit", "event_id")
    if ("unit" in value) == ("event_id" in value):
        raise _invalid("either unit or event_id must be there: whose contexts are meant?")
    if "unit" in value:
        return Unit(_check_name("unit", value["unit"], "")), reason
    return _check_name("event_id", value["event_id"], ""), reason


def read_why(request: object) -> tuple[str]:
    """Why people decide something about an experiment: {reason?}."""
    _, reason = _read_reasoned(request)
    return (reason,)


def _read_reasoned(request: object, *names: str) -> tuple[dict[str, object], str]:
    """A body of these fields, and the reason that people may give with them."""
    value = _check_fields(request, (*names, "reason"), "")
    reason = value.get("reason", "")
    if not isinstance(reason, str) or len(reason) > 1000:
        raise _invalid("reason must be text of at most 1000 characters")
    return value, reason


def read_many(value: dict[str, object], name: str) -> list[object]:
    """The list of a batch: {name: [...]}."""
    _check_fields(value, (name,), "")
    items = value.get(name)
    if not isinstance(items, list) or not 1 <= len(items) <= MAX_BATCH:
        raise _invalid(f"{name} must be a list of 1 to {MAX_BATCH}")
    return items


def _check_fields(value: object, known: tuple[str, ...], place: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _invalid(f"{place or 'the body '}must be an object, got {_kind(value)}")
    for name in value:
        if name not in known:
            raise _invalid(f"{place}{name!r} is not a field; known: {', '.join(known)}")
    return value


def _check_name(field: str, name: object, place: str) -> str:
    """An event id, a unit or a report's id: what the engine takes."""
    try:
        return _NAMES[field](name)
    except OptionError as error:
        raise _invalid(f"{place}{error}") from None


def _invalid(message: str) -> RequestError:
    return RequestError(422, "invalid", message)


def _kind(value: object) -> str:
    return "null" if value is None else _KINDS.get(type(value), type(value).__name__)
