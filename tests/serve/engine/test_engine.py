"""The engine on both stores: what a caller may rely on."""

import asyncio
import threading

import pytest

from headstart.errors import ActionError, ContextError, OptionError, OutcomeError
from headstart.serve import ConflictError, Engine, StoreUnavailable, UnknownExperiment
from headstart.serve.errors import NotNow, PolicyFailed
from tests.serve.experiments import CONTEXTS, Clock, make_config, make_log

USER = {"age": 31.5, "likes": "videos"}


def open_engine(address, clock=None, **settings):
    return Engine.open(make_config(address, **settings), clock=clock or Clock())


def test_a_retry_gets_the_same_decision(address):
    with open_engine(address, contexts=CONTEXTS) as engine:
        first = engine.decide("ads", USER, event_id="u1")
        engine.outcome("ads", "u1", 1.0)
        assert engine.decide("ads", USER, event_id="u1") == first
        assert engine.state("ads")["decisions"] == 1


def test_a_retry_gets_the_same_decision_after_a_restart_and_another_configuration(address):
    with open_engine(address) as engine:
        first = engine.decide("ads", event_id="u1")
    with open_engine(address, epsilon=0.5, actions=["image", "video", "text"]) as engine:
        assert engine.decide("ads", event_id="u1") == first


def test_the_same_id_with_another_context_is_a_conflict(address):
    with open_engine(address, contexts=CONTEXTS) as engine:
        engine.decide("ads", USER, event_id="u1")
        with pytest.raises(ConflictError, match="'u1' belongs to a decision for another context"):
            engine.decide("ads", {**USER, "age": 32}, event_id="u1")
        with pytest.raises(ConflictError):
            engine.decide("ads", USER, available=["image"], event_id="u1")
        assert engine.state("ads")["decisions"] == 1


def test_two_asks_with_one_id_in_one_group_are_one_decision(address):
    with open_engine(address) as engine:
        first, second = engine.decide_many("ads", [{"event_id": "u1"}, {"event_id": "u1"}])
        assert first == second
        assert engine.state("ads")["decisions"] == 1


def test_a_repeated_outcome_is_applied_once(address):
    with open_engine(address) as engine:
        engine.decide("ads", event_id="u1")
        assert [engine.outcome("ads", "u1", 1.0).status for _ in range(3)] == ["applied", "duplicate", "duplicate"]
        state = engine.state("ads")
        assert (state["learnt"], state["duplicates"]) == (1, 2)
        assert sum(action["policy"]["counts"] for action in state["actions"]) == 1


def test_the_first_of_two_different_outcomes_counts_and_the_second_is_kept(address):
    with open_engine(address) as engine:
        decision = engine.decide("ads", event_id="u1")
        engine.outcome("ads", "u1", 1.0)
        assert engine.outcome("ads", "u1", 0.0).status == "conflicting"
        assert engine.outcome("ads", "u1", 0.5).status == "conflicting"
        state = engine.state("ads")
        assert state["conflicting"] == 1
        shown = next(a for a in state["actions"] if a["action"] == decision.action)
        assert shown["online"]["mean"] == 1.0
        assert [event.kind for event in engine.events("ads")][-1] == "conflicting"


def test_an_outcome_that_the_policy_cannot_learn_is_refused_also_while_it_is_built_anew(address):
    """After a roll-back the policy was built at the next decision; until then every outcome was taken, kept and never
    learnt."""
    with open_engine(address, oracle="ThompsonBeta") as engine:
        engine.decide("ads", event_id="u1")
        engine.roll_back("ads", 1)
        with pytest.raises(OutcomeError, match=r"must be in \[0, 1\]"):
            engine.outcome("ads", "u1", 5.0)


def test_an_outcome_beyond_all_numbers_is_refused(address):
    with open_engine(address) as engine, pytest.raises(OutcomeError, match="must be a finite number"):
        engine.outcome("ads", "u1", 10**400)


