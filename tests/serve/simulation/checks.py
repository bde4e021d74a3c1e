"""The promises, checked against the model: of a replica after a step, and of the store at the end."""

from __future__ import annotations

import math
from collections import Counter
from contextlib import suppress
from typing import Any

import orjson

from headstart.errors import HeadstartError
from headstart.parts import OracleAbilities
from headstart.serve.engine.export import Export
from headstart.serve.engine.fold import Fold
from headstart.serve.engine.policies import build_policy
from headstart.serve.engine.served_policy import ServedPolicy
from headstart.serve.engine.snapshot import write_snapshot
from headstart.serve.engine.sources import Sources
from headstart.serve.engine.verification import verify_store
from headstart.serve.store.sqlite import SQLiteStore
from tests.serve.simulation.model import Model, PromiseBroken
from tests.serve.simulation.replica import Replica

_COUNTED = {"late": "late", "dangling": "dangling", "conflicting": "conflicting", "parts": "part", "early": "early"}


def check_equal(what: str, found: Any, expected: Any) -> None:
    """Say what differs, and how."""
    if found != expected:
        raise PromiseBroken(f"{what} is {found!r:.300}, must be {expected!r:.300}")


def check_state(replica: Replica, model: Model) -> None:
    """What people see of an experiment, of a replica that has folded everything."""
    state = replica.state(model.name)
    orjson.dumps(state)  # or nobody sees it
    outcomes, learnt = model.outcomes, [each for each in model.learnt if each.about not in model.aside]
    expected = {
        "version": model.newest,
        "position": model.head,
        "is_frozen": model.frozen_at is not None,
        "tripped": [
            {"guardrail": name, "sequence": by, "falls_back": model.present.guardrails[name].falls_back}
            for name, by in model.tripped.items()
        ],
        "decisions": len(model.made),
        "held_out": sum("is_holdout" in row.body for row in model.made),
        "repeated": sum("follows" in row.body for row in model.made),
        "outcomes": len(model.first),
        "learnt": len(learnt),
        "defaults": sum(each.is_default for each in learnt),
        "set_aside": len(model.aside),
        **{name: len(outcomes[kind]) + model.gone[kind] for name, kind in _COUNTED.items()},
        **_count_surprises(model),
    }
    check_equal("the state", {name: state[name] for name in expected}, expected)  # type: ignore[literal-required]
    shown = Counter(str(row.body["action"]) for row in model.made)
    for action in state["actions"]:
        label = str(action["action"])
        check_equal(f"shown of {label!r}", action["shown"], shown[label])
        is_retired = action["action"] not in model.offered
        check_equal(f"whether {label!r} is retired", action["is_retired"], is_retired)
        mine = [each.outcome for each in learnt if str(each.decision["action"]) == label]
        values = [model.bounds.clip_outcome(outcome) for outcome in mine]
        check_equal(f"n of {label!r}", action["online"]["n"], len(values))
        for name in model.present.outcomes.named if values else ():
            check_equal(f"{name} of {label!r}", action["outcomes"][name]["n"], len(values))
        mean = action["online"]["mean"]
        if values and all(abs(value) < 1e100 for value in values):
            size = max(1.0, *map(abs, values))
            if mean is None or not math.isclose(mean, sum(values) / len(values), abs_tol=1e-9 * size):
                raise PromiseBroken(f"the mean of {label!r} is {mean}, must be {sum(values) / len(values)}")


def _count_surprises(model: Model) -> dict[str, dict[str, int]]:
    """Nulls and unknown categories by column, as the store has them."""
    found = [row.body.get("surprises", {}) for row in model.made]
    return {
        kind: dict(Counter(column for each in found for column, told in each.items() if told == kind))
        for kind in ("missing", "unseen")
    }


def check_policy(fold: Fold, model: Model, sources: Sources) -> None:
    """The policy is what a twin becomes that is built anew and taught everything that counts, in its order."""
    log = None if model.begun is None else sources.find(model.present, model.begun).log
    twin, not_learnt = build_policy(model.present, log, model.bounds, model.binding), 0
    place = {label: a for a, label in enumerate(model.present.actions)}
    for each in model.released:
        try:
            surprises = each.decision.get("surprises", {})
            twin.learn(each.decision["context"], place[each.decision["action"]], each.outcome, surprises)
        except (KeyError, HeadstartError):  # of an earlier configuration
            not_learnt += 1
    for row in model.expected if twin.waits else ():
        with suppress(KeyError, HeadstartError):  # of an earlier configuration
            twin.expect(row.body["context"], place[row.body["action"]], row.body.get("surprises", {}))
    check_equal("outcomes that could not be learnt", fold.not_learnable, not_learnt)
    if _told(fold.policy) != _told(twin):
        raise PromiseBroken("the policy is not what its events teach")


def _told(policy: ServedPolicy) -> bytes:
    """Everything that a policy holds, or what it answers."""
    state = OracleAbilities(policy.policy).try_get_state()
    return write_snapshot({"state": state} if state is not None else {"readings": policy.readings()})


def check_export(replica: Replica, model: Model) -> None:
    """The next log: each decision of an action that is still there, once, with the outcome that counts."""
    rows = list(Export(replica.ledgers[model.name].store.query, model.name))
    kept = [row for row in model.made if row.body["action"] in model.present.actions]
    check_equal("the next log", [row["sequence"] for row in rows], [row.sequence for row in kept])
    for found, row in zip(rows, kept, strict=True):
        event_id, body, first = row.event_id or "", row.body, model.first.get(row.sequence)
        check_equal(f"the propensity of {event_id!r}", found["propensity"], body["propensity"])
        check_equal(f"the action of {event_id!r}", found["action"], body["action"])
        check_equal(f"the context of {event_id!r}", found["context"], body["context"])
        check_equal(
            f"the unit of {event_id!r}", (found["unit"], found["follows"]), (body.get("unit"), body.get("follows"))
        )
        outcome = None if first is None else first["outcome"]
        if model.present.outcomes and row.sequence not in model.aside:
            named = None if first is None else first["outcomes"]
            check_equal(f"the outcomes of {event_id!r}", found["outcomes"], named)
        if model.has_default:
            default = model.present.default_outcome if outcome is None else outcome
            outcome = default if row.sequence <= model.closed_through else None
        if row.sequence in model.aside:
            outcome = None
        check_equal(f"the outcome of {event_id!r}", found["outcome"], outcome)


def check_store(path: str, models: dict[str, Model], sources: Sources) -> dict[str, bytes]:
    """`verify` finds nothing, and every decision is made again; the fingerprint of each experiment."""
    store = SQLiteStore(path)
    try:
        verdict = verify_store(store.query, sources)
    finally:
        store.close()
    if verdict.faults:
        raise PromiseBroken(f"verify: {verdict.n_faults} faults, first {verdict.faults[0]}")
    n = sum(len(model.made) for model in models.values())
    redacted = sum("is_redacted" in row.body for model in models.values() for row in model.made)
    check_equal("decisions that were erased", verdict.redacted, redacted)
    made = verdict.decided_again + verdict.redacted + verdict.clouded
    check_equal("decisions made again, or erased", (verdict.decisions, made), (n, n))
    check_equal("events", verdict.events, sum(model.head for model in models.values()))
    return verdict.fingerprints
