"""A clock that goes back, and one that was ahead: decisions go on, and somebody is told that windows stay open."""

import pytest

from headstart.serve import Engine
from headstart.serve.telling.alarms import find_failures
from tests.serve.experiments import Clock, make_config
from tests.serve.waiting import wait

YEAR = 365 * 86400.0


@pytest.mark.parametrize("jump", ["back", "ahead and back"])
def test_a_clock_behind_the_newest_event_is_said_once_and_when_it_is_right_again(tmp_path, caplog, jump):
    clock = Clock()
    config = make_config(str(tmp_path / "events.sqlite"), outcome_window=10, default_outcome=0.0)
    with Engine.open(config, clock=clock) as engine:
        if jump == "ahead and back":
            clock.seconds += YEAR
        engine.decide("ads")
        clock.seconds -= YEAR
        assert engine.outcome("ads", engine.decide("ads").event_id, 1.0).status == "waiting"
        wait(lambda: engine.healths()["ads"]["clock_behind"] == YEAR)
        assert find_failures(engine.healths()["ads"], None) == [
            "The clock is 31,536,000 s behind the newest event: windows stay open as long."
        ]
        assert engine.health()["is_writable"]
        clock.seconds += YEAR + 11
        wait(lambda: engine.state("ads")["learnt"] == 2)
        wait(lambda: engine.healths()["ads"]["clock_behind"] == 0.0)
    told = [record.getMessage() for record in caplog.records if "the clock" in record.getMessage()]
    assert ["behind the newest event" in told[0], "has caught up" in told[1], len(told)] == [True, True, 2]


def test_clocks_of_several_machines_may_differ_a_little(tmp_path, caplog):
    clock = Clock()
    with Engine.open(make_config(str(tmp_path / "events.sqlite")), clock=clock) as engine:
        engine.decide("ads")
        clock.seconds -= 30
        engine.decide("ads")
        engine._ledgers["ads"]._follow()
        wait(lambda: engine.healths()["ads"]["clock_behind"] == 0.0)
    assert "the clock" not in caplog.text