def test_an_outcome_of_an_unknown_decision_dangles_for_good(address):
    """A decision that comes after its outcome cannot have caused it."""
    with open_engine(address) as engine:
        assert engine.outcome("ads", "u1", 1.0).status == "dangling"
        assert engine.outcome("ads", "u1", 1.0).status == "duplicate"
        engine.decide("ads", event_id="u1")
        state = engine.state("ads")
        assert (state["dangling"], state["learnt"], state["waiting"]) == (1, 0, 1)
        assert engine.outcome("ads", "u1", 0.0).status == "applied"


def test_an_outcome_after_its_window_is_kept_and_not_learnt(address):
    clock = Clock()
    with open_engine(address, clock, outcome_window=60) as engine:
        engine.decide("ads", event_id="in time")
        engine.decide("ads", event_id="late")
        clock.seconds += 60
        assert engine.outcome("ads", "in time", 1.0).status == "applied"
        clock.seconds += 0.001
        assert engine.outcome("ads", "late", 1.0).status == "late"
        assert engine.outcome("ads", "late", 1.0).status == "duplicate"
        assert engine.outcome("ads", "in time", 1.0).status == "duplicate"
        state = engine.state("ads")
        assert (state["late"], state["learnt"]) == (1, 1)


def test_a_clock_that_jumps_back_does_not_make_time_go_back(address):
    clock = Clock()
    with open_engine(address, clock) as engine:
        engine.decide("ads", event_id="a")
        clock.seconds -= 3600
        engine.decide("ads", event_id="b")
        times = [event.time for event in engine.events("ads")]
        assert times == sorted(times)


def test_outcomes_in_any_order_are_learnt(address):
    with open_engine(address) as engine:
        ids = [engine.decide("ads").event_id for _ in range(20)]
        for event_id in reversed(ids):
            assert engine.outcome("ads", event_id, 0.0).status == "applied"
        assert engine.state("ads")["learnt"] == 20


def test_the_state_after_a_restart_is_the_state_before(address):
    with open_engine(address, contexts=CONTEXTS, log=make_log(), evaluator="ExactMatching") as engine:
        for n in range(50):
            decision = engine.decide("ads", {"age": float(n % 3), "likes": "videos"})
            engine.outcome("ads", decision.event_id, float(n % 2))
        before = engine.fingerprint("ads")
    with open_engine(address, contexts=CONTEXTS, log=make_log(), evaluator="ExactMatching") as engine:
        assert engine.fingerprint("ads") == before


def test_frozen_outcomes_are_learnt_when_it_thaws(address):
    with open_engine(address) as engine:
        ids = [engine.decide("ads").event_id for _ in range(4)]
        engine.outcome("ads", ids[0], 1.0)
        engine.freeze("ads", "a look at the numbers")
        version = engine.state("ads")["version"]
        assert engine.outcome("ads", ids[1], 1.0).status == "waiting"
        assert engine.decide("ads").version == version
        assert sum(a["policy"]["counts"] for a in engine.state("ads")["actions"]) == 1
        engine.unfreeze("ads")
        engine.outcome("ads", ids[2], 1.0)
        assert sum(a["policy"]["counts"] for a in engine.state("ads")["actions"]) == 3


def test_a_roll_back_restores_the_state_bit_for_bit(address):
    settings = {"contexts": CONTEXTS, "log": make_log(), "evaluator": "ExactMatching", "oracle": "ThompsonBeta"}
    with open_engine(address, **settings) as engine:
        ids = [engine.decide("ads", USER).event_id for _ in range(12)]
        for event_id in ids[:6]:
            engine.outcome("ads", event_id, 1.0)
        version, before = engine.state("ads")["version"], engine.state("ads")["actions"]
        for event_id in ids[6:9]:
            engine.outcome("ads", event_id, 0.0)
        engine.roll_back("ads", version)
        after = engine.state("ads")["actions"]
        assert [a["policy"] for a in after] == [a["policy"] for a in before]
        engine.outcome("ads", ids[9], 1.0)
        assert sum(a["policy"]["counts"] - a["virtual_plays"] for a in engine.state("ads")["actions"]) == 7
        with pytest.raises(NotNow, match="to_version must be a version up to"):
            engine.roll_back("ads", 10**9)
        here = engine.fingerprint("ads")
    with open_engine(address, **settings) as engine:
        assert engine.fingerprint("ads") == here


