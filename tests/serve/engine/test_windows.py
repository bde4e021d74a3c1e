"""Missing outcomes: with a default, every decision is learnt when its window closes, whatever came of it."""

import time

import numpy as np
import pytest

from headstart.errors import OptionError
from headstart.serve import Engine
from headstart.serve.engine.asks import CloseAsk
from tests.serve.experiments import Clock, make_config

WINDOW = 60.0


def open_engine(address, clock, **settings):
    settings = {"outcome_window": WINDOW, "default_outcome": 0.0, "oracle": "ABTest", **settings}
    return Engine.open(make_config(address, **settings), clock=clock)


def learnt(engine):
    """Number and sum of the outcomes learnt, over the actions."""
    means = [action["online"] for action in engine.state("ads")["actions"]]
    return sum(m["n"] for m in means), sum(m["n"] * (m["mean"] or 0.0) for m in means)


def test_windows_that_two_ask_to_close_in_one_turn_are_closed_once(tmp_path):
    clock = Clock()
    config = make_config(str(tmp_path / "e.sqlite"), outcome_window=60, default_outcome=0.0)
    with Engine.open(config, clock=clock) as engine:
        engine.decide("ads")
        clock.seconds += 61
        answers = engine._submit("ads", [CloseAsk("ads"), CloseAsk("ads")]).wait()
        assert sum(answers) <= 1  # the engine's own thread may have been first
        assert engine.state("ads")["learnt"] == 1


def test_nothing_is_learnt_before_the_window_closes(address):
    clock = Clock()
    with open_engine(address, clock) as engine:
        engine.decide("ads", event_id="clicked")
        engine.decide("ads", event_id="silent")
        assert engine.outcome("ads", "clicked", 1.0).status == "waiting"
        clock.seconds += WINDOW
        assert engine.close_windows() == 0
        assert learnt(engine) == (0, 0.0)
        clock.seconds += 1e-3
        assert engine.close_windows() in (0, 2)  # the engine's own thread may have been first
        assert learnt(engine) == (2, 1.0)
        state = engine.state("ads")
        assert (state["defaults"], state["waiting"]) == (1, 0)
        assert engine.outcome("ads", "silent", 1.0).status == "late"
        assert [row["outcome"] for row in engine.export("ads")] == [1.0, 0.0]


def test_a_running_engine_closes_windows_by_itself(address):
    clock = Clock()
    with open_engine(address, clock) as engine:
        engine.decide("ads", event_id="a")
        clock.seconds += WINDOW + 1
        for _ in range(200):
            if learnt(engine)[0]:
                break
            time.sleep(0.02)
        assert learnt(engine) == (1, 0.0)


def test_the_running_rate_is_not_biased_by_quick_clicks(address):
    """Clicks come within seconds and non-clicks never. At every moment the rate learnt is that of all the users whose
    window is over; learning outcomes as they come would say 100 %, learning the default at the end and clicks at once
    would be too high by the clicks of the open windows."""
    rng, clock = np.random.default_rng(5), Clock()
    with open_engine(address, clock) as engine:
        clicks = rng.random(600) < 0.2
        for n in range(0, 600, 30):
            decisions = engine.decide_many("ads", [{"event_id": str(n + i)} for i in range(30)])
            clock.seconds += 5.0
            engine.outcome_many("ads", [(d.event_id, 1.0) for d in decisions if clicks[int(d.event_id)]])
            clock.seconds += 10.0
            engine.close_windows()
            n_closed, total = learnt(engine)
            assert n_closed == max(0, n - 90)  # a group is asked at t and closed after t + 60, at t + 75
            assert total == clicks[:n_closed].sum()


def test_a_refold_learns_the_same(address):
    clock = Clock()
    with open_engine(address, clock, oracle="ThompsonBeta") as engine:
        for n in range(40):
            engine.decide("ads", event_id=str(n))
            if n % 3 == 0:
                engine.outcome("ads", str(n), 1.0)
            clock.seconds += 7.0
            engine.close_windows()
        before = engine.fingerprint("ads")
    with open_engine(address, clock, oracle="ThompsonBeta") as engine:
        assert engine.fingerprint("ads") == before
        engine.freeze("ads")
        clock.seconds += 1e4
        engine.close_windows()
        frozen = engine.state("ads")
        assert frozen["learnt"] == 40
        assert sum(a["policy"]["counts"] for a in frozen["actions"]) < 40
        engine.unfreeze("ads")
        assert sum(a["policy"]["counts"] for a in engine.state("ads")["actions"]) == 40
        after = engine.fingerprint("ads")
    with open_engine(address, clock, oracle="ThompsonBeta") as engine:
        assert engine.fingerprint("ads") == after


def test_a_default_needs_a_window():
    with pytest.raises(OptionError, match=r"default_outcome needs experiments.ads.outcome_window"):
        make_config("x", default_outcome=0.0)
