"""Asking a replica: what must come of a group of asks came, or there was a cause and nothing came."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headstart.errors import HeadstartError
from headstart.serve.engine.answers import Answer
from headstart.serve.engine.asks import Ask
from headstart.serve.errors import StoreUnavailable
from headstart.serve.store.events import Decision, Receipt
from tests.serve.simulation.checks import check_equal
from tests.serve.simulation.expectations import Expectations, Expected
from tests.serve.simulation.model import Model, PromiseBroken, Row
from tests.serve.simulation.replica import Replica
from tests.serve.simulation.world import World


def ask(world: World, replica: Replica, name: str, asks: Sequence[Ask]) -> list[Answer]:
    """One group of asks, compared with the model; the answers, none if the group failed."""
    if not asks or not replica.is_whole(name):
        return []
    model, fired, now = world.models[name], replica.faults.n_fired, replica.now()
    learnable = world.outcome_range(model)
    try:
        found = replica.run(name, asks, world.rng.randint(1, len(asks)))
    except StoreUnavailable as error:
        world.tell(f"    {type(error).__name__}: {error}")
        world.excuse(replica, name, fired, error)
        drawn = _read_drawn(world, model)
        settle(world, model, Expectations(model, asks, now, learnable, drawn).events, now, is_sure=False)
        return []
    failed = [answer for answer in found if isinstance(answer, StoreUnavailable)]
    for answer in failed:  # of one ask alone: what it needed could not be read
        world.excuse(replica, name, fired, answer)
    kept = [(each, answer) for each, answer in zip(asks, found, strict=True) if answer not in failed]
    expected = Expectations(model, [each for each, _ in kept], now, learnable, _read_drawn(world, model))
    settle(world, model, expected.events, now, is_sure=True)
    for (each, answered), answer in zip(kept, expected.answers, strict=True):
        _check_answer(model, each, answer, answered)
    return found


def _read_drawn(world: World, model: Model) -> dict[str, dict[str, Any]]:
    """What was drawn for the decisions that the model has not seen yet, by event id, and for whom."""
    rows = [row for row in world.raw.rows(model.name, model.head) if row.kind == "decision"]
    names = ("action", "is_holdout", "fell_back")
    return {row.event_id or "": {name: row.body[name] for name in names if name in row.body} for row in rows}


def try_ask(world: World, make: Callable[[], Ask]) -> list[Ask]:
    """The ask, or nothing where it is refused at the door."""
    try:
        return [make()]
    except HeadstartError as error:
        world.tell(f"    refused: {type(error).__name__}: {error}")
        return []


def settle(world: World, model: Model, expected: list[Expected], now: int, *, is_sure: bool) -> None:
    """Compare the store with what must have come of a group: all of it, or after an error perhaps nothing."""
    rows, time = world.raw.rows(model.name, model.head), max(now, model.time)
    if not rows and not is_sure:
        return
    found = [(row.kind, row.event_id, row.about, row.time) for row in rows]
    check_equal("what was appended", found, [(each.kind, each.event_id, each.about, time) for each in expected])
    for row in rows:
        if row.kind == "redacted":  # the decisions that it names are what is left of them by now
            found = [*world.raw.archived(model.name), *world.raw.rows(model.name, 0)]
            named = {sequence for sequence, _ in row.body["decisions"]}
            model.erase({each.sequence: each for each in found if each.sequence in named})
            row.body["decisions"] = sorted(named)
            row.body.pop("files", None)  # which archives were written anew is for verify to check
    for row, each in zip(rows, expected, strict=True):
        told = {key: value for key, value in row.body.items() if key in each.body or row.kind != "decision"}
        check_equal(f"the body of event {row.sequence}", told, each.body)
        model.take(row)


def _check_answer(model: Model, asked: Ask, expected: Any, answered: Answer) -> None:
    """What was answered is what is recorded, bit for bit, and what the model says."""
    if isinstance(expected, tuple):
        row = model.decisions[expected[1]]
        if isinstance(answered, HeadstartError):
            raise PromiseBroken(f"{asked} was answered by {type(answered).__name__}: {answered}")
        check_equal(f"the answer of {row.event_id!r}", answered, _as_answer(row, model))
    elif isinstance(answered, Receipt) and isinstance(expected, dict):
        found = {"status": answered.status, "outcomes": dict(answered.outcomes or {})}
        check_equal(f"what became of {asked}", found, expected)
    elif isinstance(answered, Receipt):
        check_equal(f"the status of {asked}", answered.status, expected)
    elif isinstance(answered, HeadstartError):
        check_equal(f"the error of {asked} ({answered})", type(answered).__name__, expected)
    elif expected == "steered":
        if not isinstance(answered, int) or answered > model.head:
            raise PromiseBroken(f"{asked} was answered by {answered!r}")
    else:
        check_equal(f"the answer of {asked}", answered, expected)


def _as_answer(row: Row, model: Model) -> Decision:
    body = row.body
    return Decision(
        row.event_id or "",
        body["action"],
        body["propensity"],
        tuple(body["probabilities"]),
        body["version"],
        body.get("is_holdout", False),
        tuple(model.actions_at(body["version"])),
        body.get("follows"),
    )