def test_a_withdrawn_log_leaves_what_users_taught(address):
    settings = {"contexts": CONTEXTS, "log": make_log(), "evaluator": "IPSWeighting", "schedule": "batch"}
    with open_engine(address, **settings) as engine:
        assert sum(a["virtual_plays"] for a in engine.state("ads")["actions"]) == 200
        for n in range(5):
            engine.outcome("ads", engine.decide("ads", USER).event_id, float(n))
        engine.withdraw_log("ads", "it was wrong")
        state = engine.state("ads")
        assert sum(a["policy"]["counts"] for a in state["actions"]) == 5
        assert state["log"] is None
    with open_engine(address, **settings) as engine:  # the same log does not come back by itself
        assert engine.state("ads")["log"] is None


def test_a_new_configuration_learns_again_what_still_fits(address):
    with open_engine(address, oracle="UCB") as engine:
        for outcome in (0.5, 3.0):
            engine.outcome("ads", engine.decide("ads").event_id, outcome)
    with open_engine(address, oracle="ThompsonBeta") as engine:  # takes outcomes in [0, 1]
        state = engine.state("ads")
        assert sum(a["policy"]["counts"] for a in state["actions"]) == 1
        assert (state["not_learnable"], state["learnt"]) == (1, 2)
        with pytest.raises(OutcomeError, match=r"in \[0, 1\]"):
            engine.outcome("ads", engine.decide("ads").event_id, 3.0)


def test_the_window_of_an_experiment_is_fixed(address):
    open_engine(address, outcome_window=60).close()
    with pytest.raises(OptionError, match=r"outcome_window was 60.0 and cannot become 61.0"):
        open_engine(address, outcome_window=61)


def test_bad_requests_are_refused_and_leave_nothing(address):
    with open_engine(address, contexts=CONTEXTS) as engine:
        n = len(engine.events("ads"))
        for context, match in [
            ({}, "'age' is missing"),
            ({**USER, "age": "old"}, "'age' must be a number"),
            ({**USER, "age": True}, "'age' must be a number"),
            ({**USER, "age": float("nan")}, "must be a finite number"),
            ({**USER, "age": 10**400}, "must be a finite number"),
            ({**USER, "likes": 3}, "no category 3"),
            ({**USER, "mood": 1}, "unknown context column 'mood'"),
        ]:
            with pytest.raises(ContextError, match=match):
                engine.decide("ads", context)
        for available in ([], ["radio"]):
            with pytest.raises(ActionError):
                engine.decide("ads", USER, available=available)
        for event_id in ("", "x" * 201, "a\nb", 7):
            with pytest.raises(OptionError, match="event_id must be"):
                engine.decide("ads", USER, event_id=event_id)
        for outcome in ("won", None, float("inf")):
            with pytest.raises(OutcomeError):
                engine.outcome("ads", "u1", outcome)
        with pytest.raises(UnknownExperiment, match="no experiment 'adds'; known: ads"):
            engine.decide("adds", USER)
        assert len(engine.events("ads")) == n


def test_an_error_in_a_batch_stands_for_its_own(address):
    with open_engine(address, contexts=CONTEXTS) as engine:
        good, bad, again = engine.decide_many(
            "ads", [{"context": USER, "event_id": "a"}, {"context": {}}, {"context": USER, "event_id": "b"}]
        )
        assert isinstance(bad, ContextError)
        assert (good.event_id, again.event_id) == ("a", "b")
        receipts = engine.outcome_many("ads", [("a", 1.0), ("b", "x"), ("c", 0.0)])
        assert isinstance(receipts[1], OutcomeError)
        assert [receipts[0].status, receipts[2].status] == ["applied", "dangling"]


