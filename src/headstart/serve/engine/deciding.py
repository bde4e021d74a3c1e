"""What decides, for people: its name, why it was chosen, how far it still trusts the log."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from headstart.arrays import Floats
from headstart.judgement.start.started import Started
from headstart.parts import Oracle, layers


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


def expect_outcomes(policy: Oracle, context: Floats) -> list[float] | None:
    """What a policy of `start` expects of each action for a user; None for any other, and for a forest."""
    started = next((layer for layer in layers(policy) if isinstance(layer, Started)), None)
    found = None if started is None else started.expected_outcomes(context[None, :])
    return None if found is None else found[0][0].tolist()


def find_trust(policy: Oracle) -> list[float] | None:
    """The chance, by now, that the log is right about each action, where what decides has such a notion."""
    decides = list(layers(policy))[-1]
    trust = getattr(decides, "trust", None)
    return None if trust is None else np.asarray(trust, dtype=np.float64).tolist()
