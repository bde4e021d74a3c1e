"""One wild value must not poison a policy: refused or clipped as declared, within what the log suggests otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from headstart.errors import ContextError, LogError, OutcomeError
from headstart.logs.log import Log
from headstart.serve import Engine
from headstart.serve.config import read_experiment
from headstart.serve.engine.bounds import Bounds, suggest_ranges
from headstart.serve.engine.history import Mark
from headstart.serve.engine.opening import open_store
from headstart.serve.engine.sources import Sources
from headstart.serve.engine.verification import verify_store
from tests.serve.experiments import Clock, make_config

AGE = {"age": "number"}
BOUNDED = {"contexts": {"age": {"range": [0, 120]}}, "outcome_range": [0, 1], "oracle": "LinUCB"}


def open_engine(address: str, **settings: Any) -> Engine:
    return Engine.open(make_config(str(address), **{"contexts": AGE, **settings}), clock=Clock())


def log_by_age(n: int = 2000, wild: Mapping[str, float] | None = None) -> Log:
    """Users over 49 want the image, others the video; row 77 may be wild in a column."""
    rng = np.random.default_rng(0)
    ages, actions = rng.uniform(18, 80, n), rng.integers(0, 2, n)
    outcomes = (rng.random(n) < np.where(actions == (ages > 49), 0.86, 0.06)).astype(float)
    columns = {"age": ages, "outcome": outcomes}
    for name, value in (wild or {}).items():
        columns[name][77] = value
    names = np.array(["video", "image"])
    return Log(names[actions], outcomes, contexts={"age": ages}, propensities=np.full(n, 0.5))


def live(engine: Engine, n: int = 120, seed: int = 1) -> float:
    """The expected outcome of users to whom the policy decides, 0.86 at best, 0.06 at worst, 0.46 by chance."""
    rng, worth = np.random.default_rng(seed), 0.0
    for _ in range(n):
        age = rng.uniform(18, 80)
        decision = engine.decide("ads", {"age": age})
        chances = dict(zip(decision.actions, decision.probabilities, strict=True))
        best = "image" if age > 49 else "video"
        worth += 0.06 + 0.8 * chances[best]
        engine.outcome("ads", decision.event_id, float(rng.random() < (0.86 if decision.action == best else 0.06)))
    return worth / n


@pytest.mark.parametrize(("age", "outcome"), [(1e200, 1.0), (30.0, 1e6), (-1e300, 1e300)])
def test_one_wild_user_does_not_undo_what_the_log_taught(tmp_path, age, outcome):
    """Before there were bounds, each of these took the default policy from 0.80 to about 0.54 (chance is 0.46)."""
    with open_engine(tmp_path / "s.sqlite", log=log_by_age(), oracle=None) as engine:
        assert live(engine) > 0.75
        engine.outcome("ads", engine.decide("ads", {"age": age}, event_id="wild").event_id, outcome)
        assert live(engine, seed=2) > 0.75
        state = engine.state("ads")
        assert (state["clipped_contexts"], state["clipped_outcomes"]) == (abs(age) > 100, outcome > 1.0)
        kept = [event for event in engine.events("ads") if event.event_id == "wild"]
        assert (kept[0].body["context"]["age"], kept[1].body["outcome"]) == (age, outcome)


@pytest.mark.parametrize("wild", [{"age": 1e200}, {"outcome": 1e300}, {"age": -1e7, "outcome": 1e6}])
def test_one_wild_row_of_the_log_does_not_undo_the_others(tmp_path, wild):
    """Before, age = 1e200 in one row of 2,000 left 0.45 and an outcome of 1e300 was 'models must be finite'."""
    with open_engine(tmp_path / "s.sqlite", log=log_by_age(wild=wild), oracle=None) as engine:
        assert live(engine) > 0.75
        outlying = engine.state("ads")["log"]["ranges"]["outlying"]
        assert outlying == {"outcome": int("outcome" in wild), "contexts": {"age": 1} if "age" in wild else {}}


def test_an_outcome_beyond_all_measure_is_refused_where_nothing_is_declared(tmp_path):
    """1e300 made ThompsonNormal draw all actions alike for ever."""
    with open_engine(tmp_path / "s.sqlite", contexts={}, oracle="ThompsonNormal") as engine:
        for i in range(60):
            decision = engine.decide("ads")
            engine.outcome("ads", decision.event_id, float(i % 10) / 10 + (decision.action == "image"))
        before = engine.state("ads")["actions"]
        event_id = engine.decide("ads").event_id
        with pytest.raises(
            OutcomeError, match=r"within ±1e\+12, got 1e\+300: declare experiments\.ads\.outcome_range"
        ):
            engine.outcome("ads", event_id, 1e300)
        assert [a["chance"] for a in engine.state("ads")["actions"]] == [a["chance"] for a in before]
        assert max(a["chance"] for a in before) > 0.9


def test_a_number_beyond_all_measure_is_refused_where_nothing_is_declared(address):
    with open_engine(address, oracle="LinUCB") as engine:
        with pytest.raises(
            ContextError, match=r"'age' must be within ±1e\+12, got 1e\+200: declare .*contexts\.age = "
        ):
            engine.decide("ads", {"age": 1e200})
        engine.decide("ads", {"age": -1e12})
    with open_engine(address, oracle="LinUCB", contexts={"age": {"range": [-1e300, 1e300]}}) as engine:
        engine.decide("ads", {"age": 1e200})


def test_what_lies_outside_a_declared_range_is_refused_and_not_recorded(address):
    with open_engine(address, **BOUNDED) as engine:
        for age in (-1, 120.5, 1e200):
            with pytest.raises(ContextError, match=r"'age' must be in \[0, 120\], got .*contexts\.age\.range"):
                engine.decide("ads", {"age": age})
        event_id = engine.decide("ads", {"age": 120}).event_id
        with pytest.raises(OutcomeError, match=r"outcome must be in \[0, 1\], got 1e\+06 .*ads\.outcome_range"):
            engine.outcome("ads", event_id, 1e6)
        assert len(engine.events("ads")) == 2
        assert engine.outcome("ads", event_id, 1).status == "applied"
        declared = {"source": "declared"}
        assert engine.state("ads")["bounds"] == {
            "outcome": {"low": 0.0, "high": 1.0, **declared},
            "contexts": {"age": {"low": 0.0, "high": 120.0, **declared}},
        }


def test_the_policys_own_range_still_holds(tmp_path):
    with open_engine(tmp_path / "s.sqlite", oracle="ThompsonBeta", outcome_range=[-5, 5], outside="clip") as engine:
        event_id = engine.decide("ads", {"age": 1}).event_id
        with pytest.raises(OutcomeError, match=r"in \[0, 1\] for this experiment's policy"):
            engine.outcome("ads", event_id, 3.0)


def test_what_is_clipped_is_recorded_as_it_came_and_learnt_as_the_nearest_value_within(address, tmp_path):
    with open_engine(address, **BOUNDED, outside="clip") as engine:
        wild = engine.decide("ads", {"age": 1e200}, event_id="wild")
        assert wild.probabilities == engine.decide("ads", {"age": 120.0}).probabilities
        engine.outcome("ads", "wild", 1e6)
        clipped = engine.state("ads")
        assert (clipped["clipped_contexts"], clipped["clipped_outcomes"]) == (1, 1)
        assert [a["online"]["mean"] for a in clipped["actions"] if a["action"] == wild.action] == [1.0]
        row = next(iter(engine.export("ads")))
        assert (row["context"], row["outcome"]) == ({"age": 1e200}, 1e6)
        past = engine.past("ads")
        page = past.read_page(Mark(0, ""), [], past.terms(), 10)
        assert page.heard.outcomes == [1.0]
        live, policy = engine.fingerprint("ads"), clipped["actions"]
    store = open_store(address)
    verdict = verify_store(store.query)
    store.close()
    assert (verdict.faults, verdict.fingerprints["ads"]) == ([], live)
    with open_engine(tmp_path / "twin.sqlite", **BOUNDED) as engine:  # the same, had 120 and 1 come
        engine.decide("ads", {"age": 120.0}, event_id="wild")
        engine.outcome("ads", "wild", 1.0)
        assert [a["policy"] for a in engine.state("ads")["actions"]] == [a["policy"] for a in policy]


def test_a_range_that_is_declared_later_heals_what_was_learnt(address):
    with open_engine(address, oracle="LinUCB") as engine:
        decision = engine.decide("ads", {"age": 1e9}, event_id="wild")
        engine.outcome("ads", "wild", 1e6)
        assert [a["online"]["mean"] for a in engine.state("ads")["actions"] if a["action"] == decision.action] == [
            1e6
        ]
    with open_engine(address, **BOUNDED) as engine:
        state = engine.state("ads")
        assert [a["online"]["mean"] for a in state["actions"] if a["action"] == decision.action] == [1.0]
        assert all(abs(a["policy"]["means"] or 0.0) <= 1.0 for a in state["actions"])
        live = engine.fingerprint("ads")
    with open_engine(address, **BOUNDED) as engine:
        assert engine.fingerprint("ads") == live


def test_the_log_suggests_ranges_that_its_event_keeps(address):
    log = log_by_age(200)
    settings = {"log": log, "evaluator": "IPSWeighting", "oracle": "UCB"}
    with open_engine(address, **settings) as engine:
        event = engine.last_event("ads", "warm_start")
        low, high = float(log.contexts.min()), float(log.contexts.max())
        assert event.body["ranges"]["contexts"]["age"] == [low - (high - low), high + (high - low)]
        assert event.body["ranges"]["outcome"] == [-1.0, 2.0]
        assert engine.state("ads")["bounds"]["outcome"] == {"low": -1.0, "high": 2.0, "source": "log"}
        decision = engine.decide("ads", {"age": 1e200}, event_id="wild")  # nothing is refused
        engine.outcome("ads", "wild", 1e6)
        plays = {a["action"]: a for a in engine.state("ads")["actions"]}
        assert plays[decision.action]["online"]["mean"] == 2.0
        live = engine.fingerprint("ads")
        engine._ledgers["ads"].save_snapshot(every=1)
    with open_engine(address, **settings) as engine:  # from the snapshot
        assert engine.fingerprint("ads") == live
        engine.withdraw_log("ads")
        assert engine.state("ads")["bounds"] == {"outcome": None, "contexts": {}}
    sources = Sources()
    sources.read(make_config(address, contexts=AGE, **settings).experiments["ads"])
    store = open_store(address)
    verdict = verify_store(store.query, sources)
    store.close()
    assert verdict.faults == []


def test_a_declared_range_goes_before_the_logs_and_a_default_outcome_is_always_within():
    log = log_by_age(200)
    summary = {"ranges": suggest_ranges(log)}
    table = {
        "actions": ["a", "b"],
        "contexts": {"age": {"range": [0, 9]}},
        "outcome_window": 5,
        "default_outcome": -7,
    }
    bounds = Bounds.in_force(read_experiment("ads", table), summary)
    assert (bounds.outcome, bounds.columns["age"]) == ((-7.0, 2.0), (0.0, 9.0))
    assert Bounds.in_force(read_experiment("ads", table), {"rows": 200}).outcome is None  # an old store's warm start


def test_a_log_outside_a_declared_range_is_refused_with_its_row_or_clipped(tmp_path):
    settings = {**BOUNDED, "log": log_by_age(wild={"age": 1e200}), "evaluator": "IPSWeighting"}
    with pytest.raises(LogError, match=r"the log has age = 1e\+200 in row 77, outside .*age\.range = \[0, 120\]"):
        open_engine(tmp_path / "s.sqlite", **settings)
    with open_engine(tmp_path / "s.sqlite", **settings, outside="clip") as engine:
        assert len(engine.events("ads")) == 2