def test_only_available_actions_are_drawn(address):
    with open_engine(address, actions=["a", "b", "c"], holdout=0.5) as engine:
        for _ in range(30):
            decision = engine.decide("ads", available=["c", "a"])
            assert decision.action in ("a", "c")
            assert decision.probabilities[1] == 0.0
            assert decision.propensity == decision.probabilities["abc".index(decision.action)]


def test_threads_and_an_event_loop_may_ask_at_once(address):
    with open_engine(address) as engine:

        def run():
            for _ in range(20):
                engine.outcome("ads", engine.decide("ads").event_id, 1.0)

        async def many():
            decisions = await asyncio.gather(*(engine.decide_async("ads") for _ in range(40)))
            return await asyncio.gather(*(engine.outcome_async("ads", d.event_id, 0.0) for d in decisions))

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        receipts = asyncio.run(many())
        for thread in threads:
            thread.join()
        assert {receipt.status for receipt in receipts} == {"applied"}
        state = engine.state("ads")
        assert (state["decisions"], state["learnt"]) == (120, 120)
        sequences = [event.sequence for event in engine.events("ads")]
        assert sequences == list(range(1, 242))


def test_an_async_conflict_is_raised(address):
    with open_engine(address, contexts=CONTEXTS) as engine:
        engine.decide("ads", USER, event_id="u1")

        async def ask():
            await engine.decide_async("ads", {**USER, "age": 1}, event_id="u1")

        with pytest.raises(ConflictError):
            asyncio.run(ask())


def test_exported_rows_have_the_outcome_that_counts(address):
    with open_engine(address, contexts=CONTEXTS) as engine:
        decision = engine.decide("ads", USER, event_id="a")
        engine.decide("ads", USER, event_id="b")
        engine.outcome("ads", "a", 1.0)
        first, second = engine.export("ads")
        assert first["context"] == USER
        assert (first["action"], first["propensity"]) == (decision.action, decision.propensity)
        assert tuple(first["probabilities"]) == decision.probabilities
        assert (first["outcome"], second["outcome"]) == (1.0, None)


def test_an_experiment_whose_fold_fails_is_mended(tmp_path, monkeypatch):
    """Reading back fails once: that experiment stops, with an error, until it can be folded anew."""
    monkeypatch.setattr("headstart.serve.engine.ledger._MEND_SECONDS", 0.0)
    clock, address = Clock(), str(tmp_path / "events.sqlite")
    with open_engine(address, clock, outcome_window=60, default_outcome=0.0) as engine:
        engine.decide("ads")
        clock.seconds += 61
        ledger = engine._ledgers["ads"]
        monkeypatch.setattr(engine._writers["ads"], "_run_idle", lambda: None)

        def fail(*_, **__):
            raise StoreUnavailable("the disk is gone")

        ledger.fold._rows = fail
        with pytest.raises(StoreUnavailable, match="cannot be folded: event 3: the disk is gone"):
            engine.close_windows()
        with pytest.raises(StoreUnavailable, match="cannot be folded"):
            engine.decide("ads")
        assert "ads" in engine.health()["broken"]
        ledger._mend()
        assert engine.state("ads")["learnt"] == 1
        here = engine.fingerprint("ads")
    with open_engine(address, clock, outcome_window=60, default_outcome=0.0) as engine:
        assert engine.fingerprint("ads") == here


def test_a_policy_that_raises_fails_alone(tmp_path, monkeypatch):
    with open_engine(str(tmp_path / "events.sqlite"), contexts=CONTEXTS, oracle="LinUCB") as engine:

        def fail(*_):
            raise ZeroDivisionError("mine")

        monkeypatch.setattr(engine._ledgers["ads"].fold.policy, "probabilities", fail)
        with pytest.raises(PolicyFailed, match="ZeroDivisionError: mine"):
            engine.decide("ads", USER)
        assert len(engine.events("ads")) == 1
