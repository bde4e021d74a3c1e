"""The JSON schema of a report of outcomes, as an experiment takes it."""

from __future__ import annotations

from headstart.serve.engine.asks import MAX_EVENT_ID
from headstart.serve.engine.bounds import LIMIT
from headstart.serve.engine.parts import MAX_REPORT_ID
from headstart.serve.outcomes import NamedOutcome, NamedOutcomes
from headstart.serve.units import MAX_UNIT

PRINTABLE = {"type": "string", "minLength": 1, "pattern": r"^[ -~]+$"}
EVENT_ID = {**PRINTABLE, "maxLength": MAX_EVENT_ID}
UNIT = {**PRINTABLE, "maxLength": MAX_UNIT}
_NUMBER = {"type": ["number", "boolean"]}
_REPORT_ID = {
    **PRINTABLE,
    "maxLength": MAX_REPORT_ID,
    "description": "By which a report that is sent again is known.",
}


def report_schema(outcomes: NamedOutcomes, *, is_in_batch: bool = False) -> dict[str, object]:
    """One report; in a batch, a number that is not allowed is answered in its place."""
    came = _named(outcomes, is_in_batch=is_in_batch) if outcomes else {"outcome": _single(is_in_batch=is_in_batch)}
    schema: dict[str, object] = {
        "type": "object",
        "required": [name for name in came if not (is_in_batch and name == "report_id")],
        "oneOf": [{"required": ["event_id"]}, {"required": ["unit"]}],
        "additionalProperties": False,
        "properties": {
            "event_id": {**EVENT_ID, "example": "order-4711"},
            "unit": {**UNIT, "description": "In the place of an event id: the newest decision of this unit."},
            **came,
        },
    }
    if is_in_batch:
        schema["description"] = "As for one decision; an outcome that is not allowed is answered in its place."
    return schema


def _single(*, is_in_batch: bool) -> dict[str, object]:
    if is_in_batch:
        return {**_NUMBER, "description": "What came of the decision; 0 is an outcome."}
    told = "What came of the decision, within the experiment's outcome_range; 0 is an outcome."
    return {**_NUMBER, "minimum": -LIMIT, "maximum": LIMIT, "description": told}


def _named(outcomes: NamedOutcomes, *, is_in_batch: bool) -> dict[str, object]:
    named: dict[str, object] = {
        "type": "object",
        "description": "What came of the decision, by name; 0 is an outcome.",
        "minProperties": 1,
        "additionalProperties": _NUMBER if is_in_batch else False,
    }
    if not is_in_batch:
        named["properties"] = {name: _bounded(each) for name, each in outcomes.named.items()}
    has_sum = any(each.is_sum for each in outcomes.named.values())
    return {"outcomes": named, **({"report_id": _REPORT_ID} if has_sum else {})}


def _bounded(outcome: NamedOutcome) -> dict[str, object]:
    low, high = outcome.range or (-LIMIT, LIMIT)
    return {**_NUMBER, "minimum": low, "maximum": high}
