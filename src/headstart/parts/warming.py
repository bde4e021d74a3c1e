"""Warming: what a policy will call is compiled, or read from the disk, before the first user waits for it."""

from __future__ import annotations

import numpy as np

from headstart.parts.abilities import OracleAbilities
from headstart.parts.contracts import ContextLike, Oracle
from headstart.parts.wrapper import Wrapper, layers


def warm(policy: Oracle) -> None:
    """Let the policy say its chances and a copy decide, wait and learn twice: the policy itself stays as it is.

    Of a policy that holds a log only the oracle within is copied, and each layer around it rehearses what it does
    itself when it learns. Every process, the service's too, warms by this function alone.

    Compiled entry points belong to the types of a state, so what the copy has compiled its original finds ready in
    this process, and every other process on the disk.
    """
    n_features = OracleAbilities(policy).n_features
    context = np.zeros(n_features) if n_features else None
    policy.probabilities(context)
    learner, seen = _find_learner(policy, context)
    abilities = OracleAbilities(OracleAbilities(learner).copy())
    twin = abilities.part
    twin.probabilities(seen)
    action = twin.play(seen)
    if abilities.waits:
        abilities.expect(seen, action)
        abilities.release(seen, action)
    low, high = abilities.outcome_range
    outcome = min(max(0.0, low), high)
    for _ in range(2):  # a forest has trees after the first one, which learn the second in another way
        twin.update(seen, action, outcome)
        twin.probabilities(seen)
    seen = context
    for layer in layers(policy):
        if isinstance(layer, Wrapper):
            layer.rehearse(seen, action, outcome)
            seen = layer.seen(seen)


def _find_learner(policy: Oracle, context: ContextLike) -> tuple[Oracle, ContextLike]:
    """What is copied, and what it sees: the whole policy, or of one that holds a log the oracle within."""
    seen = context
    for layer in layers(policy):
        if isinstance(layer, Wrapper):
            seen = layer.seen(seen)
            if layer.holds_log:
                return layer.inner, seen
    return policy, context
