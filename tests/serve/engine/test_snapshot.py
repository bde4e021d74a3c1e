"""Snapshots can only help: what is read back is what was written, and what cannot be is folded from the events."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headstart as hs
from headstart.errors import CannotBeSaved, OptionError
from headstart.serve import Engine
from headstart.serve.engine import snapshot as snapshots
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.snapshot import FORMAT, UnreadableSnapshot, read_snapshot, write_snapshot
from headstart.serve.engine.verification import verify_store
from headstart.serve.store.questions import READ_SNAPSHOT
from tests import catalogue
from tests.serve.experiments import Clock, make_config
from tests.serve.store.test_store import run_sql

LOG = catalogue.LOG
POLICIES: dict[str, Callable[[int], Any]] = {
    **catalogue.POLICIES,
    "forest": lambda seed: hs.EpsilonForest(3, 6, rng=seed),
    **{
        f"WarmStart of {name}": lambda seed, name=name: hs.WarmStart(
            hs.ThompsonNormal(3, rng=seed), catalogue.EVALUATORS[name](1), rng=seed
        )
        for name in ("ForestMatching", "PropensityMatching", "HistoricalAverage", "OutcomeModel", "DoublyRobust")
    },
}


@pytest.mark.parametrize("name", POLICIES)
def test_a_saved_policy_has_the_same_future_and_asking_changes_nothing(name: str):
    rng = np.random.default_rng(2)
    users, outcomes = rng.uniform(-1, 1, (60, 6)), rng.random(size=60)
    policy = POLICIES[name](3)
    for x, y in zip(users[:30], outcomes[:30], strict=True):
        policy.update(x, policy.play(x), y)
    policy.probabilities(users[0])  # virtual plays that were due are made
    saved = write_snapshot(policy.get_state())
    for x in users:
        policy.probabilities(x)
    assert write_snapshot(policy.get_state()) == saved
    twin = POLICIES[name](4)  # whatever its randomness was
    twin.set_state(read_snapshot(saved))
    for x, y in zip(users[30:], outcomes[30:], strict=True):
        action = policy.play(x)
        assert twin.play(x) == action
        policy.update(x, action, y)
        twin.update(x, action, y)
    assert write_snapshot(twin.get_state()) == write_snapshot(policy.get_state())


def test_a_part_that_cannot_be_saved_says_which():
    class Bare:
        def get_outcome(self, context: Any, action: int) -> None:
            return None

    with pytest.raises(CannotBeSaved, match="Bare cannot be saved: it has no get_state and set_state"):
        hs.WarmStart(hs.UCB(2), Bare()).get_state()


def test_a_state_of_another_policy_is_refused_and_changes_nothing():
    policy = catalogue.POLICIES["WarmStart"](1)
    policy.play(LOG.contexts[0])
    before = write_snapshot(policy.get_state())
    for wrong in ({}, {**policy.get_state(), "virtual_plays": np.zeros(2)}, {**policy.get_state(), "evaluator": {}}):
        with pytest.raises(OptionError, match="state needs"):
            policy.set_state(wrong)
        assert write_snapshot(policy.get_state()) == before
    with pytest.raises(OptionError, match="state must be what get_state returned, got None"):
        policy.set_state(None)


def test_every_kind_of_array_and_every_order_is_kept():
    nodes = np.array([(1, 0.5, True), (2, -0.0, False)], dtype=[("left", "<i4"), ("at", "<f8"), ("is_leaf", "?")])
    by_columns = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    state = {
        "zebra": nodes,
        "apple": {
            "two": np.uint64(2**63),
            "one": np.empty((0, 3)),
            "f": by_columns,
        },
        "words": [1, 2**100, None, True, 0.1, "text"],
    }
    back = read_snapshot(write_snapshot(state))
    assert list(back) == ["zebra", "apple", "words"]
    assert list(back["apple"]) == ["two", "one", "f"]
    assert back["zebra"].dtype == nodes.dtype
    np.testing.assert_array_equal(back["zebra"], nodes)
    assert back["apple"]["two"] == 2**63
    assert back["apple"]["one"].shape == (0, 3)
    assert back["apple"]["f"].flags.c_contiguous
    assert back["words"] == state["words"]
    with pytest.raises(OptionError, match="arrays and plain values, got function"):
        write_snapshot({"x": run_sql})


def test_numbers_without_an_end_come_back_as_they_were():
    """JSON has no infinity: it came back as nothing, and the first sum with it failed at every start."""
    back = read_snapshot(write_snapshot({"sums": [1, np.inf, -np.inf], "not one": float("nan")}))
    assert back["sums"] == [1, np.inf, -np.inf]
    assert np.isnan(back["not one"])


CONTEXTS = {"side": ["left", "right"], "extra": "number", "age": "number"}  # not in the order of their names


def _live(engine: Engine, first: int, n: int) -> float:
    """The mean outcome of users whose side decides which action is right."""
    total = 0.0
    for i in range(first, first + n):
        side = "left" if (i * 7919) % 13 < 6 else "right"
        context = {"age": float(i % 5), "side": side, "extra": float(i % 3)}
        decision = engine.decide("ads", context, event_id=f"u{i}")
        outcome = float((decision.action == "video") == (side == "left"))
        engine.outcome("ads", decision.event_id, outcome)
        total += outcome
    return total / n


def _config(address: str, contexts: dict[str, Any] = CONTEXTS) -> Any:
    return make_config(address, oracle={"name": "LinUCB", "beta": 0.5}, contexts=contexts, epsilon=0.0)


def test_columns_keep_their_order_through_a_snapshot(address: str):
    clock = Clock()
    with Engine.open(_config(address), clock=clock) as engine:
        _live(engine, 0, 60)
        engine._ledgers["ads"].save_snapshot(every=1)
        before, learnt = engine.fingerprint("ads"), _live(engine, 60, 40)
        whole = engine.fingerprint("ads")
    assert learnt > 0.9
    with Engine.open(_config(address), clock=clock) as engine:
        assert engine.fingerprint("ads") == whole != before
        assert _live(engine, 100, 40) > 0.9
    store = open_store(address)
    verdict = verify_store(store.query)
    store.close()
    assert verdict.is_sound, verdict.faults
    assert verdict.snapshots > 0


def test_columns_declared_in_another_order_are_a_change(address: str):
    """The service builds the policy anew: its columns are others."""
    with Engine.open(_config(address)) as engine:
        _live(engine, 0, 60)
    turned = dict(reversed(CONTEXTS.items()))
    with Engine.open(_config(address, turned)) as engine:
        assert _live(engine, 60, 40) > 0.9
        assert [event.kind for event in engine.events("ads")].count("configuration") == 2
    with Engine.open(_config(address, turned)) as engine:
        assert _live(engine, 100, 40) > 0.9
        assert [event.kind for event in engine.events("ads")].count("configuration") == 2


def _body(address: str) -> str:
    store = open_store(address)
    body: str = store.query(READ_SNAPSHOT, ("ads", "fold"))[0][0]
    store.close()
    return body


def _retold(body: str, change: Callable[[dict[str, Any]], None]) -> str:
    """A snapshot with a right checksum and something else in it."""
    state = read_snapshot(body)
    change(state)
    return write_snapshot(state).decode()


def _shorten(state: dict[str, Any]) -> None:
    state["policy"] = {name: np.ravel(values)[:1] for name, values in state["policy"].items()}


SPOILT: dict[str, Callable[[str], str]] = {
    "cut": lambda body: body[: len(body) // 2],
    "cut in its first line": lambda body: body[:25],
    "empty": lambda body: "",
    "zeroed": lambda body: "0" * len(body),
    "one letter changed": lambda body: body.replace('"ads"', '"bds"').replace("list", "lisp", 1),
    "of the format before": lambda body: '{"format": 1, "policy": "..."}',
    "of another version": lambda body: body.replace(f" {FORMAT} 0.", f" {FORMAT} 9.", 1),
    "of another shape": lambda body: _retold(body, _shorten),
    "without a policy": lambda body: _retold(body, lambda s: s.pop("policy")),
    "of another configuration": lambda body: _retold(body, lambda s: s["config"].update(actions=["one"])),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_snapshot_is_dropped_with_a_word_and_the_events_are_folded(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    address, clock = str(tmp_path / "events.sqlite"), Clock()
    with Engine.open(_config(address), clock=clock) as engine:
        _live(engine, 0, 20)
        engine._ledgers["ads"].save_snapshot(every=1)
        whole = engine.fingerprint("ads")
    spoilt = SPOILT[name](_body(address))
    assert spoilt != _body(address)
    run_sql(address, f"UPDATE snapshots SET body = '{spoilt}'")
    with (
        caplog.at_level(logging.WARNING, logger="headstart.serve"),
        Engine.open(_config(address), clock=clock) as engine,
    ):
        assert engine.fingerprint("ads") == whole
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) == 1
    assert told[0].startswith("a snapshot of experiment 'ads' was dropped, its events are folded: ")


def test_a_snapshot_of_another_headstart_is_no_fault_and_a_wrong_one_is(tmp_path: Path):
    address, clock = str(tmp_path / "events.sqlite"), Clock()
    with Engine.open(_config(address), clock=clock) as engine:
        _live(engine, 0, 20)
        engine._ledgers["ads"].save_snapshot(every=1)
    right = _body(address)
    for body, is_sound in (
        (SPOILT["of another version"](right), True),
        (SPOILT["without a policy"](right), False),
        (right, True),
    ):
        run_sql(address, f"UPDATE snapshots SET body = '{body}'")
        store = open_store(address)
        assert verify_store(store.query).is_sound == is_sound
        store.close()


def test_what_is_no_snapshot_says_what_is_wrong():
    with pytest.raises(UnreadableSnapshot, match=rf"begins with b'nothing', not with 'headstart-snapshot {FORMAT} "):
        read_snapshot("nothing")
    written = write_snapshot({"x": 1})
    with pytest.raises(UnreadableSnapshot, match="its checksum does not match"):
        read_snapshot(written.replace(b'"1"', b'"2"'))
    assert snapshots.is_of_this_version(written)
