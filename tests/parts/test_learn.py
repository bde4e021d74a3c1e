"""Outcomes as people have them: whole numbers, text, truths, times in every zone; what is none is said."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

import headstart as hs
from headstart.errors import OutcomeError

DECISIONS = hs.ABTest(3, rng=0).decide({"id": [1, 2, 3]}).to_arrow()


def learn(outcomes, **options):
    policy = hs.ABTest(3, rng=0)
    return policy, policy.learn(outcomes, DECISIONS, **options)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([0.0, 0.0]), 0.0),
        (pa.array([0, 1]), 1.0),
        (pa.array([True, False]), 1.0),
        (pa.array(["1.5", "2"]), 3.5),
        (pa.array(["1.5", "2"]).dictionary_encode(), 3.5),
        (pa.array([1, 2], pa.decimal128(5, 2)), 3.0),
        (pa.array([2**62 + 1, 1]), 2.0**62 + 2.0),  # the last digits are lost
    ],
)
def test_an_outcome_is_a_number_whatever_it_is_written_as(values, expected):
    policy, learnt = learn(pa.table({"id": [1, 2], "outcome": values}))
    assert (learnt.n_learnt, learnt.n_waiting) == (2, 1)
    told = policy.readings()
    assert np.nansum(told.counts * told.means) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pa.array(["1.5", "much"]), "row 2: the outcome 'outcome' must be a number, got 'much'"),
        (
            pa.array([None, datetime.date(2020, 1, 1)]),
            "row 2: the outcome 'outcome' must be a number, got datetime.date",
        ),
        (pa.array([[1.0], [2.0]]), r"row 1: the outcome 'outcome' must be a number, got \[1.0\]"),
        (pa.array([1.0, np.inf]), "row 2: the outcome 'outcome' must be finite"),
    ],
)
def test_what_is_no_number_is_named_with_its_row(values, words):
    with pytest.raises(OutcomeError, match=words):
        learn(pa.table({"id": [1, 2], "outcome": values}))


EAST = datetime.timezone(datetime.timedelta(hours=5))
MOMENTS = {
    "a zone": pa.array(
        [datetime.datetime(2020, 1, 1, 4, tzinfo=EAST), datetime.datetime(2020, 1, 1, 6, tzinfo=EAST), None]
    ),
    "text": pa.array(["2019-12-31T23:00:00", "2020-01-01T01:00:00", None]),
    "text with a zone": pa.array(["2020-01-01T04:00:00+05:00", "2020-01-01T06:00:00+05:00", None]),
    "days": pa.array([datetime.date(2019, 12, 31), datetime.date(2020, 1, 2), None]),
}


@pytest.mark.parametrize("kind", MOMENTS)
def test_late_is_late_in_every_zone_and_what_has_no_time_is_not(kind):
    """Until midnight of UTC: the first is an hour before it or more, the second after it."""
    table = pa.table({"id": [1, 2, 3], "outcome": [1.0, 1.0, 1.0], "at": MOMENTS[kind]})
    learnt = learn(table, time="at", until="2020-01-01T00:00")[1]
    assert (learnt.n_learnt, learnt.n_late) == (2, 1)


def test_times_and_ends_that_are_none_are_refused():
    table = {"id": [1, 2], "outcome": [1.0, 1.0], "at": ["2020-01-01", "soon"]}
    with pytest.raises(OutcomeError, match="the column 'at' must hold the times of outcomes"):
        learn(table, time="at", until="2020-01-01")
    for until in ("nan", "inf", "tomorrow"):
        with pytest.raises(OutcomeError, match="until must be a number, a day or a moment"):
            learn(table, time="at", until=until)


def test_decisions_need_not_be_written_to_be_learnt_from():
    policy = hs.ABTest(3, rng=0)
    learnt = policy.learn({"id": [1], "outcome": [1.0]}, policy.decide({"id": [1, 2]}))
    assert (learnt.n_learnt, learnt.n_waiting) == (1, 1)
