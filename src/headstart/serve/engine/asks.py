"""Asks: what callers want of the store, checked in the caller's thread and put into one form.

A request whose event id is the caller's own may be the retry of one that is recorded, perhaps under another
configuration. So it keeps what was given, and an error that is raised only if the id is unknown.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict

from headstart.checks import check_outcome_in
from headstart.errors import ActionError, ContextError, HeadstartError, OptionError
from headstart.logs.encoding import Surprise
from headstart.serve.config import ExperimentConfig, Label
from headstart.serve.engine.bounds import Bounds, check_number_within, check_outcome_within
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.parts import check_report
from headstart.serve.engine.surprises import Seen, check_unseen
from headstart.serve.store.events import Body, Context
from headstart.serve.units import Unit, check_unit

MAX_EVENT_ID = 200
_NOTHING = Seen({}, {})


class DecisionTerms(TypedDict, total=False):
    """What of it to choose from (None: everything), under which id (None: the service makes one), and for which unit
    (None: nobody who comes back).
    """

    available: Sequence[object] | None
    event_id: str | None
    unit: str | None


class User(DecisionTerms, total=False):
    """Whom to decide for."""

    context: Mapping[str, object] | None


class Fitted(NamedTuple):
    """A request as a configuration sees it. What is seen has every column, in order, numbers as floats."""

    config: ExperimentConfig
    bounds: Bounds
    offered: tuple[Label, ...]  # the actions that are not retired
    seen: Seen
    available: list[Label] | None  # labels in the experiment's order; None: all
    refusal: HeadstartError | None = None  # why it does not fit


class DecideAsk(NamedTuple):
    """Decide for one user."""

    experiment: str
    event_id: str
    is_new: bool  # the id was made here: nobody can have used it
    given: User
    fitted: Fitted
    unit: str | None


class OutcomeAsk(NamedTuple):
    """Record an outcome of a decision, or of a unit's newest one."""

    experiment: str
    of: str | Unit  # an event id, or a unit
    outcome: float | dict[str, float]  # or several by their names
    report_id: str | None = None  # by which a report that is sent again is known, where reports add up


class SteerAsk(NamedTuple):
    """Record a decision of people: freeze, unfreeze, roll back, withdraw the log."""

    experiment: str
    kind: str
    body: Body


class AsideAsk(NamedTuple):
    """Set one decision aside, or take it back."""

    experiment: str
    event_id: str
    kind: str
    body: Body


class RetireAsk(NamedTuple):
    """Show an action no more, or again."""

    experiment: str
    action: Label
    kind: str
    body: Body


class GuardAsk(NamedTuple):
    """Say that a guardrail has tripped, or resume."""

    experiment: str
    guardrail: str
    kind: str
    body: Body


class EraseAsk(NamedTuple):
    """Erase a person: all decisions of a unit, or the one of an event id."""

    experiment: str
    of: str | Unit
    body: Body


class CloseAsk(NamedTuple):
    """Close the windows that are over."""

    experiment: str


Ask = DecideAsk | OutcomeAsk | SteerAsk | AsideAsk | RetireAsk | GuardAsk | EraseAsk | CloseAsk


def as_decide(fold: Fold, user: User, milliseconds: int) -> DecideAsk:
    """A request for a decision; one that does not fit is refused now, unless its id may be known."""
    event_id, unit, fitted = user.get("event_id"), user.get("unit"), as_fitted(fold, user)
    if unit is not None:
        check_unit(unit)
    if event_id is not None:
        return DecideAsk(fold.name, check_event_id(event_id), False, user, fitted, unit)
    if fitted.refusal is not None:
        raise fitted.refusal
    # In the order of time, so that the index grows at its end.
    return DecideAsk(fold.name, f"{milliseconds:012x}{secrets.token_hex(10)}", True, user, fitted, unit)


def as_fitted(fold: Fold, user: User) -> Fitted:
    """A request by the columns and actions that there are now."""
    config, bounds, available = fold.config, fold.reckoning.bounds, user.get("available")
    try:
        seen = check_user(config, bounds, user.get("context") or {})
        chosen = None if available is None else check_offered(config, available)
        check_not_retired(chosen, fold.offered)
        return Fitted(config, bounds, fold.offered, seen, chosen)
    except HeadstartError as refusal:
        return Fitted(config, bounds, fold.offered, _NOTHING, None, refusal)


def as_outcome(
    fold: Fold, of: str | Unit, outcome: float | Mapping[str, object], report_id: str | None = None
) -> OutcomeAsk:
    """A report of an outcome; whether the policy can learn it is asked of one that is not recorded yet."""
    checked, report = check_report(fold.config, outcome, report_id)
    known = Unit(check_unit(of.name)) if isinstance(of, Unit) else check_event_id(of)
    return OutcomeAsk(fold.name, known, checked, report)


def check_learnable(fold: Fold, outcome: float) -> None:
    """Refuse an outcome that the present policy could not learn, or that is outside what is declared."""
    check_outcome_in(outcome, *fold.outcome_range, "this experiment's policy")
    check_outcome_within(fold.config, fold.reckoning.bounds, outcome)


def check_event_id(event_id: object) -> str:
    """1 to 200 printable characters."""
    if not isinstance(event_id, str) or not 1 <= len(event_id) <= MAX_EVENT_ID or not event_id.isprintable():
        raise OptionError(f"event_id must be 1 to {MAX_EVENT_ID} printable characters, got {event_id!r:.80}")
    return event_id


def check_user(config: ExperimentConfig, bounds: Bounds, context: Mapping[str, object]) -> Seen:
    """Every column of the experiment, none besides; numbers finite and allowed.

    A null, and a category that nobody declared, are taken, and told.
    """
    seen: Context = {}
    surprises: dict[str, Surprise] = {}
    for column, kind in config.contexts.items():
        try:
            value = context[column]
        except (KeyError, TypeError):
            raise ContextError(f"context column {column!r} is missing") from None
        if value is None:
            seen[column], surprises[column] = None, "missing"
            continue
        if kind == "number":
            seen[column] = check_number_within(config, bounds, column, _check_number(column, value))
            continue
        assert not isinstance(kind, str)
        for category in kind:
            if value == category and type(value) is type(category):  # true is not 1
                seen[column] = category
                break
        else:
            seen[column], surprises[column] = check_unseen(column, value, kind), "unseen"
    if len(context) != len(seen):
        unknown = next(name for name in context if name not in seen)
        known = ", ".join(config.contexts) or "none"
        raise ContextError(f"unknown context column {unknown!r:.80}; known: {known}")
    return Seen(seen, surprises)


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


def check_not_retired(available: list[Label] | None, offered: Sequence[Label]) -> None:
    """Something that is available can be shown."""
    if available is not None and not any(label in offered for label in available):
        raise ActionError(
            f"available has only actions that are retired, {available[:20]}; offered: {list(offered)[:20]}"
        )


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
