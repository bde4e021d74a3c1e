"""What decides, for people: its name, why it was chosen, how far it trusts the log, why a user gets an action."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from headstart.errors import HeadstartError
from headstart.judgement.start.started import Started
from headstart.parts import Oracle, OracleAbilities, layers
from headstart.parts.explaining import explain_context
from headstart.parts.explanation import Explanation
from headstart.serve.store.events import DecisionBody

if TYPE_CHECKING:
    from headstart.serve.engine.fold import Fold


class PolicyState(TypedDict):
    """The policy in force."""

    name: str  # of the oracle that decides
    around: list[str]  # what wraps it, outermost first
    has_context: bool  # whether it looks at the user
    reasons: list[str]  # of `start`; empty where the configuration chose


def describe_policy(policy: Oracle, *, has_context: bool) -> PolicyState:
    """The layers of a policy in words."""
    names = [type(layer).__name__ for layer in layers(policy)]
    started = next((layer for layer in layers(policy) if isinstance(layer, Started)), None)
    return {
        "name": names[-1],
        "around": names[:-1],
        "has_context": has_context,
        "reasons": [] if started is None else list(started.reasons),
    }


def explain_decision(fold: Fold, body: DecisionBody, outcome: str) -> Explanation | None:
    """Why the user of a decision would get its action now; None where actions or columns are others by now."""
    served, labels = fold.policy, fold.config.actions
    shown = body.get("available", fold.offered)
    mask = np.array([label in shown and label in fold.offered for label in labels])
    if body["action"] not in labels or not mask.any():
        return None
    try:
        seen = served.as_vector(body["context"], body.get("surprises", {}))
    except HeadstartError:
        return None
    user = body["context"] if seen is not None else {}
    return explain_context(
        served.policy, seen, mask, labels=labels, user=user, outcome=outcome, action=body["action"]
    )


def find_trust(policy: Oracle) -> list[float] | None:
    """The chance, by now, that the log is right about each action, where what decides has such a notion."""
    trust = OracleAbilities(list(layers(policy))[-1]).trust
    return None if trust is None else trust.tolist()
