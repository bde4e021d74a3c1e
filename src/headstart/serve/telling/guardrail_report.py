"""Guardrails for people: what each watches, what it has found, and what happens while one has tripped."""

from __future__ import annotations

import math
from typing import TypedDict

from headstart.estimates.outliers import Range
from headstart.numerals import tell_number
from headstart.serve.config import ExperimentConfig
from headstart.serve.guardrails import ALARM, FALL_BACK, HOLDOUT, Guardrail
from headstart.serve.telling.guarding import Harm, Watched
from headstart.serve.telling.outcomes import Wording
from headstart.serve.telling.report import finite_or_none


class GuardrailTold(TypedDict):
    """One of them, as it is now; `value` and the rest are of the users since it began."""

    name: str
    outcome: str
    worse: str  # "higher" or "lower"
    than: str | float  # "holdout", or the bound
    margin: float
    level: float  # the chance that it ever trips without cause
    level_text: str
    then: str  # "alarm" or "fall back"
    is_tripped: bool
    users: int  # with an outcome, that are not held out
    holdout_users: int
    value: float | None
    against: float | None
    at_least: float | None  # by how much it is worse; None while too little is known
    watches: str  # in words
    text: str
    status: str


def tell_guardrails(watched: Watched, config: ExperimentConfig, bounds: Range) -> list[GuardrailTold]:
    """All of them, those that have tripped first."""
    guards = watched.guards
    told = [_tell(watched, name, watched.judge(name, bounds), config) for name in guards.declared]
    return sorted(told, key=lambda each: not each["is_tripped"])


def find_tripped(guardrails: list[GuardrailTold]) -> list[str]:
    """Alarms: what has happened, and what is done about it."""
    return [
        f"The guardrail {each['name']} has tripped: {each['text']}. {each['status']}"
        for each in guardrails
        if each["is_tripped"]
    ]


def _tell(watched: Watched, name: str, harm: Harm, config: ExperimentConfig) -> GuardrailTold:
    guardrail, outcome = watched.guards.declared[name], watched.outcome_of(name)
    trip = watched.trips.get(name) if name in watched.guards.tripped else None
    return {
        "name": name,
        "outcome": outcome,
        "worse": "higher" if guardrail.is_worse_higher else "lower",
        "than": HOLDOUT if guardrail.bound is None else guardrail.bound,
        "margin": guardrail.margin,
        "level": guardrail.level,
        "level_text": f"{tell_number(100.0 * guardrail.level)} %",
        "then": FALL_BACK if guardrail.falls_back else ALARM,
        "is_tripped": trip is not None,
        "users": harm.users,
        "holdout_users": harm.holdout_users,
        "value": finite_or_none(harm.value),
        "against": finite_or_none(harm.against),
        "at_least": finite_or_none(harm.at_least),
        "watches": _tell_watch(guardrail, Wording(outcome, harm.is_rate)),
        "text": _tell_now(guardrail, harm, outcome) if trip is None else trip.reason,
        "status": _tell_status(guardrail, config, is_tripped=trip is not None),
    }


def _tell_watch(guardrail: Guardrail, words: Wording) -> str:
    than = "in the hold-out" if guardrail.bound is None else words.tell(guardrail.bound)
    margin = f" by more than {words.tell_size(guardrail.margin)}" if guardrail.margin else ""
    return f"{words.name} must not be {'higher' if guardrail.is_worse_higher else 'lower'} than {than}{margin}"


def _tell_now(guardrail: Guardrail, harm: Harm, outcome: str) -> str:
    if not harm.users or not math.isfinite(harm.against):
        return "no outcomes yet" if not harm.users else "no outcomes in the hold-out yet"
    words = Wording(outcome, harm.is_rate)
    told = f"{outcome} is {words.tell(harm.value)} over {harm.users:,} users"
    if guardrail.bound is None:
        told += f", {words.tell(harm.against)} over the {harm.holdout_users:,} held out"
    return f"{told}; nothing shows that it is worse"


def _tell_status(guardrail: Guardrail, config: ExperimentConfig, *, is_tripped: bool) -> str:
    if not is_tripped:
        return "Watching."
    if guardrail.falls_back:
        return f"All but the hold-out are shown {config.safe_action}, the safe action, until somebody resumes."
    return "The policy decides as before: this guardrail only raises an alarm, until somebody resumes."
