"""Retries: whether a request is the one that a recorded decision answered, whatever the configuration is now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headstart.serve.config import Label
from headstart.serve.engine.asks import User
from headstart.serve.store.events import Context, DecisionBody


def is_same_request(given: User, recorded: DecisionBody, actions: Sequence[Label]) -> bool:
    """Compare what was given now with what was seen then; `actions` are those that there were then."""
    if "is_redacted" in recorded:  # what was asked is forgotten: whoever has the id gets its answer
        return True
    then, now = recorded.get("available", actions), given.get("available")
    return (
        given.get("unit") == recorded.get("unit")
        and _is_same_context(given.get("context") or {}, recorded["context"])
        and _as_set(then) == _as_set(actions if now is None else now)
    )


def _is_same_context(given: object, recorded: Context) -> bool:
    return (
        isinstance(given, Mapping)
        and given.keys() == recorded.keys()
        and all(_is_same_value(given[column], value) for column, value in recorded.items())
    )


def _is_same_value(given: object, recorded: object) -> bool:
    """Numbers as floats, as they were recorded; true is not 1."""
    if isinstance(recorded, float) and isinstance(given, int | float) and not isinstance(given, bool):
        try:
            return float(given) == recorded
        except OverflowError:
            return False
    return type(given) is type(recorded) and given == recorded


def _as_set(labels: Sequence[object]) -> set[tuple[type, str]]:
    """In any order, and once each: neither is part of the question."""
    return {(type(label), str(label)) for label in labels}
