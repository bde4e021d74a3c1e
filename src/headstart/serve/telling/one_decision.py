"""One decision: why this action for this user, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TypedDict

from headstart.parts.explanation import ActionCase, Explanation
from headstart.serve.engine.engine import Engine
from headstart.serve.engine.history import Past, StoredPast
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
    """An action: its chance when the decision was made, and what speaks for it now."""

    name: str
    chance: float
    chance_text: str
    is_drawn: bool
    log: float | None  # its mean by the log alone
    log_text: str
    users: int | None  # outcomes of users that were learnt
    users_mean: float | None
    users_text: str
    believed: float | None  # what is expected of it for this user
    believed_text: str
    worth: float | None  # of one more try to the users to come
    worth_text: str


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
    fell_back: str | None  # the guardrail by which the safe action was shown
    context: Context
    actions: list[Chance]
    outcome_name: str
    outcome: float | None
    outcome_text: str
    is_set_aside: bool
    sentence: str
    why: list[str]  # the policy's own explanation, as of now
    events: list[str]


def tell_decision(engine: Engine, experiment: str, event_id: str) -> OneDecision:
    """By its event id; UnknownDecision if there is none."""
    return tell_recorded(engine.past(experiment), experiment, event_id)


def tell_recorded(past: Past | StoredPast, experiment: str, event_id: str) -> OneDecision:
    """The same from the events themselves, whoever keeps them."""
    found = past.of_id(event_id, _EVENTS)
    made = next((event for event in found if event.kind == kinds.DECISION), None)
    if made is None:
        raise UnknownDecision(f"no decision {event_id!r:.80} in experiment {experiment!r}")
    body = decision_body(made.body)
    words = Wording(name_outcome(past.config))
    outcome = next((float(event.body["outcome"]) for event in found if event.kind == kinds.OUTCOME), None)
    is_aside = past.is_aside(made.sequence)
    labels = [str(label) for label in past.actions_at(body["version"])]
    explained = past.explain(body, words.name)
    return {
        "experiment": experiment,
        "event_id": event_id,
        "time": made.time / 1e6,
        "time_text": _time(made),
        "version": body["version"],
        "action": str(body["action"]),
        "propensity": body["propensity"],
        "is_holdout": body.get("is_holdout", False),
        "fell_back": body.get("fell_back"),
        "context": body["context"],
        "actions": _chances(labels, body, explained, words),
        "outcome_name": words.name,
        "outcome": outcome,
        "outcome_text": ("not known" if outcome is None else words.tell(outcome))
        + (", set aside" if is_aside else ""),
        "is_set_aside": is_aside,
        "sentence": _sentence(body, labels),
        "why": _tell_why(explained, body["version"], past.version),
        "events": [_tell_event(event, words) for event in found],
    }


def _chances(
    labels: Sequence[str], body: DecisionBody, explained: Explanation | None, words: Wording
) -> list[Chance]:
    cases: Mapping[str, ActionCase] = {} if explained is None else {case.name: case for case in explained.cases}
    unknown = ActionCase("", *[math.nan] * (len(ActionCase._fields) - 1))
    return [
        _tell_case(cases.get(label, unknown), label, chance, words, is_drawn=label == str(body["action"]))
        for label, chance in zip(labels, body["probabilities"], strict=True)
    ]


def _tell_case(case: ActionCase, label: str, chance: float, words: Wording, *, is_drawn: bool) -> Chance:
    said, n = _known(case.users_mean), _known(case.n_users)
    return {
        "name": label,
        "chance": chance,
        "chance_text": tell_share(chance, 1),
        "is_drawn": is_drawn,
        "log": _known(case.log_mean),
        "log_text": words.tell(case.log_mean),
        "users": None if n is None else round(n),
        "users_mean": said,
        "users_text": "-" if n is None else f"{n:,.0f} users" + ("" if said is None else f", {words.tell(said)}"),
        "believed": _known(case.expected),
        "believed_text": words.tell(case.expected),
        "worth": _known(case.worth),
        "worth_text": words.tell(case.worth),
    }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _tell_why(explained: Explanation | None, then: int, now: int) -> list[str]:
    if explained is None:
        return ["Actions or columns are others by now, so the policy cannot say any more what it knew of this user."]
    changed = (
        "Nothing has changed the policy since."
        if then == now
        else f"What follows is as of now: the policy has gone on from version {then:,} to {now:,} since."
    )
    return [changed, *explained.sentences]


def _sentence(body: DecisionBody, labels: Sequence[str]) -> str:
    action, chance = str(body["action"]), body["propensity"]
    if body.get("is_holdout"):
        return f"This user is in the hold-out: {action} was drawn by lot, with a chance of {tell_share(chance, 1)}."
    if "fell_back" in body:
        tripped = f"the guardrail {body['fell_back']} had tripped"
        return f"{action} is the safe action: {tripped}, and the policy was not asked."
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
