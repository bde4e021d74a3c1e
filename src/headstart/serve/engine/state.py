"""An experiment's state as JSON for people: what the policy believes, and what has happened."""

from __future__ import annotations

import math
from typing import Any

from headstart.serve.engine.decision import Decider
from headstart.serve.engine.fold import Fold


def describe(fold: Fold, decider: Decider) -> dict[str, Any]:
    """Counts, and per action: times shown, outcomes, the policy's readings, virtual plays and the chance now."""
    tally, policy = fold.tally, fold.policy
    virtual, readings = policy.virtual_plays(), policy.readings()
    chances = None if policy.has_context else decider.chances()
    actions = []
    for a, label in enumerate(fold.config.actions):
        believed = {name: _number(values[a]) for name, values in readings.items()}
        actions.append(
            {
                "action": label,
                "shown": tally.shown.get(str(label), 0),
                "online": tally.mean(str(label)),
                "virtual_plays": 0 if virtual is None else virtual[a],
                "policy": {name: believed.get(name) for name in ("counts", "means", "lower", "upper")},
                "log_mean": None if fold.log is None else fold.log["means"][a],
                "log_rows": 0 if fold.log is None else fold.log["counts"][a],
                "chance": None if chances is None else chances[a],
            }
        )
    return {
        "experiment": fold.name,
        "version": fold.version,
        "position": fold.position,
        "is_frozen": fold.frozen_at is not None,
        "log": fold.log,
        "decisions": tally.decisions,
        "held_out": tally.held_out,
        "outcomes": tally.outcomes,
        "learnt": tally.learnt,
        "defaults": tally.defaults,
        "waiting": tally.decisions - (tally.learnt if fold.learns_at_close else tally.outcomes),
        "late": tally.late,
        "dangling": tally.dangling,
        "conflicting": tally.conflicting,
        "set_aside": fold.set_aside,
        "conflicts": [{**each, "action": fold.config.actions[each["action"]]} for each in policy.conflicts()],
        "actions": actions,
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
