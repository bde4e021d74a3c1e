"""Warming: what a policy will call is compiled, or read from the disk, before the first user waits for it."""

from __future__ import annotations

import numpy as np

from headstart.parts.abilities import OracleAbilities
from headstart.parts.contracts import Oracle


def warm(policy: Oracle) -> None:
    """Let a copy of the policy decide and learn once: the policy itself stays as it is.

    Compiled entry points belong to the types of a state, so what the copy has compiled its original finds ready in
    this process, and every other process on the disk.
    """
    abilities = OracleAbilities(OracleAbilities(policy).copy())
    twin = abilities.part
    context = np.zeros(abilities.n_features) if abilities.n_features else None
    twin.probabilities(context)
    action = twin.play(context)
    if abilities.waits:
        abilities.expect(context, action)
        abilities.release(context, action)
    low, high = abilities.outcome_range
    twin.update(context, action, min(max(0.0, low), high))
