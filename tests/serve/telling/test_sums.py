"""The sums that people look at: pages of arrays against one event at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.serve.engine.snapshot import read_snapshot, write_snapshot
from headstart.serve.telling.account import Account
from headstart.serve.telling.report import Report
from headstart.serve.telling.sums import Sums
from tests.serve.telling.plain_sums import PlainSums


def _draw(seed, n, k, seconds):
    rng = np.random.default_rng(seed)
    times = 1e9 + np.sort(rng.random(n)) * seconds
    chances = rng.dirichlet(np.ones(k), n)
    actions = np.array([rng.choice(k, p=row) for row in chances], dtype=np.int64)
    return times, actions, chances, rng.normal(size=n), rng.random(n) < 0.3, rng.integers(1, 5, n)


def _arrays(sums):
    line = sums.timeline
    return (sums.shown, sums.heard, sums.expected, sums.covariance, sums.fortune, sums.moments, sums.others,
            sums.values, line.shown, line.chances, line.outcomes, line.counts, line.heard, line.start,
            line.width)  # fmt: skip


def _assert_same(one, other):
    assert one.actions == other.actions
    for a, b in zip(_arrays(one), _arrays(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * (1.0 + np.max(np.abs(b), initial=0.0)))


def _fill(sums, drawn, size):
    times, actions, chances, outcomes, is_holdout, numbers = drawn
    propensities = chances[np.arange(len(times)), actions]
    for at in range(0, len(times), size):
        page = slice(at, at + size)
        sums.add_decisions(times[page], actions[page], chances[page])
        sums.add_outcomes(
            times[page], actions[page], propensities[page], outcomes[page], is_holdout[page], numbers[page]
        )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 120), st.integers(2, 5), st.floats(0.01, 1e7), st.integers(1, 60))
def test_pages_of_any_size_are_the_events_one_by_one(seed, n, k, seconds, size):
    drawn = _draw(seed, n, k, seconds)
    paged, plain = Sums([f"a{a}" for a in range(k)]), PlainSums([f"a{a}" for a in range(k)])
    _fill(paged, drawn, size)
    for time, action, chances, outcome, is_holdout, number in zip(*drawn, strict=True):
        plain.add_decision(time, action, chances)
        plain.add_outcome(time, action, chances[action], outcome, is_holdout=is_holdout, number=int(number))
    _assert_same(paged, plain.sums)


def test_other_actions_get_their_own_sums_in_their_order():
    drawn = _draw(1, 50, 3, 100.0)
    sums, other = Sums("abc"), Sums("ca")
    _fill(sums, drawn, 50)
    turned = sums.of("ca")
    np.testing.assert_array_equal(turned.shown, sums.shown[[2, 0]])
    np.testing.assert_array_equal(turned.covariance, sums.covariance[np.ix_([2, 0], [2, 0])])
    np.testing.assert_array_equal(turned.timeline.shown, sums.timeline.shown[:, [2, 0]])
    assert sums.of("xa").shown.tolist() == [0.0, sums.shown[0]]
    assert other.declare("ab").actions == ["c", "a", "b"]
    assert sums.declare("ca") is sums


def test_a_copy_does_not_change_with_the_sums():
    sums = Sums("ab")
    _fill(sums, _draw(1, 10, 2, 1.0), 10)
    before = sums.of("ab")
    told = Report(before).value(is_holdout=False)
    _fill(sums, _draw(2, 10, 2, 1.0), 10)
    assert Report(before).value(is_holdout=False) == told
    assert before.shown.sum() == 10


@pytest.mark.parametrize("n", [0, 40])
def test_a_snapshot_holds_them_bit_for_bit(n):
    sums = Sums("ab")
    _fill(sums, _draw(3, n, 2, 1e5), 7)
    again = Sums.from_dict(read_snapshot(write_snapshot(sums.as_dict())))
    assert again.actions == sums.actions
    for a, b in zip(_arrays(sums), _arrays(again), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_snapshot_of_an_earlier_version_is_folded_anew(caplog):
    """It had six weighted sums and no counts of outcomes that are neither 0 nor 1."""
    account = Account()
    saved = read_snapshot(account.save().decode())
    del saved["sums"]["moments"], saved["sums"]["others"]
    saved["sums"].update(weighted=np.zeros((6, 0)), values=np.zeros((2, 3)))
    assert Account.load("ads", write_snapshot(saved).decode()) is None
    assert "its events are folded" in caplog.text


def test_alike_outcomes_of_one_draw_are_one_outcome_of_as_many_times_the_weight():
    """Three outcomes of 2 at weight 4: of second order as one at weight 12, of third as well."""
    sums, one = Sums("ab"), Sums("ab")
    for number in (1.0, 2.0, 3.0):
        sums.add_outcomes(*_one(4.0, 2.0, number))
    one.add_outcomes(*_one(12.0, 2.0, 1.0))
    np.testing.assert_allclose(sums.moments, one.moments)


def _one(weight, outcome, number):
    arrays = (np.zeros(1), np.zeros(1, dtype=np.int64), np.array([1.0 / weight]), np.array([outcome]))
    return (*arrays, np.zeros(1, dtype=bool), np.array([number]))
