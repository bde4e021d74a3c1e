"""Looking at an experiment that is busy: the answer comes at once."""

import threading
import time

import pytest

from headstart.serve import Engine, StoreUnavailable
from tests.serve.experiments import make_config
from tests.serve.waiting import wait

N = 100_000


def _played(state):
    return sum(action["policy"]["counts"] for action in state["actions"])


def test_a_state_is_told_at_once_while_100_000_events_are_folded_anew(long_store):
    with Engine.open(make_config(long_store)) as engine:
        before = engine.state("ads")
        version = before["version"]
        rolling = threading.Thread(target=engine.roll_back, args=("ads", version - 10))
        rolling.start()
        asked, behind = [], []
        while rolling.is_alive():
            started = time.perf_counter()
            state = engine.look("ads", patience=0.02).state
            asked.append(time.perf_counter() - started)
            behind.append(state["behind"])
            assert len(behind) < 10_000
            if state["behind"] is not None:
                assert state == {**before, "behind": state["behind"]}
        rolling.join()
        state = engine.state("ads")
        assert "it is being folded anew" in behind
        assert sorted(asked)[len(asked) // 2] < 0.1
        assert _played(state) == N // 2 - 10


def test_a_state_is_told_while_the_store_hangs(tmp_path):
    """The thread that writes stands still in the middle of a turn."""
    with Engine.open(make_config(str(tmp_path / "s.sqlite"))) as engine:
        ledger = engine._ledgers["ads"]
        with ledger.lock:
            told = []
            thread = threading.Thread(target=lambda: told.append(engine.state("ads")))
            thread.start()
            thread.join(5)
            assert told[0]["behind"] == "it is busy"
        assert engine.state("ads")["behind"] is None


def test_a_broken_experiment_tells_what_was_last_seen(tmp_path):
    with Engine.open(make_config(str(tmp_path / "s.sqlite"))) as engine:
        engine.outcome("ads", engine.decide("ads").event_id, 1.0)
        state = engine.state("ads")
        engine._ledgers["ads"].stay_broken("a test")
        assert engine.state("ads") == {**state, "behind": "it cannot be folded: a test"}
        with pytest.raises(StoreUnavailable, match="cannot be folded: a test"):
            engine.decide("ads")


def test_what_was_rolled_back_is_folded_anew_before_anybody_asks(tmp_path):
    with Engine.open(make_config(str(tmp_path / "s.sqlite"))) as engine:
        for _ in range(3):
            engine.outcome("ads", engine.decide("ads").event_id, 1.0)
        engine.roll_back("ads", 0)
        wait(lambda: engine._ledgers["ads"].fold.is_settled)
        assert _played(engine.state("ads")) == 0
