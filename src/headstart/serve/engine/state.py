"""An experiment's state as JSON for people: what the policy believes, and what has happened."""

from __future__ import annotations

import math
from typing import NamedTuple, TypedDict

from headstart.serve.config import ExperimentConfig, Label
from headstart.serve.engine.bounds import BoundsState
from headstart.serve.engine.deciding import PolicyState, describe_policy, find_trust
from headstart.serve.engine.decision import Decider
from headstart.serve.engine.extremes import Extremes
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.starting import StartState, describe_start
from headstart.serve.engine.tally import EventTally, OnlineMean
from headstart.serve.life import LifeState
from headstart.serve.store.events import Body


class Believed(TypedDict):
    """What the policy believes of an action, in its own terms."""

    counts: float | None
    means: float | None
    lower: float | None
    upper: float | None
    trust: float | None  # the chance, by now, that the log is right about the action; None: it has no such notion


class NamedSum(TypedDict):
    """An outcome with a name, over an action's decisions."""

    n: int
    sum: float


class ActionState(TypedDict):
    """An action: shown, learnt, believed."""

    action: Label
    shown: int
    online: OnlineMean
    virtual_plays: int
    policy: Believed
    log_mean: float | None
    log_rows: int
    chance: float | None  # None: it depends on the context
    is_retired: bool
    outcomes: dict[str, NamedSum]  # those with names, of the decisions whose value is learnt


class TrippedState(TypedDict):
    """A guardrail that has tripped and that nobody has resumed since."""

    guardrail: str
    sequence: int  # of the event that said so
    falls_back: bool  # whether the safe action is shown till then


class Disagreement(TypedDict):
    """Where users contradicted the log."""

    action: Label
    reason: str


class OutlierState(TypedDict):
    """A value far outside all others of its column, where no bounds hold it."""

    column: str | None  # None: an outcome
    value: float
    event_id: str
    low: float  # of the others
    high: float


class State(TypedDict):
    """An experiment at one moment."""

    experiment: str
    version: int
    position: int
    is_frozen: bool
    tripped: list[TrippedState]  # guardrails
    log: Body | None  # the warm start in force: hash, rows, counts, means, how it was read, its audit
    start: StartState | None  # the same for people, and how far the log is used
    policy: PolicyState
    decisions: int
    held_out: int
    repeated: int  # of the decisions: those that repeat the draw of their unit
    outcomes: int
    learnt: int
    defaults: int
    waiting: int
    late: int
    dangling: int
    conflicting: int
    parts: int  # reports of outcomes with names, in their windows
    early: int  # before their delay was over
    clipped_contexts: int  # decisions for a context outside the bounds
    clipped_outcomes: int
    missing: dict[str, int]  # users of whom a column was null, by column
    unseen: dict[str, int]  # and who had a category that nobody declared
    set_aside: int  # decisions that somebody set aside
    not_learnable: int  # outcomes that the present policy cannot take
    bounds: BoundsState
    outliers: list[OutlierState]
    conflicts: list[Disagreement]
    actions: list[ActionState]
    duplicates: int
    life: LifeState | None  # where in its life it is; None: it has no start and no end
    behind: str | None  # why this is what was last seen and not the present state


class Sight(NamedTuple):
    """A state, and the configuration in force at that moment."""

    state: State
    config: ExperimentConfig


def describe(fold: Fold, decider: Decider, duplicates: int, now: int) -> State:
    """Counts, and per action: times shown, outcomes, the policy's readings, virtual plays and the chance now."""
    tally, policy = fold.tally, fold.policy
    config = fold.config
    life = None if config.life is None else config.life.describe(now, config.safe_action)
    return {
        "experiment": fold.name,
        "version": fold.version,
        "position": fold.position,
        "is_frozen": fold.frozen_at is not None,
        "tripped": [
            {"guardrail": name, "sequence": by, "falls_back": fold.guards.declared[name].falls_back}
            for name, by in fold.guards.tripped.items()
        ],
        "log": fold.log,
        "start": describe_start(fold),
        "policy": describe_policy(policy.policy, has_context=policy.has_context),
        "decisions": tally.decisions,
        "held_out": tally.held_out,
        "repeated": tally.repeated,
        "outcomes": tally.outcomes,
        "learnt": tally.learnt,
        "defaults": tally.defaults,
        "waiting": tally.decisions - (tally.learnt + tally.aside if fold.learns_at_close else tally.outcomes),
        "late": tally.late,
        "dangling": tally.dangling,
        "conflicting": tally.conflicting,
        "parts": tally.parts,
        "early": tally.early,
        "clipped_contexts": tally.clipped_contexts,
        "clipped_outcomes": tally.clipped_outcomes,
        "missing": dict(tally.missing),
        "unseen": dict(tally.unseen),
        "set_aside": len(fold.reckoning.aside),
        "not_learnable": fold.not_learnable,
        "bounds": fold.reckoning.bounds.as_dict(fold.config),
        "outliers": _find_outliers(tally),
        "conflicts": [
            {"action": fold.config.actions[each["action"]], "reason": each["reason"]} for each in policy.conflicts()
        ],
        "actions": _describe_actions(fold, decider, 1.0 if life is None else life["share"]),
        "duplicates": duplicates,
        "life": life,
        "behind": None,
    }


def _describe_actions(fold: Fold, decider: Decider, share: float) -> list[ActionState]:
    tally, policy = fold.tally, fold.policy
    virtual, readings, trusts = policy.virtual_plays(), policy.readings(), find_trust(policy.policy)
    chances = decider.chances(share)
    actions: list[ActionState] = []
    for a, label in enumerate(fold.config.actions):
        believed = {name: _number(values[a]) for name, values in readings.items()}
        named = tally.named.get(str(label), {})
        actions.append(
            {
                "action": label,
                "shown": tally.shown.get(str(label), 0),
                "online": tally.mean(str(label)),
                "virtual_plays": 0 if virtual is None else virtual[a],
                "policy": {
                    "counts": believed.get("counts"),
                    "means": believed.get("means"),
                    "lower": believed.get("lower"),
                    "upper": believed.get("upper"),
                    "trust": believed.get("trust", None if trusts is None else _number(trusts[a])),
                },
                "log_mean": None if fold.log is None else fold.log["means"][a],
                "log_rows": 0 if fold.log is None else fold.log["counts"][a],
                "chance": None if chances is None else chances[a],
                "is_retired": label not in fold.offered,
                "outcomes": {name: {"n": int(n), "sum": total} for name, (n, total) in named.items()},
            }
        )
    return actions


def _find_outliers(tally: EventTally) -> list[OutlierState]:
    watched: list[tuple[str | None, Extremes]] = [(None, tally.outcome_extremes), *tally.column_extremes.items()]
    return [
        {"column": column, "value": far.value, "event_id": far.event_id, "low": far.low, "high": far.high}
        for column, extremes in watched
        for far in extremes.outliers()
    ]


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
