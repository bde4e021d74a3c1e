"""The life of an experiment as it is declared: shares by time, units by what the share has grown, words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from headstart.errors import OptionError
from headstart.serve.life import ExperimentLife, RampStep, read_life

DAY = 86_400


def micro(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp()) * 1_000_000


def read(**table: Any) -> ExperimentLife:
    life = read_life("experiments.ads.life", table, "image")
    assert life is not None
    return life


def test_shares_by_hand():
    """Nothing before the first step, each step until the next, nothing from the end on."""
    life = read(ramp=[["2026-12-01T00:00Z", 0.01], ["2026-12-03T00:00Z", 1.0]], end="2026-12-05T00:00Z")
    times = ("2026-11-30T23:59:59Z", "2026-12-01T00:00:00Z", "2026-12-02T23:59:59Z", "2026-12-03T00:00:00Z")
    assert [life.share_at(micro(time)) for time in times] == [0.0, 0.01, 0.01, 1.0]
    assert [life.share_at(micro(time)) for time in ("2026-12-04T23:59:59Z", "2026-12-05T00:00:00Z")] == [1.0, 0.0]
    assert read(end="2026-12-05T00:00Z").share_at(0) == 1.0  # it has started, whenever that was


def test_a_ramp_up_is_a_step_a_day_each_as_many_times_the_one_before():
    """From 1 % to 100 % in two days: 0.01, 0.01 * 100^(1/2) = 0.1, 1."""
    life = read(start=datetime(2026, 12, 1, tzinfo=UTC), ramp_up={"from": 0.01, "to": 1.0, "days": 2})
    begins = micro("2026-12-01T00:00Z")
    shares = enumerate([0.01, 0.1, 1.0])
    assert life.steps == tuple(RampStep(begins + day * DAY * 1_000_000, share) for day, share in shares)
    assert read_life("", life.as_dict(), "image") == life


def test_units_that_were_left_out_come_in_as_the_share_grows():
    """Of 10 % left out 90 %: 4/9 of these make it 50 %. Who was shown another action keeps it."""
    life = ExperimentLife((RampStep(10, 0.1), RampStep(20, 0.5), RampStep(30, 1.0)), end=40)
    assert life.share_for(15, 25, is_safe=True) == pytest.approx(4 / 9)
    assert life.share_for(15, 35, is_safe=True) == 1.0
    assert life.share_for(None, 25, is_safe=False) == life.share_for(25, 26, is_safe=True) == 0.5
    assert [life.keeps(15, 25, is_safe=is_safe) for is_safe in (True, False)] == [False, True]
    assert life.keeps(21, 25, is_safe=True)
    assert not life.keeps(5, 25, is_safe=False)  # drawn before it began
    assert not life.keeps(25, 45, is_safe=False)  # and it is over


def test_it_says_where_it_is():
    life = read(ramp=[["2026-12-01T00:00Z", 0.1], ["2026-12-03T00:00Z", 1.0]], end="2026-12-24T18:00Z")
    told = {stage: life.describe(micro(time), "image") for stage, time in {
        "before": "2026-11-01T00:00Z", "ramping": "2026-12-02T00:00Z", "running": "2026-12-04T00:00Z",
        "over": "2027-01-01T00:00Z",
    }.items()}  # fmt: skip
    assert {stage: each["stage"] for stage, each in told.items()} == {stage: stage for stage in told}
    assert [each["text"] for each in told.values()] == [
        "not started: image for all users until 1 December 2026, 00:00 UTC, then 10 % of them",
        "ramping up: 10 % of the users until 3 December 2026, 00:00 UTC, then 100 %",
        "running for 100 % of the users until 24 December 2026, 18:00 UTC",
        "over since 24 December 2026, 18:00 UTC: image for all users",
    ]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "says nothing"),
    "unknown": ({"begin": "2026-12-01T00:00Z"}, "has no setting 'begin'"),
    "no zone": ({"start": "2026-12-01T00:00"}, r"life.start must be a time with its zone"),
    "no time": ({"end": "soon"}, r"life.end must be a time"),
    "end first": ({"start": "2026-12-01T00:00Z", "end": "2026-12-01T00:00Z"}, "must come after the start"),
    "ramp and start": ({"start": "2026-12-01T00:00Z", "ramp": [["2026-12-01T00:00Z", 0.1]]}, "leave start"),
    "shrinking": ({"ramp": [["2026-12-01T00:00Z", 0.5], ["2026-12-02T00:00Z", 0.5]]}, r"ramp\[1\] must be later"),
    "no share": ({"ramp": [["2026-12-01T00:00Z", 0.0]]}, "must be a share above 0"),
    "no start": ({"ramp_up": {"from": 0.1, "days": 3}}, "ramp_up needs experiments.ads.life.start"),
    "no days": ({"start": "2026-12-01T00:00Z", "ramp_up": {"from": 0.1}}, "days must be a whole number"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_life_that_cannot_be_is_refused_by_name(name):
    table, message = BAD[name]
    with pytest.raises(OptionError, match=message):
        read(**table)


def test_without_a_safe_action_there_is_no_life():
    with pytest.raises(OptionError, match="life needs safe_action"):
        read_life("experiments.ads.life", {"start": "2026-12-01T00:00Z"}, None)
