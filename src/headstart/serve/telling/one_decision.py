"""One decision: why this action for this user, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TypedDict

from headstart.serve.engine.engine import Engine
from headstart.serve.engine.history import Past
from headstart.serve.engine.state import State
from headstart.serve.errors import UnknownDecision
from headstart.serve.store import events as kinds
from headstart.serve.store.events import Context, DecisionBody, Event, decision_body
from headstart.serve.telling.outcomes import Wording, name_outcome, tell_share

_EVENTS = 20  # of one id, that are told
_CAME = {
    kinds.OUTCOME: "counts",
    kinds.LATE: "came after its window: kept, not learnt",
    kinds.CONFLICTING: "came when another was known: kept, the first one counts",
    kinds.DANGLING: "came before there was a decision: kept, never learnt",
}


class Chance(TypedDict):
    """An action as it was when the decision was made."""

    name: str
    chance: float
    chance_text: str
    is_drawn: bool
    believed: float | None  # now
    believed_text: str


class OneDecision(TypedDict):
    """What the page of a decision shows."""

    experiment: str
    event_id: str
    time: float
    time_text: str
    version: int
    action: str
    propensity: float
    is_holdout: bool
    context: Context
    actions: list[Chance]
    outcome: float | None
    outcome_text: str
    is_set_aside: bool
    sentence: str
    events: list[str]


def tell_decision(engine: Engine, experiment: str, event_id: str) -> OneDecision:
    """By its event id; UnknownDecision if there is none."""
    past, sight = engine.past(experiment), engine.look(experiment)
    found = past.of_id(event_id, _EVENTS)
    made = next((event for event in found if event.kind == kinds.DECISION), None)
    if made is None:
        raise UnknownDecision(f"no decision {event_id!r:.80} in experiment {experiment!r}")
    body = decision_body(made.body)
    words = Wording(name_outcome(sight.config))
    outcome = next((float(event.body["outcome"]) for event in found if event.kind == kinds.OUTCOME), None)
    is_aside = past.is_aside(made.sequence)
    labels = [str(label) for label in past.actions_at(body["version"])]
    return {
        "experiment": experiment,
        "event_id": event_id,
        "time": made.time / 1e6,
        "time_text": _time(made),
        "version": body["version"],
        "action": str(body["action"]),
        "propensity": body["propensity"],
        "is_holdout": body.get("is_holdout", False),
        "context": body["context"],
        "actions": _chances(labels, body, _beliefs(past, body, sight.state), words),
        "outcome": outcome,
        "outcome_text": ("not known" if outcome is None else words.tell(outcome))
        + (", set aside" if is_aside else ""),
        "is_set_aside": is_aside,
        "sentence": _sentence(body, labels),
        "events": [_tell_event(event, words) for event in found],
    }


def _chances(
    labels: list[str], body: DecisionBody, believed: Mapping[str, float | None], words: Wording
) -> list[Chance]:
    return [
        {
            "name": label,
            "chance": chance,
            "chance_text": tell_share(chance, 1),
            "is_drawn": label == str(body["action"]),
            "believed": believed.get(label),
            "believed_text": words.tell(believed.get(label)),
        }
        for label, chance in zip(labels, body["probabilities"], strict=True)
    ]


def _beliefs(past: Past, body: DecisionBody, state: State) -> dict[str, float | None]:
    """What the policy expects of each action now: for this user, if it looks at users."""
    names = [str(action["action"]) for action in state["actions"]]
    if not state["policy"]["has_context"]:
        return {name: action["policy"]["means"] for name, action in zip(names, state["actions"], strict=True)}
    expected = past.expect(body)
    return dict.fromkeys(names) if expected is None else dict(zip(names, expected, strict=True))


def _sentence(body: DecisionBody, labels: list[str]) -> str:
    action, chance = str(body["action"]), body["propensity"]
    if body.get("is_holdout"):
        return f"This user is in the hold-out: {action} was drawn by lot, with a chance of {tell_share(chance, 1)}."
    likeliest = labels[max(range(len(labels)), key=lambda a: body["probabilities"][a])]
    if body.get("is_redacted"):
        return f"{action} was drawn with a chance of {tell_share(chance, 1)}; for whom was erased."
    text = (
        f"{action} was drawn with a chance of {tell_share(chance, 1)}, by the policy of version {body['version']:,}"
    )
    if likeliest != action:
        text += f"; it preferred {likeliest}, and this is exploration"
    if "available" in body:
        text += f"; {len(body['available'])} of {len(labels)} actions were available"
    return text + "."


def _tell_event(event: Event, words: Wording) -> str:
    if event.kind == kinds.DECISION:
        return f"{_time(event)}: decided (event {event.sequence:,})"
    return (
        f"{_time(event)}: {words.name} {words.tell(float(event.body['outcome']))} {_CAME.get(event.kind, event.kind)}"
    )


def _time(event: Event) -> str:
    return datetime.fromtimestamp(event.time / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")
