"""What people decide about an experiment, as the OpenAPI document tells it: the verb, what it does, what it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from headstart.serve.config import Label
from headstart.serve.http.report_schema import EVENT_ID, UNIT

_REASON = {"type": "string", "maxLength": 1000, "description": "Why, for those who read the record."}


class Verb(NamedTuple):
    """A path below an experiment that a person with the scope `admin` may POST to."""

    name: str
    summary: str
    request: dict[str, object]


def steering_verbs(actions: Sequence[Label], guardrails: Sequence[str]) -> Iterator[Verb]:
    """All of them, for an experiment with these actions and guardrails; each may say why."""
    yield Verb("freeze", "Stop learning; decisions go on", _takes())
    yield Verb("unfreeze", "Learn again, beginning with what came in the meantime", _takes())
    version = {"type": "integer", "minimum": 0, "description": "As decisions and the state tell it."}
    yield Verb("roll-back", "Forget what was learnt after a version; the events stay", _takes(version=version))
    yield Verb("withdraw-log", "Go on as if there had been no log", _takes())
    yield Verb("set-aside", "Have a decision count no more: a test order, a robot", _takes(event_id=EVENT_ID))
    yield Verb("take-back", "Have a decision that was set aside count again", _takes(event_id=EVENT_ID))
    action = {"enum": list(actions), "description": "Which one."}
    yield Verb("retire", "Show an action no more; its rows stay", _takes(action=action))
    yield Verb("reinstate", "Show a retired action again", _takes(action=action))
    if guardrails:
        guardrail = {"enum": list(guardrails), "description": "Which one has tripped."}
        yield Verb("resume", "Resume after a guardrail has tripped", _takes(guardrail=guardrail))
    yield Verb("erase", "Forget a person: contexts and names go, outcomes and propensities stay", _takes_person())


def _takes(**required: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "required": list(required),
        "additionalProperties": False,
        "properties": {**required, "reason": _REASON},
    }


def _takes_person() -> dict[str, object]:
    schema = _takes(unit={**UNIT}, event_id={**EVENT_ID, "description": "Of one of the person's decisions."})
    del schema["required"]
    return {**schema, "oneOf": [{"required": ["unit"]}, {"required": ["event_id"]}]}
