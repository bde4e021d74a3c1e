"""Asks: what callers want of the store, checked in the caller's thread and put into one form."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict

from headstart.checks import check_outcome_in
from headstart.errors import ActionError, ContextError, OptionError
from headstart.serve.config import ExperimentConfig, Label
from headstart.serve.engine.fold import Fold
from headstart.serve.store.events import Body, Context

MAX_EVENT_ID = 200


class DecisionTerms(TypedDict, total=False):
    """What of it to choose from (None: everything), and under which id (None: the service makes one)."""

    available: Sequence[object] | None
    event_id: str | None


class User(DecisionTerms, total=False):
    """Whom to decide for."""

    context: Mapping[str, object] | None


class DecideAsk(NamedTuple):
    """Decide for one user. The context has every column, in order, numbers as floats."""

    experiment: str
    event_id: str
    is_new: bool  # the id was made here: nobody can have used it
    context: Context
    available: list[Label] | None  # labels in the experiment's order; None: all


class OutcomeAsk(NamedTuple):
    """Record an outcome."""

    experiment: str
    event_id: str
    outcome: float


class SteerAsk(NamedTuple):
    """Record a decision of people: freeze, unfreeze, roll back, withdraw the log."""

    experiment: str
    kind: str
    body: Body


class CloseAsk(NamedTuple):
    """Close the windows that are over."""

    experiment: str


Ask = DecideAsk | OutcomeAsk | SteerAsk | CloseAsk


def as_decide(config: ExperimentConfig, user: User, milliseconds: int) -> DecideAsk:
    """A checked request for a decision."""
    available, event_id = user.get("available"), user.get("event_id")
    seen = check_user(config, user.get("context") or {})
    offered = None if available is None else check_offered(config, available)
    if event_id is None:  # in the order of time, so that the index grows at its end
        return DecideAsk(config.name, f"{milliseconds:012x}{secrets.token_hex(10)}", True, seen, offered)
    return DecideAsk(config.name, check_event_id(event_id), False, seen, offered)


def as_outcome(fold: Fold, event_id: str, outcome: object) -> OutcomeAsk:
    """A checked report of an outcome: one that the policy could not learn is refused now."""
    number = check_outcome_in(outcome, *fold.outcome_range, "this experiment's policy")
    return OutcomeAsk(fold.name, check_event_id(event_id), number)


def check_event_id(event_id: object) -> str:
    """1 to 200 printable characters."""
    if not isinstance(event_id, str) or not 1 <= len(event_id) <= MAX_EVENT_ID or not event_id.isprintable():
        raise OptionError(f"event_id must be 1 to {MAX_EVENT_ID} printable characters, got {event_id!r:.80}")
    return event_id


def check_user(config: ExperimentConfig, context: Mapping[str, object]) -> Context:
    """Every column of the experiment, none besides; numbers finite, categories known."""
    seen: Context = {}
    for column, kind in config.contexts.items():
        try:
            value = context[column]
        except (KeyError, TypeError):
            raise ContextError(f"context column {column!r} is missing") from None
        if kind == "number":
            seen[column] = _check_number(column, value)
            continue
        for category in kind:
            if value == category and type(value) is type(category):  # true is not 1
                seen[column] = category
                break
        else:
            raise ContextError(f"context column {column!r} has no category {value!r:.80}; known: {list(kind)}")
    if len(context) != len(seen):
        unknown = next(name for name in context if name not in seen)
        known = ", ".join(config.contexts) or "none"
        raise ContextError(f"unknown context column {unknown!r:.80}; known: {known}")
    return seen


def _check_number(column: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ContextError(f"context column {column!r} must be a number, got {value!r:.80}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ContextError(f"context column {column!r} must be a finite number, got {value!r:.80}")
    return number + 0.0  # -0.0 is 0.0


def check_offered(config: ExperimentConfig, available: Sequence[object]) -> list[Label] | None:
    """Known labels in the experiment's order; None if it is all of them."""
    chosen = set()
    for label in available:
        for a, known in enumerate(config.actions):
            if label == known and type(label) is type(known):
                chosen.add(a)
                break
        else:
            raise ActionError(f"available has an unknown action {label!r:.80}; known: {list(config.actions)[:20]}")
    if not chosen:
        raise ActionError("available must hold at least one action, got none")
    if len(chosen) == len(config.actions):
        return None
    return [config.actions[a] for a in sorted(chosen)]
